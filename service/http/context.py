"""The parts that views share: settings, searcher, feedback store, and a cached search."""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from flask import Flask, current_app, g, has_request_context, request

from treeline.corpus.errors import REBUILD, EngineUnavailable, IndexMissing, IndexOutdated, InputError, TreelineError
from treeline.graph.layout import draw
from treeline.ingest.project import find_project
from treeline.search.answer import Answer, AnswerCache
from treeline.search.executor import Probe
from treeline.search.feedback import FeedbackStore, Votes, reorder
from treeline.search.live import Readiness
from treeline.search.overview import Overview, clusters_of, overview
from treeline.search.query import Query, parse
from treeline.search.settings import Settings
from treeline.search.tree import result_graph
from treeline.service.http import guard, observe
from treeline.service.http.response import entity_tag
from treeline.service.indexes import Indexes
from treeline.service.present.highlight import preview
from treeline.service.projects import project_names
from treeline.service.quick import QuickSearcher, look

if TYPE_CHECKING:
    from treeline.graph.corpus_clusters import CorpusClusters
    from treeline.search.live import LiveSearcher

log = logging.getLogger(__name__)

RETRY_SECONDS = 1.0  # between attempts to open a missing index
MOST_LOOKS = 4  # quick looks whose files and functions can be opened
FIGURES_SECONDS = 1.5  # that the front page waits for its figures


class Context:
    """The parts of one application. It starts without an index and opens one as soon as it exists."""

    def __init__(self, settings: Settings, feedback: FeedbackStore, opening: Callable[[], LiveSearcher]) -> None:
        self.settings = settings
        self.feedback = feedback
        self.answers = AnswerCache(settings.answer_cache)
        self.indexes = Indexes(settings, self._default_or_look)
        self._opening = opening
        self._searcher: LiveSearcher | None = None
        self._failure: TreelineError | None = None
        self._tried = 0.0
        self._titles: dict[str, str] = {}
        self._lock = threading.Lock()
        self._looking = threading.Lock()
        self._looks: list[tuple[Query, QuickSearcher]] = []  # while the project that is served has no index
        self.ready = Readiness(lambda: self.default_searcher.engine, settings.lane_timeout)
        self.figures = Probe(self._figures, FIGURES_SECONDS)

    @property
    def searcher(self) -> LiveSearcher:
        """The searcher of the index that the request is about; the default one outside of requests."""
        return self.indexes.open(self.index_names[0])

    def searcher_of(self, answer: Answer) -> LiveSearcher:
        """The searcher of an index that gave this answer: of several, one that can be opened."""
        for name in (*dict.fromkeys(answer.indexes.values()), *self.index_names):
            try:
                return self.indexes.open(name)
            except TreelineError:
                continue
        return self.searcher

    def clusters(self) -> CorpusClusters | None:
        """The clusters of the index that the request is about; none where it is about several, as each has its own."""
        return clusters_of(self.searcher) if len(self.index_names) == 1 else None

    @property
    def index_names(self) -> list[str]:
        """The indexes that the request names (`index=`); else the one with its function or file; else the default."""
        if not has_request_context():
            return [self.settings.index]
        if "indexes" not in g:
            index = request.args.get("index", "")
            view = request.view_args or {}
            about = (view.get("function_id", ""), view.get("where", ""))
            g.indexes = self.indexes.choose(index)
            if any(about) and len(self.indexes.names) > 1 and (not index or len(g.indexes) > 1):
                g.indexes = [self.indexes.holding(*about)]
        names: list[str] = g.indexes
        return names

    @property
    def index_titles(self) -> dict[str, str]:
        """The name that people know each index by: a project's own, with the folder above it where two have it."""
        names = self.indexes.names
        if list(self._titles) != names:
            projects = project_names(self.settings)
            titles = {name: projects[name].name if name in projects else name for name in names}
            uses = Counter(titles.values())
            self._titles = {
                name: title if uses[title] == 1 or name == title else f"{title} ({projects[name].root.parent.name})"
                for name, title in titles.items()
            }
        return self._titles

    @property
    def default_searcher(self) -> LiveSearcher:
        """The open searcher of the default index; raises what keeps it from opening."""
        if self._searcher is None:
            with self._lock:
                if self._searcher is None:
                    self._open()
        assert self._searcher is not None
        return self._searcher

    @property
    def is_reading(self) -> bool:
        """Whether the index of the project that is served is still being made."""
        try:
            self.default_searcher  # noqa: B018 - whether it can be opened
        except (IndexMissing, IndexOutdated):
            with suppress(InputError):  # no project
                return find_project(Path.cwd(), self.settings.home_path).index == self.settings.index
        except TreelineError:
            pass
        return False

    def look(self, query: Query) -> None:
        """Take a quick look for a question about a project whose index is being made; for callers on this machine."""
        if self._searcher or self.index_names != [self.settings.index] or not (guard.is_local() and self.is_reading):
            return
        with self._looking:  # of some seconds
            if not any((one.text, one.filters) == (query.text, query.filters) for one, _ in self._looks[-1:]):
                if searcher := look(self.settings, Path.cwd(), query):
                    self._looks.append((query, searcher))
                for _, old in self._looks[:-MOST_LOOKS]:
                    old.close()
                del self._looks[:-MOST_LOOKS]

    def _default_or_look(self) -> LiveSearcher:
        try:
            return self.default_searcher
        except (IndexMissing, IndexOutdated):
            if not (self._looks and has_request_context() and guard.is_local()):
                raise
            return self._looks[-1][1]

    def close(self) -> None:
        """Close everything; the next query opens it again."""
        self.indexes.close()
        for _, old in self._looks:
            old.close()
        self._looks.clear()
        with self._lock:
            if self._searcher is not None:
                self._searcher.close()
                self._searcher = None

    def _figures(self) -> Overview:
        """The figures of the index while its engine answers; counted once."""
        self.default_searcher.engine.count()
        return overview(self.default_searcher)

    def _open(self) -> None:
        if self._failure is not None and time.monotonic() - self._tried < RETRY_SECONDS:
            raise self._failure
        try:
            self._searcher = self._opening()
        except TreelineError as error:
            self._failure, self._tried = error, time.monotonic()
            raise
        except Exception as error:
            # Damaged files can raise anything: the service answers 503 with the reason and stays up.
            log.exception("the index %r cannot be opened", self.settings.index)
            message = f"the index {self.settings.index!r} cannot be opened: {error!r}"
            self._failure, self._tried = EngineUnavailable(message, REBUILD), time.monotonic()
            raise self._failure from error


def context() -> Context:
    """The context of the current application."""
    current = current_app.extensions["treeline"]
    assert isinstance(current, Context)
    return current


def search_or_cached(query: Query, votes: tuple[Votes, ...] | None = None, tag: str = "") -> Answer:
    """The answer, cached or searched now; pass `votes` and `tag` if they are known."""
    here = context()
    settings = here.settings
    votes = votes_on(query) if votes is None else votes
    tag = tag or answer_tag(query, votes)
    stage = partial(reorder, votes=votes, most=settings.feedback_places, depth=settings.rerank_depth)
    search = partial(here.indexes.search, here.index_names, query, stage if votes else None)
    generation = here.indexes.opened_identity(here.index_names)
    answer = here.answers.get(tag, generation, search, explain=query.explain)
    observe.record_answer(answer)
    return answer


def answer_tag(query: Query, votes: tuple[Votes, ...]) -> str:
    """A tag of all that an answer depends on: the indexes and their generations, the query, and the votes on it."""
    here = context()
    here.look(query)
    return entity_tag(*here.index_names, here.indexes.identity(here.index_names), query, votes)


def votes_on(query: Query) -> tuple[Votes, ...]:
    """The votes on a query; none if they cannot be read."""
    if not query.feedback:
        return ()
    try:
        return tuple(context().feedback.votes(parse(query.text).words))
    except sqlite3.Error as error:  # a damaged file must not stop the search
        log.warning("searching without feedback: %s", error)
        return ()


MAP_RESULTS = 20  # results of the map that is drawn to warm up
QUESTIONS = ("read a file", "sort a list")  # the first of a process goes without the codes (engine.product_codes)


def warm_up(app: Flask) -> None:
    """Run a few searches outside of metrics and cache."""
    for name in app.jinja_env.list_templates():
        app.jinja_env.get_template(name)
    try:
        here = app.extensions["treeline"]
        searcher = here.default_searcher
        clusters_of(searcher)
        for question in QUESTIONS:
            answer = searcher.search(Query(question, quality=here.settings.quality, explain=True))
            for result in answer.results:
                preview(result.function.language, result.function.original_string, frozenset())
        if best := list(answer.candidates[:MAP_RESULTS]):  # the first map took 240 ms of processor time, the others 22
            draw(result_graph(best), [candidate.address for candidate in best])
    except TreelineError as error:
        log.info("not warmed up: %s", error)


def warm_up_in_background(app: Flask) -> None:
    """Warm up in a thread; queries are answered meanwhile."""
    threading.Thread(target=warm_up, args=(app,), name="warming", daemon=True).start()
