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
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import field
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple, Self, TypeVar, cast

import numpy as np

from treeline.corpus.analysis import analyse, split, with_file
from treeline.corpus.errors import TreelineError
from treeline.corpus.frozen import frozen
from treeline.corpus.function import FUNCTION_KINDS, Function
from treeline.encoder.registry import load
from treeline.engine.hits import Vectors
from treeline.graph.facts import PackedFacts, pack_facts
from treeline.ingest.parsers.captures import is_suspect_source
from treeline.ingest.parsers.registry import FORMATS
from treeline.ingest.source import Chunk, Parsed, Problem, Rejected
from treeline.ingest.state import ID, TEXT, function_row, rows_by_id
from treeline.ingest.texts import PackedText, pack

if TYPE_CHECKING:
    from treeline.encoder.protocol import Encoder
    from treeline.encoder.static import StaticEncoder


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
    """A chunk's functions: rows of all, those to write, and the ids of those whose text has a vector already."""

    item: Task
    is_end: bool = False
    records: bytes = b""
    functions: list[Function] = field(default_factory=list)
    terms: list[str] = field(default_factory=list)
    has_vector: frozenset[str] = frozenset()
    facts: PackedFacts = ()
    problems: tuple[Problem, ...] = ()
    texts: tuple[PackedText, ...] = ()


@frozen
class BatchResult:
    """Everything of a batch; `vectors` has a row for each function to write that has none yet, in order."""

    chunks: list[ChunkResult]
    vectors: dict[str, Vectors]
    seconds: dict[str, float] = field(default_factory=dict)
    process: int = 0
    peak_memory_kb: int = 0


LONGEST_DESCRIPTION = 400  # characters of a file's docstring


def run_tasks(items: Sequence[Task], encoders: Mapping[str, StaticEncoder]) -> BatchResult:
    """Parse, analyse, encode; functions that the index has exactly so are not among those to write."""
    clock = Clock()
    chunks: list[ChunkResult] = []
    to_encode: list[Function] = []
    contexts: list[str] = []
    for item in items:
        if item.chunk is None:
            chunks.append(ChunkResult(item, is_end=True))
            continue
        with clock("parse"):
            parsed = item.chunk.parse()
            facts = pack_facts(parsed.facts)
        with clock("analyse"):
            whole = _terms_of_files(parsed)
            about = {id: split(terms)[2] for id, terms in whole.items()}
            described = _descriptions(parsed.functions)
            records = [
                function_row(
                    one, parsed.shapes.get(one.id, ""), about.get(one.id, ""), described.get((one.repo, one.path), "")
                )
                for one in parsed.functions
            ]
        with clock("pack"):
            texts = pack(parsed.texts)
        known = rows_by_id(item.known)
        to_write: list[Function] = []
        has_vector: set[str] = set()
        for function, row in zip(parsed.functions, records, strict=True):
            before = known.get(row[:ID])
            if before == row[ID:]:
                continue
            to_write.append(function)
            if before and before[:TEXT] == row[ID : ID + TEXT]:
                has_vector.add(function.id)
            else:
                to_encode.append(function)
                contexts.append(described.get((function.repo, function.path), ""))
        with clock("analyse"):
            shapes = parsed.shapes
            terms = [whole.get(one.id) or analyse(one, shape=shapes.get(one.id, "")) for one in to_write]
        chunks.append(
            ChunkResult(
                # The chunk's bytes are not sent back.
                item._replace(chunk=None, known=b""),
                records=b"".join(records),
                functions=to_write,
                terms=terms,
                has_vector=frozenset(has_vector),
                facts=facts,
                problems=parsed.problems,
                texts=texts,
            )
        )
    with clock("encode"):
        vectors = {name: encoder.encode_functions(to_encode, contexts) for name, encoder in encoders.items()}
    return BatchResult(chunks, vectors, clock.seconds, os.getpid(), peak_memory_kb())


def _terms_of_files(parsed: Parsed) -> dict[str, str]:
    """The terms of files that have more than functions, by unit. One, the file's own if it has one, has all words."""
    result: dict[str, str] = {}
    for _, group in groupby(parsed.functions, key=lambda one: (one.repo, one.path)):
        units = list(group)
        own = min(
            (one for one in units if one.kind not in FUNCTION_KINDS), key=lambda one: one.kind != "file", default=None
        )
        if own is not None:
            every = [analyse(one, shape=parsed.shapes.get(one.id, "")) for one in units]
            pairs = zip(units, every, strict=True)
            result |= {one.id: with_file(terms, every if one is own else ()) for one, terms in pairs}
    return result


def _descriptions(functions: Sequence[Function]) -> dict[tuple[str, str], str]:
    """The beginning of each file's docstring, by repository and path, which says what all of it is about."""
    return {
        (one.repo, one.path): one.docstring[:LONGEST_DESCRIPTION]
        for one in functions
        if one.kind == "file" and one.docstring and one.language not in FORMATS
    }


def peak_memory_kb() -> int:
    """The most that this process has had in memory, pages of files that it maps included."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def trim_memory() -> None:
    """Give free memory back to the system: the C library holds what each of a load's threads once had."""
    import ctypes

    with suppress(OSError, AttributeError):  # not glibc
        ctypes.CDLL(None).malloc_trim(0)


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
MOST_MEMORY = 6_000_000_000  # bytes that a worker may map; C#'s grammar took 25 GB for 60 kB

_encoders: dict[str, StaticEncoder] = {}
Result = TypeVar("Result")


def processors() -> int:
    """The number that this process may use; macOS does not say, so all there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def load_encoders(names: Sequence[str], cache: Path | None = None) -> dict[str, Encoder]:
    """By the name that the index records; `cache` is the file that keeps the vectors of slow ones."""
    encoders = [load(name, cache) for name in names]
    return {encoder.name: encoder for encoder in encoders if encoder is not None}


class Workers:
    """Does the first `here` bytes in this process and the rest in `count` others, which start when they are needed.

    Each worker has a pair of pipes of its own and a thread that sends calls and waits for their results. However a
    worker dies, also in the middle of sending a result, its pipe ends. Then its batch is run again, chunk by chunk, and
    a chunk that ends its worker by itself is rejected: some grammars crash on hostile texts.
    """

    def __init__(self, count: int, encoders: dict[str, StaticEncoder], here: int) -> None:
        self._count = count
        self._encoders = encoders
        self._here = here
        self._threads = ThreadPoolExecutor(max(1, count))
        self._worker_of_thread = threading.local()
        self._processes: list[subprocess.Popen[bytes]] = []
        self._under_way: list[Future[BatchResult]] = []
        self._has_workers = self._is_over = False
        self._lock = threading.Lock()
        self._turn = threading.Lock()  # of the threads that run tasks here, if no process can be started

    def submit(self, items: Sequence[Task]) -> Future[BatchResult]:
        if (not self._count or self._here > 0 or self._is_idle_here()) and not any(map(_is_suspect, items)):
            self._here -= sum(item.chunk.size for item in items if item.chunk)
            return _run(partial(run_tasks, items, self._encoders))
        try:
            self._under_way.append(self._threads.submit(self._run_batch, items))
        except RuntimeError:  # the system starts no more threads
            self._count = 0
            return self.submit(items)
        self._has_workers = True
        return self._under_way[-1]

    def _is_idle_here(self) -> bool:
        """Whether every worker has enough to do and there is a processor left for this process."""
        self._under_way = [future for future in self._under_way if not future.done()]
        return self._count < processors() and len(self._under_way) > self._count

    def call(self, function: Callable[..., Result], *arguments: object) -> Future[Result]:
        """Run any function in a worker, or here when no worker was started."""
        if not self._has_workers:
            return _run(partial(function, *arguments))
        return self._threads.submit(self._ask, function, *arguments)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.stop(at_once=kind is not None)

    def stop(self, *, at_once: bool = False) -> None:
        """End the workers: those of a large repository have 200 MB each."""
        with self._lock:
            self._is_over = True
            for process in self._processes if at_once else ():
                process.kill()
            for process in _spares:  # that was not needed
                process.kill()
            self._processes += _spares
            _spares.clear()
        self._threads.shutdown(cancel_futures=True)
        for process in self._processes:
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError):
                    pipe.close()  # type: ignore[union-attr]
            process.wait()

    def _run_batch(self, items: Sequence[Task]) -> BatchResult:
        try:
            return self._ask(_run_tasks, items)
        except NoProcess:
            with self._turn:
                return run_tasks(items, self._encoders)
        except WorkerDied:
            self._ask(os.getpid)  # raises if no worker can run at all
            return _join([self._run_alone(item) for item in items])

    def _run_alone(self, item: Task) -> BatchResult:
        try:
            return self._ask(_run_tasks, [item])
        except WorkerDied as error:
            problem = Problem(item.unit, 0, f"its grammar failed: {error.message}")
            return run_tasks([item._replace(chunk=Rejected((problem,)))], self._encoders)

    def _ask(self, function: Callable[..., Result], *arguments: object) -> Result:
        """The result of a call in this thread's worker."""
        process = getattr(self._worker_of_thread, "process", None) or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            _write(process.stdin, pickle.dumps((function, arguments), pickle.HIGHEST_PROTOCOL))
            data = _read(process.stdout)
        except (OSError, EOFError, ValueError) as error:
            self._worker_of_thread.process = None
            raise _death(process) from error
        try:
            result, failure = pickle.loads(data)  # noqa: S301 - our own process wrote it
        except Exception as error:  # whatever a class does when it is unpickled
            raise TreelineError(f"a worker's result cannot be read: {error}") from error
        if failure is not None:
            raise failure
        return result  # type: ignore[no-any-return]

    def _start(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._is_over:
                raise TreelineError("the load is over")
            try:
                process = _spares.pop() if _spares else start_process()
            except OSError as error:
                raise NoProcess(f"a worker process cannot be started: {error}", "use fewer with --workers") from error
            self._processes.append(process)
        self._worker_of_thread.process = process
        with suppress(OSError):  # the first call says that it has died
            _write(process.stdin, pickle.dumps((list(self._encoders), os.getpid())))  # type: ignore[arg-type]
        return process


_spares: list[subprocess.Popen[bytes]] = []


def start_early() -> None:
    """Start the process of the next load's first worker, while there is other work: it needs half a second."""
    if processors() > 1 and not _spares:
        with suppress(OSError):
            _spares.append(start_process())


def start_process() -> subprocess.Popen[bytes]:
    # Started anew, not forked: engine and encoder have threads, which do not survive a fork.
    command = [sys.executable, "-c", "from treeline.ingest.workers import serve; serve()"]
    environment = {
        **os.environ,
        **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
        "TOKENIZERS_PARALLELISM": "false",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    # In a session of its own it never sees Ctrl-C, not even while it imports.
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, start_new_session=True
    )


def _is_suspect(item: Task) -> bool:
    """Whether the chunk may end the process that parses it."""
    return is_suspect_source(getattr(item.chunk, "source", b""))


class NoProcess(TreelineError):
    """The system starts no process: too many, or not allowed."""


class WorkerDied(TreelineError):
    """A worker process ended before it answered."""


def _join(results: Sequence[BatchResult]) -> BatchResult:
    """The results of parts of a batch as one."""
    seconds = Counter[str]()
    for result in results:
        seconds.update(result.seconds)
    return BatchResult(
        [chunk for result in results for chunk in result.chunks],
        {name: np.concatenate([result.vectors[name] for result in results]) for name in results[0].vectors},
        dict(seconds),
        results[-1].process,
        max(result.peak_memory_kb for result in results),
    )


def _death(process: subprocess.Popen[bytes]) -> WorkerDied:
    with suppress(subprocess.TimeoutExpired):
        process.wait(5)
    code = process.returncode
    how = f" (signal {-code})" if code and code < 0 else f" (exit code {code})" if code else ""
    return WorkerDied(f"a worker process died{how}, perhaps for want of memory", "run the same command again to go on")


def _run(call: Callable[[], Result]) -> Future[Result]:
    future: Future[Result] = Future()
    future.set_result(call())
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
    """Run a worker process: take calls from its standard input, until that ends."""
    calls = sys.stdin.buffer
    results = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not get between the results
    try:
        names, parent = pickle.loads(_read(calls))  # noqa: S301 - our own process wrote it
    except EOFError:  # started early, and not needed
        return
    with suppress(RuntimeError):  # no more threads: it ends when it asks for the next call
        threading.Thread(target=_follow, args=(parent,), daemon=True).start()
    with suppress(OSError, ValueError):  # macOS has no such limit
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    _encoders.update(cast("dict[str, StaticEncoder]", load_encoders(names)))
    # What is made here has no cycles; looking for them among a million strings would take a twentieth of the time.
    gc.freeze()
    gc.set_threshold(GARBAGE_AFTER)
    with suppress(EOFError, BrokenPipeError):
        while True:
            _write(results, _answer(_read(calls)))


def _answer(data: bytes) -> bytes:
    try:
        function, arguments = pickle.loads(data)  # noqa: S301 - our own process wrote it
        answer: tuple[object, Exception | None] = function(*arguments), None
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


def _run_tasks(items: Sequence[Task]) -> BatchResult:
    return run_tasks(items, _encoders)
