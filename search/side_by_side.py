"""Runs lanes side by side in threads, each with a time-out; a slow or failing one is left out and never waited for."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from time import perf_counter
from typing import Generic, Protocol, TypeVar

from treeline.corpus.errors import TreelineError

Value = TypeVar("Value")

# Threads one lane may have at work. Each lane has its own, so one that hangs cannot starve the others.
WORKERS = 32
# With this many calls of a lane past their time-out it is skipped at once, instead of waiting for it every time …
OVERDUE = 4
# … but for one attempt in this many seconds, which notices that it works again.
PROBE_EVERY = 5.0

LATE, HANGING = "no answer within", "does not answer"  # how the reasons begin that are given for such lanes


@dataclass(frozen=True, slots=True)
class Outcome(Generic[Value]):
    """What the lanes returned in time, why the others are missing, and the milliseconds each took."""

    values: dict[str, Value]
    failures: dict[str, str]
    errors: dict[str, Exception]
    milliseconds: dict[str, float]


class Run(Protocol):
    """A way to call lanes: `SideBySide.run`, or `one_by_one`."""

    def __call__(self, lanes: Mapping[str, Callable[[], Value]], timeouts: Mapping[str, float]) -> Outcome[Value]: ...


@dataclass(slots=True)
class _Call:
    lane: str
    work: Callable[[], object]
    replies: SimpleQueue[_Call]
    value: object = None
    error: Exception | None = None
    milliseconds: float = 0.0
    finished: bool = False
    overdue: bool = False


@dataclass(slots=True)
class _Threads:
    """One lane's daemon threads: made when needed, kept for the next search, never joined."""

    tasks: SimpleQueue[_Call | None] = field(default_factory=SimpleQueue)
    lock: threading.Lock = field(default_factory=threading.Lock)
    started: int = 0
    waiting: int = 0  # threads without work, less the calls already queued for them
    overdue: int = 0
    probed: float = 0.0

    def submit(self, call: _Call) -> bool:
        """Hand the call to a thread; False when too many calls of this lane hang."""
        with self.lock:
            if self.overdue >= OVERDUE:
                now = perf_counter()
                if now - self.probed < PROBE_EVERY or self.overdue >= WORKERS:
                    return False
                self.probed = now
            self.waiting -= 1
            if self.waiting < 0 and self.started < WORKERS:
                self.started += 1
                self.waiting += 1
                threading.Thread(target=self._work, name=f"lane-{call.lane}", daemon=True).start()
        self.tasks.put(call)
        return True

    def give_up(self, call: _Call) -> bool:
        """Mark a call as past its time-out; False when it has just finished after all."""
        with self.lock:
            if call.finished:
                return False
            call.overdue = True
            self.overdue += 1
            self.probed = perf_counter()
            return True

    def _work(self) -> None:
        while (call := self.tasks.get()) is not None:
            if not call.overdue:  # a call that nobody waits for any more is not begun
                begin = perf_counter()
                try:
                    call.value = call.work()
                except Exception as error:  # noqa: BLE001 - whatever a lane raises is said in the answer
                    call.error = error
                call.milliseconds = (perf_counter() - begin) * 1000
            with self.lock:
                call.finished = True
                self.waiting += 1
                if call.overdue:
                    self.overdue -= 1
            call.replies.put(call)
            call = None  # an idle thread must not keep the last search's engine and results alive


def one_by_one(lanes: Mapping[str, Callable[[], Value]], timeouts: Mapping[str, float]) -> Outcome[Value]:
    """Call every lane here and now, where somebody else watches the time; one that raises is left out."""
    outcome: Outcome[Value] = Outcome({}, {}, {}, {})
    for lane, work in lanes.items():
        begin = perf_counter()
        try:
            outcome.values[lane] = work()
        except Exception as error:  # noqa: BLE001 - whatever a lane raises is said in the answer
            outcome.errors[lane] = error
            outcome.failures[lane] = _said(error)
        outcome.milliseconds[lane] = (perf_counter() - begin) * 1000
    return outcome


class SideBySide:
    """Threads for every lane; shared by all searches of a process."""

    def __init__(self) -> None:
        self._threads: dict[str, _Threads] = {}
        self._process = os.getpid()
        self._lock = threading.Lock()

    def run(self, lanes: Mapping[str, Callable[[], Value]], timeouts: Mapping[str, float]) -> Outcome[Value]:
        """Call every lane and return what came back within its time-out."""
        begin = perf_counter()
        replies: SimpleQueue[_Call] = SimpleQueue()
        outcome: Outcome[Value] = Outcome({}, {}, {}, {})
        open_calls: dict[str, _Call] = {}
        for lane, work in lanes.items():
            call = _Call(lane, work, replies)
            if self._of(lane).submit(call):
                open_calls[lane] = call
            else:
                outcome.failures[lane] = f"{HANGING} (earlier searches still wait for it)"
        while open_calls:
            soonest = min(begin + timeouts[lane] for lane in open_calls)
            try:
                self._take(replies.get(timeout=max(0.0, soonest - perf_counter())), open_calls, outcome)
            except Empty:
                self._expire(begin, timeouts, open_calls, outcome)
        return outcome

    def overdue(self) -> int:
        """Calls past their time-out that still run."""
        return sum(threads.overdue for threads in list(self._threads.values()))

    def close(self) -> None:
        """Let the idle threads end; those at work end after it."""
        for threads in list(self._threads.values()):
            for _ in range(threads.started):
                threads.tasks.put(None)
        self._threads = {}

    def _of(self, lane: str) -> _Threads:
        if self._process != os.getpid():  # threads do not survive a fork (gunicorn --preload)
            self._threads, self._process = {}, os.getpid()
        threads = self._threads.get(lane)
        if threads is None:
            with self._lock:
                threads = self._threads.setdefault(lane, _Threads())
        return threads

    @staticmethod
    def _take(call: _Call, open_calls: dict[str, _Call], outcome: Outcome[Value]) -> None:
        if open_calls.pop(call.lane, None) is None:
            return
        outcome.milliseconds[call.lane] = call.milliseconds
        if call.error is None:
            outcome.values[call.lane] = call.value  # type: ignore[assignment]  # what `work` returned
        else:
            outcome.errors[call.lane] = call.error
            outcome.failures[call.lane] = _said(call.error)

    def _expire(
        self, begin: float, timeouts: Mapping[str, float], open_calls: dict[str, _Call], outcome: Outcome[Value]
    ) -> None:
        now = perf_counter()
        for lane, call in list(open_calls.items()):
            if now >= begin + timeouts[lane]:
                if self._of(lane).give_up(call):
                    del open_calls[lane]
                    outcome.failures[lane] = f"{LATE} {timeouts[lane]:g} s"
                    outcome.milliseconds[lane] = (now - begin) * 1000
                else:
                    self._take(call, open_calls, outcome)


def timed_out(reason: str) -> bool:
    """Whether a lane is missing because of the time it takes: its own time-out, or one of what it asks."""
    return reason.startswith((LATE, HANGING)) or "timed out" in reason


def _said(error: Exception) -> str:
    return error.message if isinstance(error, TreelineError) else f"{type(error).__name__}: {error}"
