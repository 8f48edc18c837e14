"""Runs calls in threads, each with a timeout; late or failing calls are left out of the outcome.

Every name has its own pool of threads, so a lane that hangs cannot starve the others. Searches that compute in this
process take turns, and their lanes run one after the other in one thread: Python runs one thread at a time and every
switch costs. Searches of eight clients took 13 ms of processor time each when they ran into each other, and half of
that one after the other.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from math import inf
from queue import Empty, SimpleQueue
from time import monotonic, perf_counter
from typing import Generic, Protocol, TypeVar

from treeline.corpus.errors import EngineUnavailable, TreelineError
from treeline.corpus.frozen import frozen

Value = TypeVar("Value")

SEARCH = "search"  # the pool for lanes that run one after the other
WORKERS = 32  # threads of a pool
# Seconds that a search waits for the one before it, and that its lanes get one after the other; after that, those that
# have not begun get a thread each. The slowest searches take 50 ms on 182,431 functions.
TURN_TIMEOUT_S = 0.25
# With this many overdue calls a pool is skipped …
OVERDUE = 4
# … except for one attempt every few seconds, to notice that it works again.
PROBE_EVERY = 5.0

LATE, HANGING = "no answer within", "does not answer"  # how reasons for a missing call start


@frozen
class Outcome(Generic[Value]):
    """The values that came back in time, the reasons for the others, and the milliseconds of each call."""

    values: dict[str, Value] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    errors: dict[str, Exception] = field(default_factory=dict)
    milliseconds: dict[str, float] = field(default_factory=dict)

    def add_error(self, name: str, error: Exception) -> None:
        self.errors[name] = error
        self.failures[name] = error.message if isinstance(error, TreelineError) else f"{type(error).__name__}: {error}"


class Run(Protocol):
    """A way to run calls: `Executor.run`, `Executor.run_in_turn` or `Inline.run`."""

    def __call__(self, calls: Mapping[str, Callable[[], Value]], timeouts: Mapping[str, float]) -> Outcome[Value]: ...


def timed_out(reason: str) -> bool:
    """Whether a call is missing because of a timeout, its own or a nested one."""
    return reason.startswith((LATE, HANGING)) or "timed out" in reason


@dataclass(slots=True)
class _Call:
    name: str
    work: Callable[[], object]
    pool: _Pool
    replies: SimpleQueue[_Call]
    context: Context  # the caller's, for the request id in log lines
    value: object = None
    error: Exception | None = None
    milliseconds: float = 0.0
    is_begun: bool = False
    is_finished: bool = False
    overdue: bool = False

    def run(self) -> None:
        """Run in this thread, unless another thread has begun it or nobody waits for it any more."""
        with self.pool.lock:
            if self.is_begun or self.overdue:
                return
            self.is_begun = True
        begin = perf_counter()
        try:
            self.value = self.context.run(self.work)
        except Exception as error:  # noqa: BLE001 - the answer reports what a lane raises
            self.error = error
        self.milliseconds = (perf_counter() - begin) * 1000
        with self.pool.lock:
            self.is_finished = True
            self.pool.overdue -= self.overdue
        self.replies.put(self)

    def give_up(self) -> bool:
        """Mark as overdue; False when it has just finished after all."""
        with self.pool.lock:
            if self.is_finished:
                return False
            self.overdue = True
            if self.is_begun:
                self.pool.overdue += 1
                self.pool.last_probe = perf_counter()
            return True


@dataclass(slots=True)
class _Pool:
    """Daemon threads under one name: started when needed, kept for the next call, never joined."""

    name: str
    size: int
    tasks: SimpleQueue[Sequence[_Call] | None] = field(default_factory=SimpleQueue)
    lock: threading.Lock = field(default_factory=threading.Lock)
    thread_count: int = 0
    waiting: int = 0  # idle threads, less the tasks already queued for them
    overdue: int = 0  # calls past their timeout that still run
    last_probe: float = 0.0

    def admits(self) -> bool:
        """Whether to call again: not while too many calls of this name hang, except now and then."""
        with self.lock:
            if self.overdue >= min(OVERDUE, self.size):
                now = perf_counter()
                if now - self.last_probe < PROBE_EVERY or self.overdue >= self.size:
                    return False
                self.last_probe = now
            return True

    def submit(self, calls: Sequence[_Call]) -> None:
        """Hand the calls to a thread, one after the other."""
        with self.lock:
            self.waiting -= 1
            if self.waiting < 0 and self.thread_count < self.size:
                self.thread_count += 1
                self.waiting += 1
                threading.Thread(target=self._work, name=f"lane-{self.name}", daemon=True).start()
        self.tasks.put(calls)

    def _work(self) -> None:
        while (calls := self.tasks.get()) is not None:
            for call in calls:
                call.run()
            with self.lock:
                self.waiting += 1
            del calls, call  # an idle thread must not keep the last search's engine and results alive


class Executor:
    """The pools, shared by all searches of a process; a forked process gets new ones."""

    def __init__(self, threads: int = WORKERS) -> None:
        """`threads` is the size of a pool."""
        self._threads, self._lock = threads, threading.Lock()
        self._begin()

    def _begin(self) -> None:
        self._pools: dict[str, _Pool] = {}
        self._turn = threading.Lock()
        self._process = os.getpid()

    def run(self, calls: Mapping[str, Callable[[], Value]], timeouts: Mapping[str, float]) -> Outcome[Value]:
        """Run the calls in parallel; returns what came back within its timeout."""
        return self._run(calls, timeouts, parallel_after=0.0)

    def run_in_turn(self, calls: Mapping[str, Callable[[], Value]], timeouts: Mapping[str, float]) -> Outcome[Value]:
        """Run the calls one after the other in one thread, those that wait too long in parallel."""
        return self._run(calls, timeouts, parallel_after=TURN_TIMEOUT_S)

    @contextmanager
    def turn(self, *, computes_here: bool) -> Iterator[Run]:
        """The way for a search to run its calls: in turn while it is alone, else in parallel. One that waits for a
        server or a large model takes no turn."""
        self._check_process()
        turn = self._turn
        is_alone = computes_here and turn.acquire(timeout=TURN_TIMEOUT_S)
        try:
            yield self.run_in_turn if is_alone else self.run
        finally:
            if is_alone:
                turn.release()

    def _run(
        self, work: Mapping[str, Callable[[], Value]], timeouts: Mapping[str, float], parallel_after: float
    ) -> Outcome[Value]:
        begin = perf_counter()
        replies: SimpleQueue[_Call] = SimpleQueue()
        outcome: Outcome[Value] = Outcome()
        pending: dict[str, _Call] = {}
        for name, one in work.items():
            if (pool := self._pool(name)).admits():
                pending[name] = _Call(name, one, pool, replies, copy_context())
            else:
                outcome.failures[name] = f"{HANGING} (earlier searches still wait for it)"
        if pending and parallel_after:
            self._pool(SEARCH).submit([*pending.values()])
        parallel_at = begin + parallel_after
        while pending:
            soonest = min(parallel_at, *(begin + timeouts[name] for name in pending))
            try:
                self._take(replies.get(timeout=max(0.0, soonest - perf_counter())), pending, outcome)
            except Empty:
                if perf_counter() >= parallel_at:
                    parallel_at = inf
                    for call in pending.values():
                        if not call.is_begun:
                            call.pool.submit([call])
                self._expire(begin, timeouts, pending, outcome)
        return outcome

    def overdue(self) -> int:
        """Calls past their timeout that still run."""
        return sum(pool.overdue for pool in list(self._pools.values()))

    def close(self) -> None:
        """Let idle threads end now, and busy ones after their call."""
        for pool in list(self._pools.values()):
            for _ in range(pool.thread_count):
                pool.tasks.put(None)
        self._pools = {}

    def _pool(self, name: str) -> _Pool:
        self._check_process()
        pool = self._pools.get(name)
        if pool is None:
            with self._lock:
                pool = self._pools.setdefault(name, _Pool(name, self._threads))
        return pool

    def _check_process(self) -> None:
        """Start anew after a fork, which threads do not survive (gunicorn --preload)."""
        if self._process != os.getpid():
            self._begin()

    @staticmethod
    def _take(call: _Call, pending: dict[str, _Call], outcome: Outcome[Value]) -> None:
        if pending.pop(call.name, None) is None:
            return
        outcome.milliseconds[call.name] = call.milliseconds
        if call.error is None:
            outcome.values[call.name] = call.value  # type: ignore[assignment]  # what `work` returned
        else:
            outcome.add_error(call.name, call.error)

    def _expire(
        self, begin: float, timeouts: Mapping[str, float], pending: dict[str, _Call], outcome: Outcome[Value]
    ) -> None:
        now = perf_counter()
        for name, call in list(pending.items()):
            if now >= begin + timeouts[name]:
                if call.give_up():
                    del pending[name]
                    outcome.failures[name] = f"{LATE} {timeouts[name]:g} s"
                    outcome.milliseconds[name] = (now - begin) * 1000
                else:
                    self._take(call, pending, outcome)


class Inline(Executor):
    """Runs calls in the calling thread, however long they take: for a process that searches once. Its lanes load
    everything for the first time, which alone may exceed a lane's timeout on a busy machine."""

    def run(self, calls: Mapping[str, Callable[[], Value]], timeouts: Mapping[str, float]) -> Outcome[Value]:
        outcome: Outcome[Value] = Outcome()
        for name, work in calls.items():
            begin = perf_counter()
            try:
                outcome.values[name] = work()
            except Exception as error:  # noqa: BLE001 - the answer reports what a lane raises
                outcome.add_error(name, error)
            outcome.milliseconds[name] = (perf_counter() - begin) * 1000
        return outcome

    run_in_turn = run


class Probe(Generic[Value]):
    """Calls an engine with a timeout, one call at a time, and caches the result for a while."""

    def __init__(self, ask: Callable[[], Value], seconds: float, keep: float = 0.0) -> None:
        self._ask, self._seconds, self._keep = ask, seconds, keep
        self._executor = Executor(threads=1)
        self._lock = threading.Lock()
        self._outcome: Outcome[Value] = Outcome()
        self._asked = -inf
        self._hanging_since: float | None = None

    def __call__(self) -> Value:
        """The value; raises what the call raises, and `EngineUnavailable` if there is none in time."""
        with self._lock:
            begin = monotonic()
            if begin - self._asked > self._keep:
                # Do not wait for a call that already hangs: this pool has one thread.
                self._outcome, self._asked = self._executor.run({SEARCH: self._ask}, {SEARCH: self._seconds}), begin
            outcome = self._outcome
            if SEARCH in outcome.values:
                self._hanging_since = None
                return outcome.values[SEARCH]
            if SEARCH in outcome.errors:
                raise outcome.errors[SEARCH].with_traceback(None)  # or it grows with every caller
            self._hanging_since = begin if self._hanging_since is None else self._hanging_since
            seconds = monotonic() - self._hanging_since
            raise EngineUnavailable(f"the engine has not answered for {seconds:.0f} s", "try again in a moment")
