"""The heavy part of loading: parse, analyse and encode a batch of chunks."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from treeline.corpus.analysis import analyse
from treeline.corpus.function import Function
from treeline.encoder.protocol import Encoder
from treeline.engine.protocol import Vectors
from treeline.ingest import facts, manifest
from treeline.ingest.source import Chunk, Problem


@dataclass(frozen=True, slots=True)
class Item:
    """A chunk of a unit with what the index knows of that unit (rows of the manifest); no chunk: the unit's end."""

    source: str
    unit: str
    digest: str
    number: int
    chunk: Chunk | None
    known: bytes = b""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A chunk's functions: rows of all, and those to write. `kept` are ids whose text, and so vector, is known."""

    item: Item
    is_end: bool = False
    records: bytes = b""
    functions: list[Function] = field(default_factory=list)
    terms: list[str] = field(default_factory=list)
    kept: frozenset[str] = frozenset()
    facts: bytes = b""
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class PreparedBatch:
    """Everything of a batch; `vectors` has a row for each function to write that is not kept, in order."""

    chunks: list[Prepared]
    vectors: dict[str, Vectors]
    seconds: dict[str, float] = field(default_factory=dict)
    process: int = 0
    peak_memory_kb: int = 0


def prepare(items: Sequence[Item], encoders: Mapping[str, Encoder]) -> PreparedBatch:
    """Parse, analyse, encode; functions that the index has exactly so are not among those to write."""
    clock = Clock()
    chunks: list[Prepared] = []
    to_encode: list[Function] = []
    for item in items:
        if item.chunk is None:
            chunks.append(Prepared(item, is_end=True))
            continue
        with clock("parse"):
            parsed = item.chunk.parse()
            records = [manifest.record(function) for function in parsed.functions]
            packed = facts.pack(parsed.facts)
        known = manifest.rows_by_id(item.known)
        changed: list[Function] = []
        kept: set[str] = set()
        for function, row in zip(parsed.functions, records, strict=True):
            before = known.get(row[: manifest.ID])
            if before == row[manifest.ID :]:
                continue
            changed.append(function)
            if before and before[: manifest.TEXT] == row[manifest.ID : manifest.ID + manifest.TEXT]:
                kept.add(function.id)
            else:
                to_encode.append(function)
        with clock("analyse"):
            terms = [analyse(function) for function in changed]
        chunks.append(
            Prepared(
                # The bytes of the chunk need not travel back.
                replace(item, chunk=None, known=b""),
                records=b"".join(records),
                functions=changed,
                terms=terms,
                kept=frozenset(kept),
                facts=packed,
                problems=parsed.problems,
            )
        )
    with clock("encode"):
        vectors = {name: encoder.encode_functions(to_encode) for name, encoder in encoders.items()}
    return PreparedBatch(chunks, vectors, clock.seconds, os.getpid(), peak_memory_kb())


def peak_memory_kb() -> int:
    """The most that this process has had in memory, pages of files that it maps included."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


class Clock:
    """Adds up seconds by stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.add(stage, time.perf_counter() - start)

    def add(self, stage: str, seconds: float) -> None:
        self.seconds[stage] = self.seconds.get(stage, 0.0) + seconds
