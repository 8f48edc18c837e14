"""CodeSearchNet's evaluation pool, `LANGUAGE_dedupe_definitions_v2.pkl`: every function, with or without docstring."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import IO, Any, Protocol

from treeline.ingest.lines import DAMAGE, position_of
from treeline.ingest.pickled import records, remembered
from treeline.ingest.record import KNOWN, parse_records
from treeline.ingest.source import Chunk, Parsed, Problem, ReadOptions, Rejected

SUFFIX = "_dedupe_definitions_v2.pkl"
RECORDS_A_CHUNK = 512


class Stored(Protocol):
    """A file on disk or in a zip that can be opened more than once."""

    @property
    def key(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def digest(self) -> str: ...

    @property
    def size(self) -> int: ...

    def open(self) -> AbstractContextManager[IO[bytes]]: ...


@dataclass(frozen=True, slots=True)
class Records:
    """Numbered records that a worker turns into functions."""

    file: str
    records: tuple[tuple[int, dict[str, object] | str], ...]
    size: int
    options: ReadOptions

    def parse(self) -> Parsed:
        return parse_records(self.records, self.file, {"partition": "pool"}, self.options)


def flat(record: Any) -> dict[str, object] | str:
    """The fields that are wanted, without what a hostile pickle may have nested in them; or why there are none."""
    if not isinstance(record, dict):
        return f"a {type(record).__name__}, not a record"
    fields: dict[str, object] = {}
    for name in KNOWN:
        value = record.get(name)
        if isinstance(value, list | tuple):
            fields[name] = [part for part in value if isinstance(part, str)]
        elif value is not None:
            fields[name] = value if isinstance(value, str) else 0
    return fields


@dataclass(frozen=True, slots=True)
class Pool:
    """The pool as a unit; the place of a problem is the number of its record."""

    stored: Stored
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
        waiting: list[tuple[int, dict[str, object] | str]] = []
        number = told = 0
        try:
            with self.stored.open() as stream:
                keep = remembered(stream)
            with self.stored.open() as stream:
                for number, record in enumerate(records(stream, keep), 1):
                    waiting.append((number, flat(record)))
                    if len(waiting) == RECORDS_A_CHUNK:
                        position = max(told, position_of(stream))
                        yield Records(self.stored.name, tuple(waiting), position - told, options)
                        waiting, told = [], position
        except DAMAGE as error:
            if waiting:
                yield Records(self.stored.name, tuple(waiting), 0, options)
            yield Rejected(
                (Problem(self.stored.name, number + 1, f"cannot be read further: {error}"),), self.size - told
            )
            return
        yield Records(self.stored.name, tuple(waiting), max(0, self.size - told), options)
