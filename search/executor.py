"""Runs calls in threads, each with a timeout; late or failing calls are left out of the outcome.

Every name has its own pool of threads, so a lane that hangs cannot starve the others. The pool of `SEARCH` has one
thread: Python runs one thread at a time and every switch costs. Searches of eight clients took 13 ms of processor time
each when they ran into each other, and half of that one after the other.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from math import inf
from queue import Empty, SimpleQueue
from time import monotonic, perf_counter
from typing import Generic, Protocol, TypeVar

from treeline.corpus.errors import EngineUnavailable, TreelineError
from treeline.corpus.frozen import frozen

Value = TypeVar("Value")

SEARCH = "search"  # the pool with one thread
WORKERS = 32  # threads of every other pool
# With this many overdue calls a pool is skipped …
OVERDUE = 4
# … except for one attempt every few seconds, to notice that it works again.
PROBE_EVERY = 5.0

LATE, HANGING = "no answer within", "does not answer"  # how reasons for a missing call start


@frozen
class Outcome(Generic[Value]):
    """What came back in time, why the rest is missing, and the milliseconds each call took."""

    values: dict[str, Value] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    errors: dict[str, Exception] = field(default_factory=dict)
    milliseconds: dict[str, float] = field(default_factory=dict)

    def add_error(self, name: str, error: Exception) -> None:
        self.errors[name] = error
        self.failures[name] = error.message if isinstance(error, TreelineError) else f"{type(error).__name__}: {error}"


class Run(Protocol):
    """A way to run calls: `Executor.run`, or `in_turn`."""

    def __call__(self, calls: Mapping[str, Callable[[], Value]], timeouts: Mapping[str, float]) -> Outcome[Value]: ...


def in_turn(calls: Mapping[str, Callable[[], Value]], timeouts: Mapping[str, float]) -> Outcome[Value]:
    """Run the calls here, one after the other; the caller watches the time."""
    outcome: Outcome[Value] = Outcome()
    for name, work in calls.items():
        begin = perf_counter()
        try:
            outcome.values[name] = work()
        except Exception as error:  # noqa: BLE001 - the answer reports what a lane raises
            outcome.add_error(name, error)
        outcome.milliseconds[name] = (perf_counter() - begin) * 1000
    return outcome


def timed_out(reason: str) -> bool:
    """Whether a call is missing because of a timeout, its own or a nested one."""
    return reason.startswith((LATE, HANGING)) or "timed out" in reason


@dataclass(slots=True)
class _Call:
    name: str
    work: Callable[[], object]
    replies: SimpleQueue[_Call]
    context: Context  # the caller's, for the request id in log lines
    value: object = None
    error: Exception | None = None
    milliseconds: float = 0.0
    begun: bool = False
    finished: bool = False
    overdue: bool = False


@dataclass(slots=True)
class _Pool:
    """Daemon threads under one name: started when needed, kept for the next call, never joined."""

    size: int
    tasks: SimpleQueue[_Call | None] = field(default_factory=SimpleQueue)
    lock: threading.Lock = field(default_factory=threading.Lock)
    started: int = 0
    waiting: int = 0  # idle threads, less the calls already queued for them
    overdue: int = 0  # calls past their timeout that still run
    probed: float = 0.0

    def submit(self, call: _Call) -> bool:
        """Hand the call to a thread; False when too many calls of this pool hang."""
        with self.lock:
            if self.overdue >= min(OVERDUE, self.size):
                now = perf_counter()
                if now - self.probed < PROBE_EVERY or self.overdue >= self.size:
                    return False
                self.probed = now
            self.waiting -= 1
            if self.waiting < 0 and self.started < self.size:
                self.started += 1
                self.waiting += 1
                threading.Thread(target=self._work, name=f"lane-{call.name}", daemon=True).start()
        self.tasks.put(call)
        return True

    def give_up(self, call: _Call) -> bool:
        """Mark a call as overdue; False when it has just finished after all."""
        with self.lock:
            if call.finished:
                return False
            call.overdue = True
            if call.begun:
                self.overdue += 1
                self.probed = perf_counter()
            return True

    def _work(self) -> None:
        while (call := self.tasks.get()) is not None:
            with self.lock:
                call.begun = not call.overdue  # nobody waits for an overdue call
            if call.begun:
                begin = perf_counter()
                try:
                    call.value = call.context.run(call.work)
                except Exception as error:  # noqa: BLE001 - the answer reports what a lane raises
                    call.error = error
                call.milliseconds = (perf_counter() - begin) * 1000
            with self.lock:
                call.finished = True
                self.waiting += 1
                if call.overdue and call.begun:
                    self.overdue -= 1
            call.replies.put(call)
            call = None  # an idle thread must not keep the last search's engine and results alive


class Executor:
    """The pools, shared by all searches of a process; a forked process gets new ones."""

    def __init__(self) -> None:
        self._pools: dict[str, _Pool] = {}
        self._process = os.getpid()
        self._lock = threading.Lock()

    def run(self, calls: Mapping[str, Callable[[], Value]], timeouts: Mapping[str, float]) -> Outcome[Value]:
        """Run the calls in parallel; returns what came back within its timeout."""
        begin = perf_counter()
        replies: SimpleQueue[_Call] = SimpleQueue()
        outcome: Outcome[Value] = Outcome()
        pending: dict[str, _Call] = {}
        for name, work in calls.items():
            call = _Call(name, work, replies, copy_context())
            if self._pool(name).submit(call):
                pending[name] = call
            else:
                outcome.failures[name] = f"{HANGING} (earlier searches still wait for it)"
        while pending:
            soonest = min(begin + timeouts[name] for name in pending)
            try:
                self._take(replies.get(timeout=max(0.0, soonest - perf_counter())), pending, outcome)
            except Empty:
                self._expire(begin, timeouts, pending, outcome)
        return outcome

    def call(self, name: str, work: Callable[[], Value], seconds: float) -> Value:
        """Run one call; raises what it raises, and `TimeoutError` if it is late or an earlier one still hangs."""
        outcome = self.run({name: work}, {name: seconds})
        if name in outcome.errors:
            raise outcome.errors[name]
        if name in outcome.failures:
            raise TimeoutError(outcome.failures[name])
        return outcome.values[name]

    def overdue(self) -> int:
        """Calls past their timeout that still run."""
        return sum(pool.overdue for pool in list(self._pools.values()))

    def close(self) -> None:
        """Let idle threads end now, and busy ones after their call."""
        for pool in list(self._pools.values()):
            for _ in range(pool.started):
                pool.tasks.put(None)
        self._pools = {}

    def _pool(self, name: str) -> _Pool:
        if self._process != os.getpid():  # threads do not survive a fork (gunicorn --preload)
            self._pools, self._process = {}, os.getpid()
        pool = self._pools.get(name)
        if pool is None:
            with self._lock:
                pool = self._pools.setdefault(name, _Pool(1 if name == SEARCH else WORKERS))
        return pool

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
                if self._pool(name).give_up(call):
                    del pending[name]
                    outcome.failures[name] = f"{LATE} {timeouts[name]:g} s"
                    outcome.milliseconds[name] = (now - begin) * 1000
                else:
                    self._take(call, pending, outcome)


class Probe(Generic[Value]):
    """Calls an engine with a timeout, one call at a time, and caches the result for a while."""

    def __init__(self, ask: Callable[[], Value], seconds: float, keep: float = 0.0) -> None:
        self._ask, self._seconds, self._keep = ask, seconds, keep
        self._executor = Executor()
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
