"""Can the engine answer now? Asked in a thread of its own, so that a hanging engine cannot hang whoever asks."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as TookTooLong

from corpus.errors import EngineUnavailable, TreelineError
from engine.protocol import Engine, IndexInfo

KEPT = 0.5  # seconds that an answer is good for: many probes cost the engine one question


class Readiness:
    """Asks the open engine for a count; one question at a time, however many want to know."""

    def __init__(self, engine: Callable[[], Engine], seconds: float) -> None:
        self._engine, self._seconds = engine, seconds
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="readiness")
        self._asked: Future[IndexInfo] | None = None
        self._at = 0.0

    def __call__(self) -> IndexInfo:
        """The index that is ready; raises `EngineUnavailable`, or whatever keeps it from being open."""
        with self._lock:
            stale = self._asked is None or (self._asked.done() and time.monotonic() - self._at > KEPT)
            if stale:
                self._at = time.monotonic()
                self._asked = self._pool.submit(self._ask)
            asked = self._asked
        assert asked is not None
        try:
            # A question that is already overdue is not waited for a second time.
            return asked.result(max(0.0, self._at + self._seconds - time.monotonic()))
        except TookTooLong:
            raise EngineUnavailable(
                f"the engine has not answered for {time.monotonic() - self._at:.0f} s", "try again in a moment"
            ) from None

    def info(self) -> IndexInfo | None:
        """The same for those who only want to know whether."""
        try:
            return self()
        except TreelineError:
            return None

    def _ask(self) -> IndexInfo:
        engine = self._engine()
        engine.count()
        return engine.info
