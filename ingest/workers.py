"""Worker processes that parse, analyse and encode batches of chunks."""

from __future__ import annotations

import gc
import os
import pickle
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import field
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any, NamedTuple, ParamSpec, Self, TypeVar

from treeline.corpus.analysis import analyse
from treeline.corpus.errors import TreelineError
from treeline.corpus.frozen import frozen
from treeline.corpus.function import Function
from treeline.encoder.protocol import Encoder
from treeline.encoder.registry import load
from treeline.engine.hits import Vectors
from treeline.graph.facts import PackedFacts, pack_facts
from treeline.ingest.source import Chunk, Problem
from treeline.ingest.state import ID, TEXT, function_row, rows_by_id
from treeline.ingest.texts import PackedText, pack


class Task(NamedTuple):
    """A chunk of a unit with what the index knows of that unit (rows of the manifest); no chunk: the unit's end."""

    source: str
    unit: str
    digest: str
    number: int
    chunk: Chunk | None
    known: bytes = b""


@frozen
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
    texts: tuple[PackedText, ...] = ()


@frozen
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
            records = [function_row(one, parsed.shapes.get(one.id, "")) for one in parsed.functions]
            packed = pack_facts(parsed.facts)
        with clock("pack"):
            texts = pack(parsed.texts)
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
            terms = [analyse(function, shape=parsed.shapes.get(function.id, "")) for function in changed]
        chunks.append(
            ChunkResult(
                # The chunk's bytes are not sent back.
                item._replace(chunk=None, known=b""),
                records=b"".join(records),
                functions=changed,
                terms=terms,
                kept=frozenset(kept),
                facts=packed,
                problems=parsed.problems,
                texts=texts,
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
    """Does the first `here` bytes in this process and the rest in `count` others, which start when they are needed.

    Each worker has a pair of pipes of its own, served by a thread. However a worker dies, also in the middle of
    sending a result, its pipe ends, and whoever waits for the result gets an error.
    """

    def __init__(self, count: int, encoders: dict[str, Encoder], here: int) -> None:
        self._count = count
        self._encoders = encoders
        self._here = here
        self._tasks: SimpleQueue[_Call | None] = SimpleQueue()
        self._processes: list[subprocess.Popen[bytes]] = []

    def submit(self, items: Sequence[Task]) -> Future[BatchResult]:
        if not self._count or self._here > 0:
            self._here -= sum(item.chunk.size for item in items if item.chunk)
            return _done(run_tasks(items, self._encoders))
        if not self._processes:
            self._start()
        return self._send(_run_here, items)

    def call(self, function: Callable[Given, Made], *given: Given.args, **named: Given.kwargs) -> Future[Made]:
        """Run any function in a worker, or here when no worker was started."""
        if not self._processes:
            return _done(function(*given, **named))
        return self._send(partial(function, **named), *given)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Stop the workers, at once after an error."""
        for process in self._processes:
            if kind is not None:
                process.kill()
            self._tasks.put(None)
        for process in self._processes:
            process.wait()

    def _send(self, function: Callable[..., Made], *given: object) -> Future[Made]:
        future: Future[Made] = Future()
        self._tasks.put(_Call(future, pickle.dumps((function, given), pickle.HIGHEST_PROTOCOL)))
        return future

    def _start(self) -> None:
        # Started anew, not forked: engine and encoder have threads, which do not survive a fork.
        command = [sys.executable, "-c", "from treeline.ingest.workers import serve; serve()"]
        environment = {
            **os.environ,
            **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
            "TOKENIZERS_PARALLELISM": "false",
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        }
        set_up = pickle.dumps((list(self._encoders), os.getpid()))
        try:
            for _ in range(self._count):
                # In a session of its own it never sees Ctrl-C, not even while it imports.
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    env=environment,
                    start_new_session=True,
                )
                self._processes.append(process)
                threading.Thread(target=_serve_worker, args=(process, set_up, self._tasks), daemon=True).start()
        except (OSError, RuntimeError) as error:
            raise TreelineError(f"a worker process cannot be started: {error}", "use fewer with --workers") from error


class _Call(NamedTuple):
    """Something a worker is to do, pickled, and who waits for it."""

    future: Future[Any]
    data: bytes


def _serve_worker(process: subprocess.Popen[bytes], set_up: bytes, tasks: SimpleQueue[_Call | None]) -> None:
    """Give a worker one task after the other until there are no more or it dies."""
    under_way: _Call | None = None
    waiting: _Call | None = None
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        _write(process.stdin, set_up)
        waiting = tasks.get()
        while waiting is not None:
            under_way, waiting = waiting, None
            under_way.future.set_running_or_notify_cancel()
            _write(process.stdin, under_way.data)
            result = _read(process.stdout)
            finished, under_way = under_way, None
            _settle(finished.future, result)
            waiting = tasks.get()
    except (OSError, EOFError, ValueError):
        for call in (under_way, waiting):
            if call is not None:
                call.future.set_exception(_death(process))
        # Those that no worker has taken yet: the others may all be dead.
        while (call := tasks.get()) is not None:
            call.future.set_exception(_death(process))
    finally:
        with suppress(OSError):
            process.stdin.close()
        process.stdout.close()


def _settle(future: Future[Any], data: bytes) -> None:
    try:
        made, error = pickle.loads(data)  # noqa: S301 - our own process wrote it
    except Exception as broken:  # noqa: BLE001 - whatever a class does when it is unpickled
        made, error = None, TreelineError(f"a worker's result cannot be read: {broken}")
    if error is None:
        future.set_result(made)
    else:
        future.set_exception(error)


def _death(process: subprocess.Popen[bytes]) -> TreelineError:
    with suppress(subprocess.TimeoutExpired):
        process.wait(5)
    code = process.returncode
    how = f" (signal {-code})" if code and code < 0 else f" (exit code {code})" if code else ""
    return TreelineError(
        f"a worker process died{how}, perhaps for want of memory", "run the same command again to go on"
    )


def outcome(future: Future[Made]) -> Made:
    """What a worker made, once it has."""
    return future.result()


def _done(made: Made) -> Future[Made]:
    future: Future[Made] = Future()
    future.set_result(made)
    return future


def _write(pipe: IO[bytes], data: bytes) -> None:
    pipe.write(len(data).to_bytes(8, "little"))
    pipe.write(data)
    pipe.flush()


def _read(pipe: IO[bytes]) -> bytes:
    """The next message; raises `EOFError` where the other side has gone, also in the middle of it."""
    size = pipe.read(8)
    data = pipe.read(int.from_bytes(size, "little")) if len(size) == 8 else b""
    if len(size) < 8 or len(data) < int.from_bytes(size, "little"):
        raise EOFError
    return data


def serve() -> None:
    """What a worker process does: take calls from its standard input, until that ends."""
    calls = sys.stdin.buffer
    results = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not get between the results
    names, parent = pickle.loads(_read(calls))  # noqa: S301 - our own process wrote it
    threading.Thread(target=_follow, args=(parent,), daemon=True).start()
    _encoders.update(load_encoders(names))
    # What is made here has no cycles; looking for them among a million strings would take a twentieth of the time.
    gc.freeze()
    gc.set_threshold(GARBAGE_AFTER)
    with suppress(EOFError, BrokenPipeError):
        while True:
            _write(results, _answer(_read(calls)))


def _answer(data: bytes) -> bytes:
    try:
        function, given = pickle.loads(data)  # noqa: S301 - our own process wrote it
        answer: tuple[object, Exception | None] = function(*given), None
        return pickle.dumps(answer, pickle.HIGHEST_PROTOCOL)
    except MemoryError:
        os._exit(1)
    except Exception as error:  # noqa: BLE001 - it is raised again where the result is waited for
        try:
            return pickle.dumps((None, error))
        except Exception:  # noqa: BLE001 - one that cannot be pickled
            return pickle.dumps((None, TreelineError(f"{type(error).__name__}: {error}")))


def _follow(parent: int) -> None:
    """Exit when the parent is gone: a killed parent cannot stop its workers."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _run_here(items: Sequence[Task]) -> BatchResult:
    return run_tasks(items, _encoders)
