"""CodeSearchNet's evaluation pool, `LANGUAGE_dedupe_definitions_v2.pkl`: every function, with or without docstring."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import IO, Any, Protocol

from ingest.lines import DAMAGE, position_of
from ingest.pickled import records, remembered
from ingest.record import parse_records
from ingest.source import Chunk, Parsed, Problem, ReadOptions, Rejected

SUFFIX = "_dedupe_definitions_v2.pkl"
RECORDS_A_CHUNK = 512


class Stored(Protocol):
    """A file on disk or in a zip that can be opened more than once."""

    @property
    def key(self) -> str: ...

    @property
    def digest(self) -> str: ...

    @property
    def size(self) -> int: ...

    def open(self) -> AbstractContextManager[IO[bytes]]: ...


@dataclass(frozen=True, slots=True)
class Records:
    """Numbered records that a worker turns into functions."""

    file: str
    records: tuple[tuple[int, Any], ...]
    size: int
    options: ReadOptions

    def parse(self) -> Parsed:
        numbered = ((number, one if isinstance(one, dict) else "not a record") for number, one in self.records)
        return parse_records(numbered, self.file, {"partition": "pool"}, self.options)


@dataclass(frozen=True, slots=True)
class Pool:
    """The pool as a unit; the place of a problem is the number of its record."""

    stored: Stored
    file: str
    options: ReadOptions

    @property
    def key(self) -> str:
        return self.stored.key

    @property
    def digest(self) -> str:
        return self.stored.digest

    @property
    def size(self) -> int:
        return self.stored.size

    def chunks(self) -> Iterator[Chunk]:
        options = self.options.for_workers()
        waiting: list[tuple[int, Any]] = []
        number = told = 0
        try:
            with self.stored.open() as stream:
                keep = remembered(stream)
            with self.stored.open() as stream:
                for number, record in enumerate(records(stream, keep), 1):
                    waiting.append((number, record))
                    if len(waiting) == RECORDS_A_CHUNK:
                        position = max(told, position_of(stream))
                        yield Records(self.file, tuple(waiting), position - told, options)
                        waiting, told = [], position
        except DAMAGE as error:
            if waiting:
                yield Records(self.file, tuple(waiting), 0, options)
            yield Rejected((Problem(self.file, number + 1, f"cannot be read further: {error}"),), self.size - told)
            return
        yield Records(self.file, tuple(waiting), max(0, self.size - told), options)
