"""The journal of a load in progress, a SQLite file beside the indexes.

Chunks are committed to it before their functions go to the engine, so the journal never knows less than the engine. A
checkpoint of the engine records the journal's length, and a load that was killed continues from there.
"""

from __future__ import annotations

import errno
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from secrets import randbelow

import orjson

from treeline.corpus.errors import TreelineError
from treeline.corpus.frozen import frozen
from treeline.engine.durable import disk_errors
from treeline.graph.facts import PackedFacts
from treeline.ingest.source import Problem
from treeline.ingest.state import Manifest, dump_problems, load_problems, row_ids
from treeline.ingest.texts import PackedText

# Hexadecimal digits of a load's fingerprint, in the name of its journal; the first say from which generation it starts.
FINGERPRINT, BASE = 24, 8

JOURNAL = ".journal"  # at the end of its name
# Files of SQLite beside it; a process that is killed while it turns to write-ahead logs leaves the last one.
BESIDE = ("-wal", "-shm", "-journal")

LARGEST_ID = 2**31 - 1  # of an SQLite file

# SQLite's disk errors as error numbers of the operating system.
DISK_ERRORS = {"full": errno.ENOSPC, "readonly": errno.EROFS, "unable to open": errno.EACCES}


@frozen
class JournalEntry:
    """One chunk of a file (or its end, which is empty): function rows, facts, problems, counts."""

    unit: str
    digest: str
    chunk: int
    end: bool = False
    records: bytes = b""
    facts: PackedFacts = ()
    problems: tuple[Problem, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    texts: tuple[PackedText, ...] = ()


class Journal:
    """The chunks sent to the engine, numbered from 1. `length` is the number of the last.

    By its `id` a checkpoint knows the journal that it was made with, also in a copy of the file.
    """

    def __init__(self, path: Path | None, *, new: bool = False) -> None:
        """Without a path it is in memory only."""
        self.path = path
        with self._errors():
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
            if new:
                self._unlink()
            self._database = sqlite3.connect(path or ":memory:", isolation_level=None)
            # A commit survives a crash of the process at once, and of the machine after `sync`.
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = NORMAL")
            self._database.execute("PRAGMA wal_autocheckpoint = 0")
            self._database.executescript(
                """CREATE TABLE IF NOT EXISTS chunk (number INTEGER PRIMARY KEY, unit TEXT, digest TEXT, chunk INTEGER,
                    is_end INTEGER, records BLOB, problems TEXT, counts TEXT);
                CREATE TABLE IF NOT EXISTS facts (number INTEGER, repo TEXT, packed BLOB);
                CREATE TABLE IF NOT EXISTS text (number INTEGER, repo TEXT, path TEXT, language TEXT, size INTEGER,
                    lines INTEGER, frame BLOB);
                CREATE INDEX IF NOT EXISTS text_number ON text (number);
                CREATE INDEX IF NOT EXISTS facts_number ON facts (number);"""
            )
            self.length: int = self._database.execute("SELECT coalesce(max(number), 0) FROM chunk").fetchone()[0]
            self.id: int = self._database.execute("PRAGMA application_id").fetchone()[0]
            if not self.id:
                self.id = 1 + randbelow(LARGEST_ID)
                self._database.execute(f"PRAGMA application_id = {self.id}")

    def append(self, entries: Sequence[JournalEntry]) -> None:
        rows = list(enumerate(entries, self.length + 1))
        chunks = [
            (number, one.unit, one.digest, one.chunk, one.end, one.records, dump_problems(one.problems), counts)
            for number, one in rows
            for counts in (orjson.dumps(one.counts).decode(),)
        ]
        facts = [(number, *one) for number, entry in rows for one in entry.facts]
        texts = [(number, *one) for number, entry in rows for one in entry.texts]
        with self._errors(), self._transaction() as cursor:
            cursor.executemany("INSERT INTO chunk VALUES (?, ?, ?, ?, ?, ?, ?, ?)", chunks)
            cursor.executemany("INSERT INTO facts VALUES (?, ?, ?)", facts)
            cursor.executemany("INSERT INTO text VALUES (?, ?, ?, ?, ?, ?, ?)", texts)
        self.length += len(rows)

    def sync(self) -> int:
        """Make all entries durable; returns their number."""
        with self._errors():
            self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return self.length

    def truncate(self, length: int) -> None:
        with self._errors(), self._transaction() as cursor:
            for table in ("chunk", "facts", "text"):
                cursor.execute(f"DELETE FROM {table} WHERE number > ?", (length,))  # noqa: S608
        self.length = min(length, self.length)

    def read(self) -> Iterator[tuple[int, JournalEntry]]:
        """Every entry with its number, without its facts."""
        for number, unit, digest, chunk, end, records, problems, counts in self._database.execute(
            "SELECT * FROM chunk ORDER BY number"
        ):
            entry = JournalEntry(unit, digest, chunk, bool(end), records, problems=load_problems(problems))
            yield number, replace(entry, counts=orjson.loads(counts)) if counts else entry

    def facts(self, manifest: Manifest) -> Iterator[tuple[str, PackedFacts]]:
        """The files read now, as in the manifest, with their facts."""
        for unit, rows in self._rows(manifest, "facts", "repo, packed"):
            yield unit, tuple(rows)

    def texts(self, manifest: Manifest) -> Iterator[tuple[str, tuple[PackedText, ...]]]:
        """The files read now, as in the manifest, with their texts."""
        for unit, rows in self._rows(manifest, "text", "repo, path, language, size, lines, frame"):
            yield unit, tuple(PackedText(*row) for row in rows)

    def _rows(self, manifest: Manifest, table: str, columns: str) -> Iterator[tuple[str, sqlite3.Cursor]]:
        """The files read now, as in the manifest, with their rows of a table, which need not all be in memory."""
        query = f"SELECT {columns} FROM {table} WHERE number = ? ORDER BY rowid"  # noqa: S608
        for number, unit, digest in self._database.execute("SELECT number, unit, digest FROM chunk ORDER BY number"):
            entry = manifest.entries.get(unit)
            if entry is not None and entry.digest == digest:
                yield unit, self._database.execute(query, (number,))

    def close(self) -> None:
        self._database.close()

    def remove(self) -> None:
        self.close()
        self._unlink()

    def _unlink(self) -> None:
        if self.path is not None:
            for end in (*BESIDE, ""):
                self.path.with_name(self.path.name + end).unlink(missing_ok=True)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Cursor]:
        with closing(self._database.cursor()) as cursor:
            cursor.execute("BEGIN IMMEDIATE")
            try:
                yield cursor
                cursor.execute("COMMIT")
            except BaseException:
                if self._database.in_transaction:
                    cursor.execute("ROLLBACK")
                raise

    @contextmanager
    def _errors(self) -> Iterator[None]:
        with disk_errors(self.path.parent if self.path else Path()):
            try:
                yield
            except sqlite3.DatabaseError as error:
                number = next((number for words, number in DISK_ERRORS.items() if words in str(error)), 0)
                if number or "disk I/O" in str(error):  # the second leaves the cause to `disk_errors`
                    raise (OSError(number, str(error)) if number else OSError(str(error))) from error
                raise JournalDamaged(self.path, str(error)) from error


class JournalDamaged(TreelineError):
    """The journal cannot be read, or is not the one that the engine's checkpoint was made with."""

    def __init__(self, path: Path | None, why: str) -> None:
        super().__init__(f"the journal {path} is damaged: {why}", "make the index again with --fresh")


@dataclass(slots=True)
class UnitProgress:
    """One unit as the journal has it; chunks are counted up to the first that is still to be done."""

    digest: str
    records: bytes = b""
    problems: list[Problem] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    chunks: int = 0
    complete: bool = False

    def add(self, entry: JournalEntry) -> None:
        self.records += entry.records
        self.problems += entry.problems
        self.counts.update(entry.counts)
        self.chunks = entry.chunk if entry.end else entry.chunk + 1
        self.complete = entry.end


@dataclass(slots=True)
class Recovery:
    """The work of an interrupted load: the journal up to the engine's last checkpoint."""

    units: dict[str, UnitProgress] = field(default_factory=dict)
    refusals: list[tuple[str, str]] = field(default_factory=list)
    # Functions that may be in the engine by mistake: written after the checkpoint, or of a unit changed since.
    doubtful: set[bytes] = field(default_factory=set)
    # Units changed since: the engine may hold a version that is neither in the index before nor in the unit now.
    stale: set[str] = field(default_factory=set)

    def progress(self, unit: str, digest: str) -> UnitProgress | None:
        """The progress of a unit that has not changed since; one that has becomes stale."""
        progress = self.units.get(unit)
        if progress is not None and progress.digest != digest:
            self._doubt(unit)
            return None
        return progress

    def written_ids(self) -> set[bytes]:
        """Every function the load may have given to the engine; its unit may have vanished since."""
        return self.doubtful.union(*(row_ids(one.records) for one in self.units.values()))

    def note(self, entry: JournalEntry) -> None:
        progress = self.units.get(entry.unit)
        if progress is None or progress.digest != entry.digest:  # changed between two interrupted loads
            self._doubt(entry.unit)
            progress = self.units[entry.unit] = UnitProgress(entry.digest)
        progress.add(entry)

    def _doubt(self, unit: str) -> None:
        progress = self.units.pop(unit, None)
        if progress is not None:
            self.doubtful.update(row_ids(progress.records))
            self.stale.add(unit)


def checkpoint_state(journal: Journal, refusals: list[tuple[str, str]]) -> bytes:
    """The record that a checkpoint of the engine keeps for `open_journal`; the journal is made durable."""
    return orjson.dumps({"journal": journal.sync(), "id": journal.id, "refused": refusals})


def open_journal(path: Path | None, checkpoint: bytes | None) -> tuple[Journal, Recovery]:
    """Open the journal and cut off what came after the checkpoint: that is done again."""
    if checkpoint is None:  # the engine starts from nothing, so what an old journal says is void
        return Journal(path, new=True), Recovery()
    record = orjson.loads(checkpoint)
    journal, recovery = Journal(path), Recovery(refusals=[(id_, reason) for id_, reason in record["refused"]])
    try:
        if record.get("id", journal.id) != journal.id:
            raise JournalDamaged(path, "it is not the one that the load went on with")
        if record["journal"] > journal.length:
            raise JournalDamaged(path, f"{journal.length} of {record['journal']} entries are there")
        for number, entry in journal.read():
            if number > record["journal"]:
                recovery.doubtful.update(row_ids(entry.records))
            else:
                recovery.note(entry)
        journal.truncate(record["journal"])
    except sqlite3.DatabaseError as error:
        journal.close()
        raise JournalDamaged(path, str(error)) from error
    except BaseException:
        journal.close()
        raise
    return journal, recovery


def fingerprint(base: str, plan: Iterable[str]) -> str:
    """Identifies a load, to resume it: the generation that it starts from, and whatever else decides what it writes."""
    digest = blake2b(digest_size=(FINGERPRINT - BASE) // 2)
    for part in plan:
        digest.update(part.encode("utf-8", "surrogatepass") + b"\0")
    return _base_digits(base) + digest.hexdigest()


def _base_digits(generation: str) -> str:
    return blake2b(generation.encode(), digest_size=BASE // 2).hexdigest()


def journals(folder: Path, name: str, suffix: str = "") -> Iterator[Path]:
    """The journals of loads of this index, not those of an index whose name only begins like it."""
    return folder.glob(f"{name}-{'[0-9a-f]' * FINGERPRINT}{JOURNAL}{suffix}")


def remove_journals(folder: Path, name: str, *, except_base: str | None = None) -> None:
    """Those of loads of this index, with whatever sources, except loads that start from a generation."""
    for suffix in ("", *BESIDE):
        for path in journals(folder, name, suffix):
            if except_base is None or not _starts_from(path, name, except_base):
                path.unlink(missing_ok=True)


def _starts_from(journal: Path, name: str, generation: str) -> bool:
    return journal.name.startswith(f"{name}-{_base_digits(generation)}")
