"""Worker processes that parse, analyse and encode batches of chunks."""

from __future__ import annotations

import gc
import os
import resource
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import ParamSpec, Self, TypeVar

from treeline.corpus.analysis import analyse
from treeline.corpus.errors import TreelineError
from treeline.corpus.function import Function
from treeline.encoder.protocol import Encoder
from treeline.encoder.registry import load
from treeline.engine.protocol import Vectors
from treeline.ingest.source import Chunk, Problem
from treeline.ingest.state import ID, TEXT, PackedFacts, function_row, pack_facts, rows_by_id


@dataclass(frozen=True, slots=True)
class Task:
    """A chunk of a unit with what the index knows of that unit (rows of the manifest); no chunk: the unit's end."""

    source: str
    unit: str
    digest: str
    number: int
    chunk: Chunk | None
    known: bytes = b""


@dataclass(frozen=True, slots=True)
class ChunkResult:
    """A chunk's functions: rows of all, and those to write. `kept` are ids whose text, and so vector, is known."""

    item: Task
    is_end: bool = False
    records: bytes = b""
    functions: list[Function] = field(default_factory=list)
    terms: list[str] = field(default_factory=list)
    kept: frozenset[str] = frozenset()
    facts: PackedFacts = ()
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class BatchResult:
    """Everything of a batch; `vectors` has a row for each function to write that is not kept, in order."""

    chunks: list[ChunkResult]
    vectors: dict[str, Vectors]
    seconds: dict[str, float] = field(default_factory=dict)
    process: int = 0
    peak_memory_kb: int = 0


def run_tasks(items: Sequence[Task], encoders: Mapping[str, Encoder]) -> BatchResult:
    """Parse, analyse, encode; functions that the index has exactly so are not among those to write."""
    clock = Clock()
    chunks: list[ChunkResult] = []
    to_encode: list[Function] = []
    for item in items:
        if item.chunk is None:
            chunks.append(ChunkResult(item, is_end=True))
            continue
        with clock("parse"):
            parsed = item.chunk.parse()
            records = [function_row(function) for function in parsed.functions]
            packed = pack_facts(parsed.facts)
        known = rows_by_id(item.known)
        changed: list[Function] = []
        kept: set[str] = set()
        for function, row in zip(parsed.functions, records, strict=True):
            before = known.get(row[:ID])
            if before == row[ID:]:
                continue
            changed.append(function)
            if before and before[:TEXT] == row[ID : ID + TEXT]:
                kept.add(function.id)
            else:
                to_encode.append(function)
        with clock("analyse"):
            terms = [analyse(function) for function in changed]
        chunks.append(
            ChunkResult(
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
    return BatchResult(chunks, vectors, clock.seconds, os.getpid(), peak_memory_kb())


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


GARBAGE_AFTER = 200_000  # objects

_encoders: dict[str, Encoder] = {}
Given = ParamSpec("Given")
Made = TypeVar("Made")


def processors() -> int:
    """How many this process may use; macOS does not say, so all there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def load_encoders(names: Sequence[str], cache: Path | None = None) -> dict[str, Encoder]:
    """By the name that the index records; `cache` is the file that keeps the vectors of slow ones."""
    loaded = [load(name, cache) for name in names]
    return {encoder.name: encoder for encoder in loaded if encoder is not None}


class Workers:
    """Prepares the first `here` bytes in this process and the rest in `count` others."""

    def __init__(self, count: int, encoders: dict[str, Encoder], here: int) -> None:
        self._encoders = encoders
        self._here = here
        # Spawned, not forked: engine and encoder have threads, which do not survive a fork.
        start = partial(_start, list(encoders), os.getpid())
        self._pool = ProcessPoolExecutor(count, get_context("spawn"), start) if count else None
        self._started = False

    def submit(self, items: Sequence[Task]) -> Future[BatchResult]:
        if self._pool is None or self._here > 0:
            self._here -= sum(item.chunk.size for item in items if item.chunk)
            return _done(run_tasks(items, self._encoders))
        self._started = True
        with _interrupts_held():
            return self._pool.submit(_prepare, items)

    def call(self, function: Callable[Given, Made], *given: Given.args, **named: Given.kwargs) -> Future[Made]:
        """Have a worker do something else; done here when none was started, for then there was little to do."""
        if self._pool is None or not self._started:
            return _done(function(*given, **named))
        with _interrupts_held():
            return self._pool.submit(function, *given, **named)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """After an error nobody takes what is under way, and who interrupts twice leaves no workers that wait."""
        if self._pool is None:
            return
        if kind is not None:
            for worker in list((self._pool._processes or {}).values()):
                worker.kill()
        self._pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """A process that is started in here never sees Ctrl-C, not even while it imports; this one sees it afterwards."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def outcome(future: Future[Made]) -> Made:
    """What a worker made, once it has; a worker that was killed is an error that a person can act on."""
    try:
        return future.result()
    except BrokenProcessPool as error:
        raise TreelineError(
            "a worker process died, perhaps for want of memory", "run the same command again to go on"
        ) from error


def _done(made: Made) -> Future[Made]:
    future: Future[Made] = Future()
    future.set_result(made)
    return future


def _start(encoder_names: Sequence[str], parent: int) -> None:
    """Set a worker up: one thread is enough for each process."""
    threading.Thread(target=_follow, args=(parent,), daemon=True).start()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)
    _encoders.update(load_encoders(encoder_names))
    # What is made here has no cycles; looking for them among a million strings would take a twentieth of the time.
    gc.freeze()
    gc.set_threshold(GARBAGE_AFTER)


def _follow(parent: int) -> None:
    """A parent that was killed, perhaps before this began, cannot tell its workers to end."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _prepare(items: Sequence[Task]) -> BatchResult:
    return run_tasks(items, _encoders)
