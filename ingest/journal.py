"""The journal of a load under way: an append-only file that says, chunk by chunk, what has been given to the engine.

An entry is written before its functions are, so the journal never knows less than the engine. A checkpoint of the
engine records the journal's length; a load that was killed goes on from there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from treeline.engine.durable import disk_errors
from treeline.ingest.source import Problem


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One chunk of a unit (or its end, which carries nothing): rows for the manifest, facts, problems, counts."""

    unit: str
    digest: str
    chunk: int
    end: bool = False
    records: bytes = b""
    facts: bytes = b""
    problems: tuple[Problem, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)

    def dump(self) -> bytes:
        head = orjson.dumps(
            [
                self.unit,
                self.digest,
                self.chunk,
                self.end,
                [(problem.file, problem.line, problem.reason) for problem in self.problems],
                self.counts,
            ]
        )
        sizes = b"".join(len(part).to_bytes(4, "little") for part in (head, self.records, self.facts))
        return sizes + head + self.records + self.facts


class Journal:
    """Opened for appending; `length` bytes of it are valid."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with disk_errors(path.parent):
            path.parent.mkdir(parents=True, exist_ok=True)
            # Unbuffered: what is written survives the death of the process.
            self._file = path.open("ab", buffering=0)
        self.length = self._file.tell()

    def append(self, entries: Sequence[JournalEntry]) -> None:
        data = memoryview(b"".join(entry.dump() for entry in entries))
        with disk_errors(self.path.parent):
            while data:  # a disk that is nearly full takes a part of it before it says so
                written = self._file.write(data)
                self.length += written
                data = data[written:]

    def sync(self) -> int:
        with disk_errors(self.path.parent):
            os.fsync(self._file.fileno())
        return self.length

    def truncate(self, length: int) -> None:
        with disk_errors(self.path.parent):
            self._file.truncate(length)
        self.length = length

    def read(self) -> Iterator[JournalEntry]:
        return (entry for _, entry in read(self.path))

    def close(self) -> None:
        self._file.close()

    def remove(self) -> None:
        self.close()
        self.path.unlink(missing_ok=True)


def read(path: Path) -> Iterator[tuple[int, JournalEntry]]:
    """Every whole entry with the offset at which it ends; a last one that was cut off is left out."""
    with path.open("rb") as file:
        size = path.stat().st_size
        while len(sizes := file.read(12)) == 12:
            head_size, records_size, facts_size = (int.from_bytes(sizes[at : at + 4], "little") for at in (0, 4, 8))
            if file.tell() + head_size + records_size + facts_size > size:
                return
            unit, digest, chunk, end, problems, counts = orjson.loads(file.read(head_size))
            left_out = tuple(Problem(*problem) for problem in problems)
            records, facts = file.read(records_size), file.read(facts_size)
            entry = JournalEntry(unit, digest, chunk, end, records, facts, left_out, counts)
            yield file.tell(), entry
