"""One thread of a process computes its searches one after the other, each watched by whoever asked for it.

Python runs one thread at a time, and every change of threads costs: eight clients' searches took 13 ms of processor
time each when they ran into each other, half of that in a row. A search that does not come back is left behind, and so
is the thread while it hangs: then each lane gets threads and a time-out of its own (`treeline.search.side_by_side`).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from time import perf_counter
from typing import Generic, TypeVar

Value = TypeVar("Value")

# Seconds that a search may take, waiting for others included, before it is tried the careful way. The slowest take
# 50 ms on 182,431 functions.
PATIENCE = 0.25


@dataclass(slots=True, eq=False)
class _Job(Generic[Value]):
    work: Callable[[], Value]
    context: Context  # of whoever asks: the request's id is in the log lines of its search
    done: SimpleQueue[None] = field(default_factory=SimpleQueue)
    value: Value | None = None
    error: Exception | None = None
    abandoned: bool = False

    def perform(self) -> None:
        try:
            self.value = self.context.run(self.work)
        except Exception as error:  # noqa: BLE001 - raised again where it was asked for
            self.error = error
        self.done.put(None)


class Computing:
    """The thread; made when it is first needed, and anew in a forked process."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[_Job[object] | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._process = 0
        self._busy_since: float | None = None

    def run(self, work: Callable[[], Value], otherwise: Callable[[], Value]) -> Value:
        """What `work` returns or raises; what `otherwise` does, when it takes too long or another one still does."""
        since = self._busy_since
        if since is not None and perf_counter() - since > PATIENCE:
            return otherwise()
        job = _Job(work, copy_context())
        self._start()
        self._jobs.put(job)  # type: ignore[arg-type]  # a job of any value
        try:
            job.done.get(timeout=PATIENCE)
        except Empty:
            job.abandoned = True
            return otherwise()
        if job.error is not None:
            raise job.error
        return job.value  # type: ignore[return-value]  # there is one where there is no error

    def close(self) -> None:
        """Let the thread end after what it is doing."""
        with self._lock:
            if self._process == os.getpid():
                self._jobs.put(None)
            self._process = 0

    def _start(self) -> None:
        if self._process == os.getpid():
            return
        with self._lock:
            if self._process != os.getpid():
                self._process, self._jobs, self._busy_since = os.getpid(), SimpleQueue(), None
                threading.Thread(target=self._work, args=(self._jobs,), name="computing", daemon=True).start()

    def _work(self, jobs: SimpleQueue[_Job[object] | None]) -> None:
        while (job := jobs.get()) is not None:
            if not job.abandoned:  # nobody waits for it any more
                self._busy_since = perf_counter()
                job.perform()
                self._busy_since = None
            job = None  # an idle thread must not keep the last search's engine and results alive
