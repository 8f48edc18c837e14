"""Runs lanes side by side in threads, each with a time-out; a slow or failing one is left out and never waited for.

Lanes that only compute take turns on one thread first: handing each to a thread of its own costs more than they take,
because Python runs one of them at a time anyway. Once they take long, each gets its own all the same.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf
from queue import Empty, SimpleQueue
from time import perf_counter
from typing import Generic, TypeVar

from corpus.errors import TreelineError

Value = TypeVar("Value")

# Threads one lane may have at work. Each lane has its own, so one that hangs cannot starve the others.
WORKERS = 32
# With this many calls of a lane past their time-out it is skipped at once, instead of waiting for it every time …
OVERDUE = 4
# … but for one attempt in this many seconds, which notices that it works again.
PROBE_EVERY = 5.0
# Seconds that one thread may take for all lanes of a search, before those that still wait get threads of their own.
TURNS = 0.05


@dataclass(frozen=True, slots=True)
class Outcome(Generic[Value]):
    """What the lanes returned in time, why the others are missing, and the milliseconds each took."""

    values: dict[str, Value]
    failures: dict[str, str]
    errors: dict[str, Exception]
    milliseconds: dict[str, float]


@dataclass(slots=True, eq=False)
class _Call:
    lane: str
    work: Callable[[], object]
    home: _Threads
    replies: SimpleQueue[_Call]
    following: tuple[_Call, ...] = ()  # to be done by the same thread afterwards, unless another has begun them
    value: object = None
    error: Exception | None = None
    milliseconds: float = 0.0
    begun: bool = False
    finished: bool = False
    overdue: bool = False

    def perform(self) -> bool:
        """Do the work, unless it is done elsewhere or nobody waits for it any more; whether it was done."""
        with self.home.lock:
            if self.begun or self.overdue:
                return False
            self.begun = True
        begin = perf_counter()
        try:
            self.value = self.work()
        except Exception as error:  # noqa: BLE001 - whatever a lane raises is said in the answer
            self.error = error
        self.milliseconds = (perf_counter() - begin) * 1000
        with self.home.lock:
            self.finished = True
            if self.overdue:
                self.home.overdue -= 1
        return True


@dataclass(slots=True)
class _Threads:
    """One lane's daemon threads: made when needed, kept for the next search, never joined."""

    tasks: SimpleQueue[_Call | None] = field(default_factory=SimpleQueue)
    lock: threading.Lock = field(default_factory=threading.Lock)
    started: int = 0
    waiting: int = 0  # threads without work, less the calls already queued for them
    overdue: int = 0
    probed: float = 0.0

    def admits(self) -> bool:
        """Whether the lane may be called; False when too many calls of it hang."""
        with self.lock:
            if self.overdue >= OVERDUE:
                now = perf_counter()
                if now - self.probed < PROBE_EVERY or self.overdue >= WORKERS:
                    return False
                self.probed = now
            return True

    def submit(self, call: _Call) -> None:
        """Hand the call to a thread."""
        with self.lock:
            self.waiting -= 1
            if self.waiting < 0 and self.started < WORKERS:
                self.started += 1
                self.waiting += 1
                threading.Thread(target=self._work, name=f"lane-{call.lane}", daemon=True).start()
        self.tasks.put(call)

    def give_up(self, call: _Call) -> bool:
        """Mark a call as past its time-out; False when it has just finished after all."""
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
            done = [each for each in (call, *call.following) if each.perform()]
            with self.lock:
                self.waiting += 1
            for each in done:
                each.replies.put(each)
            # An idle thread must not keep the last search's engine and results alive.
            call = each = done = None  # type: ignore[assignment]


class SideBySide:
    """Threads for every lane; shared by all searches of a process."""

    def __init__(self) -> None:
        self._threads: dict[str, _Threads] = {}
        self._process = os.getpid()
        self._lock = threading.Lock()

    def run(
        self, lanes: Mapping[str, Callable[[], Value]], timeouts: Mapping[str, float], *, in_turn: bool = False
    ) -> Outcome[Value]:
        """Call every lane and return what came back within its time-out; `in_turn` while they are quick."""
        begin = perf_counter()
        replies: SimpleQueue[_Call] = SimpleQueue()
        outcome: Outcome[Value] = Outcome({}, {}, {}, {})
        open_calls: dict[str, _Call] = {}
        for lane, work in lanes.items():
            home = self._of(lane)
            if home.admits():
                open_calls[lane] = _Call(lane, work, home, replies)
            else:
                outcome.failures[lane] = "does not answer (earlier searches still wait for it)"
        # A lane that hangs at present must not take a turn before others.
        turns = [call for call in open_calls.values() if in_turn and not call.home.overdue]
        for call in turns[:1]:
            call.following = tuple(turns[1:])
        for call in open_calls.values():
            if call not in turns[1:]:
                call.home.submit(call)
        spread_at = begin + TURNS if len(turns) > 1 else inf
        while open_calls:
            soonest = min(spread_at, *(begin + timeouts[lane] for lane in open_calls))
            try:
                self._take(replies.get(timeout=max(0.0, soonest - perf_counter())), open_calls, outcome)
            except Empty:
                if perf_counter() >= spread_at:
                    spread_at = inf
                    for call in turns[1:]:
                        if call.lane in open_calls and not call.begun:
                            call.home.submit(call)
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
            if call.finished:  # its thread goes on with the next lane before it says so
                self._take(call, open_calls, outcome)
            elif now >= begin + timeouts[lane]:
                if call.home.give_up(call):
                    del open_calls[lane]
                    outcome.failures[lane] = f"no answer within {timeouts[lane]:g} s"
                    outcome.milliseconds[lane] = (now - begin) * 1000
                else:
                    self._take(call, open_calls, outcome)


def _said(error: Exception) -> str:
    return error.message if isinstance(error, TreelineError) else f"{type(error).__name__}: {error}"
