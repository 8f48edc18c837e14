"""Searches in the background while an index is loaded, a node dies or a cluster restarts, and how each one went."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
from types import TracebackType
from typing import Any, Self

from treeline.eval.metrics import percentile
from treeline.search.live import LiveSearcher
from treeline.search.query import Query

MODES = ("keyword", "dense", "hybrid")
PAUSE = 0.2  # seconds between two searches: what is measured beside them keeps most of the machine


@dataclass(frozen=True, slots=True)
class Asked:
    """One search: its mode, when it began, how long it took and what was wrong with its answer."""

    mode: str
    began: float
    milliseconds: float
    failure: str
    """Why there was no answer; empty if there was one."""
    results: int
    degraded: bool

    @property
    def ended(self) -> float:
        return self.began + self.milliseconds / 1000


class Watch:
    """Asks questions in a thread until the `with` ends, in each mode in turn.

    The searcher is the caller's to close.
    """

    def __init__(self, searcher: LiveSearcher, questions: Sequence[str], pause: float = PAUSE) -> None:
        self._searcher, self._questions, self._pause = searcher, questions, pause
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._ask, name="watch", daemon=True)
        self.asked: list[Asked] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    def figures(self, since: int = 0) -> dict[str, Any]:
        """Counts and percentiles of the searches from number `since` on."""
        some = self.asked[since:]
        failures = [one for one in some if one.failure]
        return {
            "asked": len(some),
            "failed": len(failures),
            "failing_seconds": failures[-1].ended - failures[0].began if failures else 0.0,
            "degraded": sum(one.degraded for one in some),
            "empty": sum(not one.results and not one.failure for one in some),
            "longest_ms": max((one.milliseconds for one in some), default=0.0),
            "times": {mode: _percentiles(some, mode) for mode in MODES},
            "failures": sorted({one.failure for one in failures}),
        }

    def _ask(self) -> None:
        for question in cycle(self._questions):
            for mode in MODES:
                if self._stop.wait(self._pause):
                    return
                self.asked.append(self._one(question, mode))

    def _one(self, question: str, mode: str) -> Asked:
        began = time.monotonic()
        failure, results, is_degraded = "", 0, False
        try:
            answer = self._searcher.search(Query(question, mode=mode))
            results, is_degraded = len(answer.results), bool(answer.degraded)
            if is_degraded and not results:
                failure = f"nothing found: {answer.degraded[0]}"
        except Exception as error:  # noqa: BLE001 - whatever it is, the search failed
            failure = f"{type(error).__name__}: {error}"
        return Asked(mode, began, (time.monotonic() - began) * 1000, failure, results, is_degraded)


def _percentiles(some: Sequence[Asked], mode: str) -> dict[str, float]:
    took = [one.milliseconds for one in some if one.mode == mode and not one.failure]
    return {"p50": percentile(took, 0.5), "p95": percentile(took, 0.95)} if took else {}
