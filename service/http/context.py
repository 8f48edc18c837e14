"""What the views share: settings, the searcher (opened when there is one to open), and the feedback store."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from flask import Request, current_app, request

from treeline.corpus.errors import TreelineError
from treeline.search.answer_cache import AnswerCache
from treeline.search.bounded import Bounded
from treeline.search.overview import Overview, overview
from treeline.search.readiness import Readiness
from treeline.search.settings import Settings
from treeline.search.votes import FeedbackStore

if TYPE_CHECKING:
    from treeline.search.live import LiveSearcher

log = logging.getLogger(__name__)

RETRY_SECONDS = 1.0  # how often an index that could not be opened is tried again
FIGURES_SECONDS = 1.5  # that the front page waits for its figures: it has more to show than those


class Context:
    """One application's parts. Without an index it starts all the same, and opens it as soon as it is there."""

    def __init__(self, settings: Settings, feedback: FeedbackStore, opening: Callable[[], LiveSearcher]) -> None:
        self.settings = settings
        self.feedback = feedback
        self.answers = AnswerCache(settings.answer_cache)
        self._opening = opening
        self._searcher: LiveSearcher | None = None
        self._failure: TreelineError | None = None
        self._tried = 0.0
        self._lock = threading.Lock()
        self.ready = Readiness(lambda: self.searcher.engine, settings.lane_timeout)
        self.figures = Bounded(self._figures, FIGURES_SECONDS)

    @property
    def searcher(self) -> LiveSearcher:
        """The open searcher; raises what keeps it from opening."""
        if self._searcher is None:
            with self._lock:
                if self._searcher is None:
                    self._open()
        assert self._searcher is not None
        return self._searcher

    def close(self) -> None:
        """Give back what is open; a later question opens it again."""
        with self._lock:
            if self._searcher is not None:
                self._searcher.close()
                self._searcher = None

    def _figures(self) -> Overview:
        """What the index is made of, told only while its engine answers: they are counted once and kept."""
        self.searcher.engine.count()
        return overview(self.searcher)

    def _open(self) -> None:
        if self._failure is not None and time.monotonic() - self._tried < RETRY_SECONDS:
            raise self._failure
        try:
            self._searcher = self._opening()
        except TreelineError as error:
            self._failure, self._tried = error, time.monotonic()
            raise


def the_request() -> Request:
    """The request itself: what stands for it in Flask takes three calls at every look."""
    found: Request = request._get_current_object()  # type: ignore[attr-defined]
    return found


def context() -> Context:
    """The parts of the application that handles this request."""
    found = current_app.extensions["treeline"]
    assert isinstance(found, Context)
    return found
