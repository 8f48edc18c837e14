"""The sources of an index, in SQLite: its files, the rows of their functions, and their facts.

It is stored with each generation. From it the next load tells which units have not changed, and the call graph of
unchanged files needs no parsing.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from struct import Struct

import orjson

from treeline.corpus.errors import DiskFull, TreelineError
from treeline.corpus.function import Function
from treeline.engine.durable import disk_errors
from treeline.graph.facts import ARTIFACT as ARTIFACT
from treeline.graph.facts import VERSION, PackedFacts, open_state, packed_facts
from treeline.ingest.source import Problem, without_user

# A function's row: its id, a hash of its text, a hash of the rest (position, commit, partition, shape).
ID, TEXT, REST = 16, 8, 8
SKIPS_FILE = ".skipped.json"
ROW = ID + TEXT + REST
ID_AND_REST = Struct(f"{ID}s{ROW - ID}s")
ID_OF_ROW = Struct(f"{ID}s{ROW - ID}x")


def function_row(function: Function, shape: str = "", whole: str = "", context: str = "") -> bytes:
    """The row of a function with these shape terms, words and description of its file: an equal text hash keeps the
    vector, equal hashes need no write."""
    # Where a local file lies says nothing of it: a copy elsewhere has the same rows.
    url = function.address.fragment if function.url.startswith("file:") else function.url
    words = "\0".join(filter(None, (f"{function.code}\0{function.docstring}", context)))
    text = blake2b(words.encode("utf-8", "surrogatepass"), digest_size=TEXT)
    parts = [function.language, function.sha, function.partition, url, *filter(None, (shape, whole))]
    rest = blake2b("\0".join(parts).encode(), digest_size=REST)
    return bytes.fromhex(function.id) + text.digest() + rest.digest()


def row_ids(records: bytes) -> list[bytes]:
    return [id_ for (id_,) in ID_OF_ROW.iter_unpack(records)]


def rows_by_id(records: bytes) -> dict[bytes, bytes]:
    return dict(ID_AND_REST.iter_unpack(records))


def exclude_ids(records: bytes, ids: Collection[bytes]) -> bytes:
    return b"".join(id_ + rest for id_, rest in ID_AND_REST.iter_unpack(records) if id_ not in ids)


def entry_key(source: str, unit: str) -> str:
    """The key of a manifest entry, with the source: two folders may have the same path."""
    return f"{source}\0{unit}"


@dataclass(slots=True)
class Entry:
    """One file: its source, digest, function rows and problems."""

    source: str
    digest: str
    records: bytes = b""
    problems: tuple[Problem, ...] = ()


@dataclass(slots=True)
class Manifest:
    """All files of an index by key, in reading order."""

    entries: dict[str, Entry] = field(default_factory=dict)

    @property
    def sources(self) -> list[str]:
        return list(dict.fromkeys(entry.source for entry in self.entries.values()))

    def difference(self, before: Manifest) -> tuple[set[bytes], set[bytes], set[bytes]]:
        """The ids of this manifest that another one lacks, those of that one that this lacks, and all of this.

        An entry that both have is the same object.
        """
        has = ids_of(entry for key, entry in self.entries.items() if before.entries.get(key) is not entry)
        if not before.entries:
            return has, set(), has
        had = ids_of(entry for key, entry in before.entries.items() if self.entries.get(key) is not entry)
        both = ids_of(entry for key, entry in self.entries.items() if before.entries.get(key) is entry)
        return has - had - both, had - has - both, both | has


def ids_of(entries: Iterable[Entry]) -> set[bytes]:
    return set(row_ids(b"".join(entry.records for entry in entries)))


class State:
    """The database stored with a generation; empty for a new index."""

    def __init__(self, data: bytes = b"") -> None:
        self._database = open_state(data)
        self._manifest = Manifest()  # as the database has it
        if data:
            # An older version kept the user of a URL, which may be a token.
            for (source,) in self._database.execute("SELECT DISTINCT source FROM unit WHERE source LIKE '%://%@%'"):
                row = (without_user(source), source)
                self._database.execute("UPDATE unit SET source = ? WHERE source = ?", row)
            return
        self._database.executescript(
            f"""PRAGMA user_version = {VERSION};
            CREATE TABLE unit (id INTEGER PRIMARY KEY, position INTEGER, source TEXT, name TEXT, digest TEXT,
                               records BLOB, problems TEXT);
            CREATE TABLE facts (unit INTEGER, repo TEXT, packed BLOB);"""
        )

    def manifest(self) -> Manifest:
        rows = self._database.execute("SELECT source, name, digest, records, problems FROM unit ORDER BY position")
        entries = {
            entry_key(source, name): Entry(source, digest, records, load_problems(problems))
            for source, name, digest, records, problems in rows
        }
        self._manifest = Manifest(entries)
        return self._manifest

    def rename(self, source: str) -> bool:
        """Give the only source another name; whether it had another."""
        return self._database.execute("UPDATE unit SET source = ?1 WHERE source <> ?1", (source,)).rowcount > 0

    def digests(self) -> dict[str, str]:
        """The digest of every file by its name; of an index with one source."""
        return dict(self._database.execute("SELECT name, digest FROM unit"))

    def sources(self) -> list[str]:
        rows = self._database.execute("SELECT source FROM unit GROUP BY source ORDER BY min(position)")
        return [source for (source,) in rows]

    def replace(self, manifest: Manifest, read: Iterable[tuple[str, PackedFacts]]) -> frozenset[str]:
        """Replace the state by `manifest`. `read` has the facts of files read now; those of other files stay.

        Returns the repositories whose facts may have changed.
        """
        units = self._database.execute("SELECT id, position, source, name FROM unit").fetchall()
        old = {entry_key(source, name): (number, position) for number, position, source, name in units}
        following = max((number for number, _ in old.values()), default=0)
        numbers: dict[str, int] = {}
        rows = []
        for position, (key, entry) in enumerate(manifest.entries.items()):
            number, old_position = old.get(key, (0, -1))
            if not number:
                number = following = following + 1
            numbers[key] = number
            if position != old_position or self._manifest.entries.get(key) is not entry:
                name, problems = key.partition("\0")[2], dump_problems(entry.problems)
                rows.append((number, position, entry.source, name, entry.digest, entry.records, problems))
        last = self._database.execute("SELECT coalesce(max(rowid), 0) FROM facts").fetchone()
        gone = [(number,) for key, (number, _) in old.items() if key not in manifest.entries]
        stale = "rowid <= ? AND unit IN (SELECT unit FROM stale)"
        with closing(self._database.cursor()) as cursor, _temporary_file_errors():
            cursor.execute("BEGIN")
            cursor.execute("CREATE TEMP TABLE stale (unit INTEGER PRIMARY KEY)")
            cursor.executemany("INSERT INTO stale VALUES (?)", gone)
            for key, data in read:  # one after the other: those of a large repository are gigabytes
                cursor.execute("INSERT OR IGNORE INTO stale VALUES (?)", (numbers[key],))
                cursor.executemany("INSERT INTO facts VALUES (?, ?, ?)", ((numbers[key], *one) for one in data))
            changes = f"SELECT DISTINCT repo FROM facts WHERE rowid > ? OR {stale}"  # noqa: S608
            repos = frozenset(repo for (repo,) in cursor.execute(changes, last * 2))
            cursor.execute(f"DELETE FROM facts WHERE {stale}", last)  # noqa: S608
            cursor.execute("DROP TABLE stale")
            cursor.executemany("DELETE FROM unit WHERE id = ?", gone)
            cursor.executemany("INSERT OR REPLACE INTO unit VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
            cursor.execute("COMMIT")
        return repos

    def facts(self, repos: Collection[str] | None = None) -> dict[str, list[bytes]]:
        """The packed facts of these (or all) repositories, by file key."""
        return packed_facts(self._database, repos)

    def dump(self) -> bytes:
        return dump_database(self._database)

    def close(self) -> None:
        self._database.close()


@contextmanager
def _temporary_file_errors() -> Iterator[None]:
    """Turn SQLite's error about its temporary file into a message that names the fix."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise DiskFull(f"no temporary file can be written: {error}", "make room, or set SQLITE_TMPDIR") from error


def dump_database(database: sqlite3.Connection) -> bytes:
    """Its bytes, packed when a quarter of its pages is empty."""
    pages, unused = (database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count"))
    if 4 * unused > pages:
        database.execute("VACUUM")
    return database.serialize()


def sources_in(data: bytes | None) -> list[str]:
    """The sources of an index; empty if its state is missing or of another version."""
    try:
        with closing(State(data or b"")) as state:
            return state.sources()
    except TreelineError:
        return []


def totals(reasons: Mapping[str, int]) -> dict[str, int]:
    """The counts by reason, without the details after the colon, the most frequent first."""
    counts = Counter[str]()
    for reason, count in reasons.items():
        counts[reason.partition(":")[0]] += count
    return dict(counts.most_common())


def save_skipped(work: Path, index: str, sources: Collection[str], skips: Mapping[str, Mapping[str, int]]) -> None:
    """Keep why files of the sources of an index are skipped; what is known of other sources of the index stays."""
    every = {source: rows for source, rows in {**load_skipped(work, index), **skips}.items() if source in sources}
    with disk_errors(work):
        work.mkdir(parents=True, exist_ok=True)
        (work / f"{index}{SKIPS_FILE}").write_bytes(orjson.dumps(every))


def load_skipped(work: Path, index: str) -> dict[str, dict[str, int]]:
    """The files and folders of each source that are skipped, counted by reason; a secret's reason names its file."""
    try:
        return dict(orjson.loads((work / f"{index}{SKIPS_FILE}").read_bytes()))
    except (OSError, ValueError):
        return {}


def dump_problems(problems: Iterable[Problem]) -> str:
    return orjson.dumps([(problem.file, problem.line, problem.reason) for problem in problems]).decode()


def load_problems(data: str) -> tuple[Problem, ...]:
    return () if data == "[]" else tuple(Problem(*problem) for problem in orjson.loads(data))
