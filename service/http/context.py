"""What the views share: settings, the searcher, the feedback store, and one way to search."""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from flask import Flask, current_app

from treeline.corpus.errors import TreelineError
from treeline.rerank.candidates import Candidate
from treeline.search.alike import clusters_of
from treeline.search.answer import Answer
from treeline.search.answer_cache import AnswerCache
from treeline.search.bounded import Bounded
from treeline.search.overview import Overview, overview
from treeline.search.query import Query
from treeline.search.readiness import Readiness
from treeline.search.searcher import Adjust
from treeline.search.settings import Settings
from treeline.search.votes import FeedbackStore, Votes
from treeline.service.feedback import lift
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


def context() -> Context:
    """The parts of the application that handles this request."""
    found = current_app.extensions["treeline"]
    assert isinstance(found, Context)
    return found


def search_or_cached(query: Query, tag: str = "") -> Answer:
    """The answer, searched for or kept from before."""
    here = context()
    generation = here.searcher.info.identity
    search = partial(here.searcher.search, query)
    answer = here.answers.get(tag or answer_tag(query), generation, search, explain=query.explain)
    observe.record_answer(answer)
    return answer


def with_votes(query: Query) -> Query:
    """The question with the feedback on it: its tag and its ranking both depend on it, and it is read once."""
    return query if query.votes is not None else replace(query, votes=tuple(votes_on(context().feedback, query)))


def answer_tag(query: Query) -> str:
    """What an answer depends on: the index's generation, the question, and the feedback on it."""
    here = context()
    info = here.searcher.info
    return entity_tag(info.identity, with_votes(query))


def votes_on(store: FeedbackStore, query: Query) -> Sequence[Votes]:
    if not query.feedback:
        return []
    if query.votes is not None:
        return query.votes
    try:
        return store.votes(query.text)
    except sqlite3.Error as error:  # a broken file must not take the search down with it
        log.warning("searching without feedback: %s", error)
        return []


def adjuster(store: FeedbackStore, settings: Settings) -> Adjust:
    """The searcher's last stage: feedback's lift, within the part of the list that every page of it has in common."""

    def adjust(query: Query, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
        earned = lift.lifts(votes_on(store, query), settings.feedback_places)
        if not earned:
            return candidates
        depth = settings.rerank_depth
        return [*lift.apply(candidates[:depth], earned), *candidates[depth:]]

    return adjust


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
