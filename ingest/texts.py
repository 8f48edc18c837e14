"""Writes the text of indexed files into an index; `engine/texts.py` reads it and says how it is stored."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing
from hashlib import blake2b
from typing import NamedTuple

from treeline.engine.protocol import Engine
from treeline.engine.texts import ARTIFACT, open_database, segment_name
from treeline.ingest.source import SourceText
from treeline.ingest.state import dump_database, entry_key

# Level 1 packs code to a third, in a fortieth of the time that parsing it takes.
LEVEL = 1
SEGMENT_BYTES = 8_000_000
SMALL_BYTES = 1_000_000
MOST_SMALL = 8  # segments; each change of a few files adds one
MOST_BYTES = 2_000_000_000  # of all frames; the text of files beyond it is not kept


class PackedText(NamedTuple):
    """A file's text as it is kept."""

    repo: str
    path: str
    language: str
    size: int
    lines: int
    frame: bytes


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
    previous: Engine | None,
    read: Iterable[tuple[str, tuple[PackedText, ...]]],
    old_units: Iterable[str],
    new_source: str = "",
) -> Iterator[tuple[str, bytes]]:
    """The artifacts that the next generation needs and the one before does not have.

    `read` are the units that were read now, with their texts; `old_units` are those that the next generation does not
    have. An index that keeps no texts gets no artifact. `new_source` is the new name of the one source, if it is moved.
    """
    data = previous.artifact(ARTIFACT) if previous is not None else None
    with closing(open_database(data or b"")) as database:
        if new_source:
            database.create_function("number", 1, lambda path: _number(entry_key(new_source, path)), deterministic=True)
            database.execute("UPDATE file SET unit = number(path)")
        database.executemany("DELETE FROM file WHERE unit = ?", [(_number(unit),) for unit in old_units])
        writer = _SegmentWriter(database)
        for unit, texts in read:
            number = _number(unit)
            database.execute("DELETE FROM file WHERE unit = ? AND segment NOT IN (SELECT value FROM fresh)", (number,))
            for text in texts:
                yield from writer.add(number, text[:5], text.frame)
        if previous is not None:
            for segment in _wasteful(database, writer.fresh):
                for row in database.execute("SELECT * FROM file WHERE segment = ?", (segment,)).fetchall():
                    frame = previous.artifact_part(segment_name(segment), row[7], row[8])
                    if frame is not None:
                        yield from writer.add(row[2], (row[0], row[1], *row[3:6]), frame)
                database.execute("DELETE FROM segment WHERE number = ?", (segment,))
                yield segment_name(segment), b""
        yield from writer.flush()
        if data or writer.fresh:
            yield ARTIFACT, dump_database(database)


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
            yield segment_name(self._number), b"".join(self._frames)
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


def _number(unit: str) -> int:
    """A unit's key as a number that SQLite takes."""
    digest = blake2b(unit.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)
