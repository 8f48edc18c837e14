"""The searcher: runs the stages of a question over one open generation of an index."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter

from corpus.errors import EngineUnavailable, InputError
from corpus.function import Function
from encoder.protocol import Encoder
from engine.protocol import Engine, Hit, IndexInfo
from rerank.candidate import Candidate, RerankContext
from rerank.fusion import DEFAULT_WEIGHTS, fusion
from rerank.ranked import RankedList
from service.answer import Answer, Degradation, Query, Result
from service.checking import checked
from service.dense_lane import dense_lane
from service.keyword_lane import FIELD_WEIGHTS, keyword_lane
from service.lanes import DENSE, GRAPH, KEYWORD, TFIDF, LaneResults
from service.routing import Route, route
from service.settings import Settings
from service.side_by_side import SideBySide

Adjust = Callable[[Query, list[Candidate]], list[Candidate]]


@dataclass(frozen=True, slots=True)
class Ranking:
    """A ranked list without bodies, and how it came about."""

    candidates: list[Candidate]
    lanes: LaneResults
    timings: dict[str, float]


class Searcher:
    """Answers questions; safe to use from several threads."""

    def __init__(
        self,
        engine: Engine,
        encoders: Mapping[str, Encoder],
        settings: Settings | None = None,
        *,
        adjust: Adjust | None = None,
        threads: SideBySide | None = None,
    ) -> None:
        """`encoders` by the names in the index; `adjust` may reorder the final list (feedback)."""
        self.engine = engine
        self.settings = settings or Settings()
        self._encoders = encoders
        self._adjust = adjust
        self._threads = threads or SideBySide()

    @property
    def info(self) -> IndexInfo:
        return self.engine.info

    def search(self, query: Query) -> Answer:
        """The whole way: lanes, fusion, re-ranking, and the bodies of the results asked for."""
        begin = perf_counter()
        query = checked(query, self.settings)
        ranking = self.rank(query)
        clock = perf_counter()
        page = ranking.candidates[query.offset : query.offset + query.k]
        bodies = {function.id: function for function in self.engine.fetch([candidate.id for candidate in page])}
        results = tuple(
            Result(rank, bodies[candidate.id], candidate)
            for rank, candidate in enumerate(page, query.offset + 1)
            if candidate.id in bodies
        )
        now = perf_counter()
        lanes = ranking.lanes
        return Answer(
            query=query,
            results=results,
            total=lanes.found,
            route=lanes.route.kind,
            relaxed=lanes.relaxed,
            degraded=lanes.degraded,
            timings={**ranking.timings, "fetch": (now - clock) * 1000, "total": (now - begin) * 1000},
            ranked=tuple(ranking.candidates),
        )

    def rank(self, query: Query) -> Ranking:
        """The re-ranked list without bodies, long enough for the page asked for and the re-ranker's depth."""
        query = checked(query, self.settings)
        limit = max(query.offset + query.k, self.settings.rerank_depth)
        clock = _Clock()
        lanes = self.lanes(query)
        timings = {**lanes.timings, "lanes": clock.lap()}
        candidates = self.fuse(lanes, query.fusion, limit)
        timings["fusion"] = clock.lap()
        candidates = self.rerank(query, candidates, query.rerank)
        timings["rerank"] = clock.lap()
        if self._adjust is not None and query.feedback:
            candidates = self._adjust(query, candidates)
            timings["feedback"] = clock.lap()
        return Ranking(candidates, lanes, timings)

    def lanes(self, query: Query, names: Sequence[str] | None = None) -> LaneResults:
        """Run the lanes side by side: those named, or those that the mode and the route ask for."""
        query = checked(query, self.settings)
        way = route(query.text)
        work = self._work(query, way, self._lane_names(query, way) if names is None else names)
        timeout = self.settings.lane_timeout
        outcome = self._threads.run(work, dict.fromkeys(work, timeout))
        if work and not outcome.values:
            self._raise_for(outcome.failures, outcome.errors)
        return LaneResults(
            route=way,
            lists=tuple(outcome.values[lane] for lane in work if lane in outcome.values),
            degraded=tuple(Degradation(lane, reason) for lane, reason in outcome.failures.items()),
            timings=outcome.milliseconds,
        )

    def fuse(self, lanes: LaneResults, method: str = "default", limit: int = 300) -> list[Candidate]:
        """The lanes' lists as one, with what each lane contributed."""
        return fusion(method)(lanes.lists, DEFAULT_WEIGHTS, lanes.route.kind, limit)

    def rerank(self, query: Query, candidates: list[Candidate], method: str = "default") -> list[Candidate]:
        """The same candidates in the re-ranker's order; it looks at the first `rerank_depth` of them."""
        if method == "none":
            return candidates
        try:
            from rerank.registry import RerankOptions, reranker
        except ImportError:
            return candidates
        method_ = reranker(method, RerankOptions(clusters=self.settings.clusters))
        context = RerankContext(query=query.text, vectors=self.engine.vectors, texts=self._texts)
        depth = self.settings.rerank_depth
        return [*method_(candidates[:depth], context), *candidates[depth:]]

    def similar(self, id_: str, k: int = 10) -> list[Hit]:
        """The functions nearest to this one by the default encoder's vectors, without itself."""
        if not self.info.encoders:
            return []
        vector = self.engine.vectors([id_])[0]
        if not vector.any():
            return []
        return [hit for hit in self.engine.knn(vector, k + 1) if hit.id != id_][:k]

    def function(self, id_: str) -> Function | None:
        """The whole record of an id."""
        found = self.engine.fetch([id_])
        return found[0] if found else None

    def suggest(self, prefix: str, k: int = 10) -> list[str]:
        """Function names that begin with this."""
        return self.engine.suggest(prefix, k) if prefix.strip() else []

    def close(self) -> None:
        """Close the engine; the threads end by themselves."""
        self._threads.close()
        self.engine.close()

    def _lane_names(self, query: Query, way: Route) -> Sequence[str]:
        if query.mode != "hybrid":
            return (query.mode,)
        return [lane for lane in way.lanes() if lane != DENSE or self.info.encoders]

    def _work(self, query: Query, way: Route, names: Sequence[str]) -> dict[str, Callable[[], RankedList]]:
        depth, filters = self.settings.lane_depth, query.filters
        work: dict[str, Callable[[], RankedList]] = {}
        for name in names:
            if name == KEYWORD:
                work[name] = partial(keyword_lane, self.engine, query.text, depth, filters, FIELD_WEIGHTS)
            elif name == DENSE:
                work |= self._dense(query, depth)
            elif name not in (TFIDF, GRAPH):
                raise InputError(f"unknown lane {name!r}", "choose from: keyword, dense, tfidf, graph")
        return work

    def _dense(self, query: Query, depth: int) -> dict[str, Callable[[], RankedList]]:
        if not self.info.encoders:
            raise InputError(f"the index {self.info.name!r} has no vectors", "use keyword mode, or index it again")
        work: dict[str, Callable[[], RankedList]] = {}
        for number, spec in enumerate(self.info.encoders):
            lane = f"{DENSE}:{spec.name}" if number else DENSE
            work[lane] = partial(
                dense_lane,
                self.engine,
                self._encoders[spec.name],
                query.text,
                depth,
                query.filters,
                index_name=spec.name,
                lane=lane,
            )
        return work

    def _texts(self, ids: Sequence[str]) -> list[str]:
        bodies = {function.id: function for function in self.engine.fetch(ids)}
        return [f"{bodies[id_].docstring}\n{bodies[id_].code}" if id_ in bodies else "" for id_ in ids]

    @staticmethod
    def _raise_for(failures: Mapping[str, str], errors: Mapping[str, Exception]) -> None:
        for error in errors.values():
            if isinstance(error, InputError):
                raise error
        reasons = "; ".join(f"{lane}: {reason}" for lane, reason in failures.items())
        raise EngineUnavailable(f"no lane answered ({reasons})", "check the engine with `treeline doctor`")


class _Clock:
    """Milliseconds since the last lap."""

    def __init__(self) -> None:
        self._since = perf_counter()

    def lap(self) -> float:
        now = perf_counter()
        since, self._since = self._since, now
        return (now - since) * 1000
