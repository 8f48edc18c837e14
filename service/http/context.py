"""What the views share: settings, the searcher, the feedback store, and one way to search."""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from flask import Flask, current_app

from treeline.corpus.errors import MAKE_ANEW, EngineUnavailable, TreelineError
from treeline.search.answer import Answer, AnswerCache
from treeline.search.executor import Probe
from treeline.search.feedback import FeedbackStore, Votes, reorder
from treeline.search.live import Readiness
from treeline.search.overview import Overview, clusters_of, overview
from treeline.search.query import Query, parse
from treeline.search.settings import Settings
from treeline.service.http import observe
from treeline.service.http.response import entity_tag
from treeline.service.present.highlight import preview

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
        self.figures = Probe(self._figures, FIGURES_SECONDS)

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
        except Exception as error:
            # Whatever damaged files come to when they are read: the service answers 503 and says so, and does not end.
            log.exception("the index %r cannot be opened", self.settings.index)
            message = f"the index {self.settings.index!r} cannot be opened: {error!r}"
            self._failure, self._tried = EngineUnavailable(message, MAKE_ANEW), time.monotonic()
            raise self._failure from error


def context() -> Context:
    """The parts of the application that handles this request."""
    found = current_app.extensions["treeline"]
    assert isinstance(found, Context)
    return found


def search_or_cached(query: Query, votes: tuple[Votes, ...] | None = None, tag: str = "") -> Answer:
    """The answer, searched for or kept from before; `votes` and `tag` are passed where they are known already."""
    here = context()
    settings = here.settings
    votes = votes_on(query) if votes is None else votes
    stage = partial(reorder, votes=votes, most=settings.feedback_places, depth=settings.rerank_depth)
    search = partial(here.searcher.search, query, stage if votes else None)
    generation = here.searcher.info.identity
    answer = here.answers.get(tag or answer_tag(query, votes), generation, search, explain=query.explain)
    observe.record_answer(answer)
    return answer


def answer_tag(query: Query, votes: tuple[Votes, ...]) -> str:
    """What an answer depends on: the index's generation, the query, and the votes on it."""
    return entity_tag(context().searcher.info.identity, query, votes)


def votes_on(query: Query) -> tuple[Votes, ...]:
    """The votes on a query, read once for its tag and its ranking."""
    if not query.feedback:
        return ()
    try:
        return tuple(context().feedback.votes(parse(query.text).words))
    except sqlite3.Error as error:  # a broken file must not take the search down with it
        log.warning("searching without feedback: %s", error)
        return ()


QUESTIONS = ("read a file", "sort a list")  # the first of a process goes without the codes (engine.product_codes)


def warm_up(app: Flask) -> None:
    """Neither metrics nor kept answers know of it."""
    for name in app.jinja_env.list_templates():
        app.jinja_env.get_template(name)
    try:
        searcher = app.extensions["treeline"].searcher
        clusters_of(searcher)
        for question in QUESTIONS:
            for result in searcher.search(Query(question, explain=True)).results:
                preview(result.function.language, result.function.original_string, frozenset())
    except TreelineError as error:
        log.info("not warmed up: %s", error)


def warm_up_in_background(app: Flask) -> None:
    """Whoever asks meanwhile is answered, and an engine that is away holds nobody up."""
    threading.Thread(target=warm_up, args=(app,), name="warming", daemon=True).start()
