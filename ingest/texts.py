"""The text of indexed files, kept compressed with a generation, so that pages can show files whose folder is gone.

Each text is one zlib frame. Frames lie in segments, artifacts that are never changed, so the next generation shares
them with the one before. The artifact `files` is a small SQLite database that says where the frame of each file is.
"""

from __future__ import annotations

import sqlite3
import threading
import zlib
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing
from hashlib import blake2b
from typing import Any, NamedTuple

from treeline.corpus.errors import TreelineError
from treeline.engine.protocol import Engine
from treeline.ingest.source import SourceText

ARTIFACT = "files"
VERSION = 1
# Level 1 packs code to a third, in a fortieth of the time that parsing it takes.
LEVEL = 1
SEGMENT_BYTES = 8_000_000
SMALL_BYTES = 1_000_000
MOST_SMALL = 8  # segments; each change of a few files adds one
MOST_BYTES = 2_000_000_000  # of all frames; the text of files beyond it is not kept
SCHEMA = f"""PRAGMA user_version = {VERSION};
CREATE TABLE file (repo TEXT, path TEXT, unit INTEGER, language TEXT, size INTEGER, lines INTEGER,
                   segment INTEGER, start INTEGER, length INTEGER, PRIMARY KEY (repo, path, unit)) WITHOUT ROWID;
CREATE INDEX file_unit ON file (unit);
CREATE TABLE segment (number INTEGER PRIMARY KEY, size INTEGER);"""


class PackedText(NamedTuple):
    """A file's text as it is kept."""

    repo: str
    path: str
    language: str
    size: int
    lines: int
    frame: bytes


class FileEntry(NamedTuple):
    """A file whose text is kept; `size` is in bytes."""

    path: str
    language: str
    size: int
    lines: int


def pack(texts: Iterable[SourceText]) -> tuple[PackedText, ...]:
    return tuple(
        PackedText(
            text.repo,
            text.path,
            text.language,
            len(text.content),
            text.content.count(b"\n") + (not text.content.endswith(b"\n") and bool(text.content)),
            zlib.compress(text.content, LEVEL),
        )
        for text in texts
    )


def update(
    previous: Engine | None, read: Iterable[tuple[str, tuple[PackedText, ...]]], units: Collection[str]
) -> Iterator[tuple[str, bytes]]:
    """The artifacts that the next generation needs and the one before does not have.

    `read` are the units that were read now, with their texts; `units` are all of the next generation. An index that
    keeps no texts gets no artifact.
    """
    stored = previous.artifact(ARTIFACT) if previous is not None else None
    with closing(_database(stored or b"")) as database:
        kept = {_number(unit) for unit in units}
        gone = [(number,) for (number,) in database.execute("SELECT DISTINCT unit FROM file") if number not in kept]
        database.executemany("DELETE FROM file WHERE unit = ?", gone)
        writer = _SegmentWriter(database)
        for unit, texts in read:
            number = _number(unit)
            database.execute("DELETE FROM file WHERE unit = ? AND segment NOT IN (SELECT value FROM fresh)", (number,))
            for text in texts:
                yield from writer.add(number, text[:5], text.frame)
        if previous is not None:
            for segment in _wasteful(database, writer.fresh):
                for row in database.execute("SELECT * FROM file WHERE segment = ?", (segment,)).fetchall():
                    frame = previous.artifact_part(_name(segment), row[7], row[8])
                    if frame is not None:
                        yield from writer.add(row[2], (row[0], row[1], *row[3:6]), frame)
                database.execute("DELETE FROM segment WHERE number = ?", (segment,))
                yield _name(segment), b""
        yield from writer.flush()
        if stored or writer.fresh:
            database.execute("VACUUM")
            yield ARTIFACT, database.serialize()


class FileTexts:
    """The texts of one open generation; safe to use from several threads."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self._files = _database(engine.artifact(ARTIFACT) or b"")

    def repositories(self) -> list[tuple[str, int, int]]:
        """Each repository with how many files of it are kept, and their bytes."""
        rows = self._rows("SELECT repo, count(*), sum(size) FROM file GROUP BY repo ORDER BY repo")
        return [(repo, files, size) for repo, files, size in rows]

    def files(self, repo: str, folder: str = "") -> list[FileEntry]:
        """Every file of a repository below a folder (`src/`), by path."""
        query = "SELECT path, language, size, lines FROM file WHERE repo = ? AND path >= ? AND path < ? GROUP BY path"
        return [FileEntry(*row) for row in self._rows(query, repo, folder, f"{folder}\U0010ffff")]

    def entry(self, repo: str, path: str) -> FileEntry | None:
        found = self._rows("SELECT path, language, size, lines FROM file WHERE repo = ? AND path = ?", repo, path)
        return FileEntry(*found[0]) if found else None

    def read(self, repo: str, path: str) -> bytes | None:
        """A file as it was when it was indexed; None where its text is not kept. Raises where it is damaged."""
        found = self._rows("SELECT segment, start, length, size FROM file WHERE repo = ? AND path = ?", repo, path)
        if not found:
            return None
        segment, start, length, size = found[0]
        frame = self._engine.artifact_part(_name(segment), start, length)
        if frame is None:
            return None
        unpacker = zlib.decompressobj()
        try:
            content = unpacker.decompress(frame, size + 1)
        except zlib.error as error:
            raise _damaged(path, str(error)) from error
        if len(content) != size or not unpacker.eof:
            raise _damaged(path, f"{len(content)} of {size} bytes are there")
        return content

    def close(self) -> None:
        self._files.close()

    def _rows(self, query: str, *given: object) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._files.execute(query, given).fetchall()


class _SegmentWriter:
    """Fills new segments; each is given out when it is full."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._database.execute("CREATE TEMP TABLE fresh (value INTEGER)")
        self._frames: list[bytes] = []
        self._size = 0
        self._number = -1
        self._total = database.execute("SELECT coalesce(sum(size), 0) FROM segment").fetchone()[0]
        self.fresh: set[int] = set()

    def add(self, unit: int, about: tuple[object, ...], frame: bytes) -> Iterator[tuple[str, bytes]]:
        if self._total + len(frame) > MOST_BYTES:
            return
        if self._number < 0:
            self._number = self._free_number()
            self.fresh.add(self._number)
            self._database.execute("INSERT INTO fresh VALUES (?)", (self._number,))
        repo, path, *rest = about
        row = (repo, path, unit, *rest, self._number, self._size, len(frame))
        self._database.execute("INSERT OR REPLACE INTO file VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        self._frames.append(frame)
        self._size += len(frame)
        self._total += len(frame)
        if self._size >= SEGMENT_BYTES:
            yield from self.flush()

    def flush(self) -> Iterator[tuple[str, bytes]]:
        if self._number >= 0:
            self._database.execute("INSERT OR REPLACE INTO segment VALUES (?, ?)", (self._number, self._size))
            yield _name(self._number), b"".join(self._frames)
        self._frames, self._size, self._number = [], 0, -1

    def _free_number(self) -> int:
        """The first that no segment has had since the generation before: readers of that have its file open."""
        return int(self._database.execute("SELECT coalesce(max(number), 0) + 1 FROM segment").fetchone()[0])


def _wasteful(database: sqlite3.Connection, fresh: Collection[int]) -> list[int]:
    """Old segments to rewrite: those that are half empty, and the small ones when there are too many."""
    rows = database.execute(
        "SELECT number, segment.size, coalesce(sum(length), 0) FROM segment LEFT JOIN file ON segment = number"
        " GROUP BY number"
    )
    old = [(number, size, used) for number, size, used in rows if number not in fresh]
    small = [number for number, size, _ in old if size < SMALL_BYTES]
    half_empty = [number for number, size, used in old if 2 * used < size]
    return sorted({*half_empty, *(small if len(small) > MOST_SMALL else ())})


def _database(data: bytes) -> sqlite3.Connection:
    database = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    if data:
        database.deserialize(data)
        if database.execute("PRAGMA user_version").fetchone()[0] == VERSION:
            return database
        database.close()  # of another version: texts are stored again as files change
        database = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    database.executescript(SCHEMA)
    return database


def _name(segment: int) -> str:
    return f"{ARTIFACT}-{segment:06d}"


def _number(unit: str) -> int:
    """A unit's key as a number that SQLite takes."""
    digest = blake2b(unit.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def _damaged(path: str, why: str) -> TreelineError:
    return TreelineError(f"the kept text of {path} is damaged: {why}", "rebuild the index with --fresh")
