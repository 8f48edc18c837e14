"""A question that may hang, asked in a thread of its own, so that whoever wants the answer waits only so long."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as TookTooLong
from typing import Generic, TypeVar

from treeline.corpus.errors import EngineUnavailable

Answer = TypeVar("Answer")


class Bounded(Generic[Answer]):
    """Asks the engine something; one question at a time, however many want to know, and its answer is kept a while."""

    def __init__(self, ask: Callable[[], Answer], seconds: float, kept: float = 0.0) -> None:
        self._ask, self._seconds, self._kept = ask, seconds, kept
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="bounded")
        self._asked: Future[Answer] | None = None
        self._at = 0.0

    def __call__(self) -> Answer:
        """The answer; raises what asking raises, and `EngineUnavailable` when there is none in time."""
        with self._lock:
            if self._asked is None or (self._asked.done() and time.monotonic() - self._at > self._kept):
                self._at = time.monotonic()
                self._asked = self._pool.submit(self._ask)
            asked, at = self._asked, self._at
        try:
            # A question that is already overdue is not waited for a second time.
            return asked.result(max(0.0, at + self._seconds - time.monotonic()))
        except TookTooLong:
            raise EngineUnavailable(
                f"the engine has not answered for {time.monotonic() - at:.0f} s", "try again in a moment"
            ) from None
