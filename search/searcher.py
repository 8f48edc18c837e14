"""The searcher: runs the stages of a question over one open generation of an index."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter

from treeline.corpus.errors import EngineUnavailable, InputError
from treeline.corpus.function import Function
from treeline.encoder.protocol import Encoder
from treeline.engine.protocol import Engine, Hit, IndexInfo
from treeline.rerank.candidates import Candidate, Candidates, with_tree_distances
from treeline.rerank.registry import DEFAULT_WEIGHTS, fusion
from treeline.search.answer import Answer, Result
from treeline.search.computing import Computing
from treeline.search.lanes.graph import callees_lane
from treeline.search.lanes.lane_set import LaneSet
from treeline.search.lanes.results import CALLEES, GRAPH, WRITTEN, Degradation, LaneResults
from treeline.search.lanes.stored_graph import StoredGraph
from treeline.search.lanes.tfidf import Progress, untold
from treeline.search.lanes.without import Without
from treeline.search.query import Query
from treeline.search.question.checking import checked
from treeline.search.question.routing import Route, route
from treeline.search.question.spelling import Spelt
from treeline.search.relatives import Relatives
from treeline.search.reranking import SLOW, Reranking
from treeline.search.settings import Settings
from treeline.search.side_by_side import Run, SideBySide, one_by_one
from treeline.search.wording import Wording

Adjust = Callable[[Query, Sequence[Candidate]], Sequence[Candidate]]
CALLEES_OF = 5  # top results whose callees are pulled in, when that is asked for


@dataclass(frozen=True, slots=True)
class Ranking:
    """A ranked list without bodies, and how it came about."""

    candidates: Sequence[Candidate]
    lanes: LaneResults
    timings: dict[str, float]


class Searcher(Relatives):
    """Answers questions, and says of single functions what is related or similar to them; safe to use from several
    threads."""

    def __init__(
        self,
        engine: Engine,
        encoders: Mapping[str, Encoder],
        settings: Settings | None = None,
        *,
        adjust: Adjust | None = None,
        threads: SideBySide | None = None,
        computing: Computing | None = None,
        cache: Path | None = None,
    ) -> None:
        """`encoders` by the names in the index; `adjust` may reorder the final list (feedback); `cache` is the folder
        where a lane keeps what takes long to make."""
        self.settings = settings or Settings()
        graph = StoredGraph(engine)
        super().__init__(engine, graph, self.settings.lane_depth)
        self.encoders = encoders
        self._lanes = LaneSet(engine, encoders, graph, cache=cache)
        self._wording = Wording(engine)
        self._rerank = Reranking(engine, self.settings)
        self._adjust = adjust
        self._threads = threads or SideBySide()
        self._computing = computing or Computing()

    @property
    def info(self) -> IndexInfo:
        return self.engine.info

    def search(self, query: Query) -> Answer:
        """The whole way: lanes, fusion, re-ranking, and the bodies of the results asked for."""
        begin = perf_counter()
        careful = partial(self._search, query, begin, self._threads.run)
        if self.info.engine != "embedded" or query.rerank in SLOW or query.without:
            return careful()  # a cluster computes, and is waited for; other searches must not wait for what takes long
        return self._computing.run(partial(self._search, query, begin, one_by_one), careful)

    def _search(self, query: Query, begin: float, run: Run) -> Answer:
        waited = perf_counter() - begin  # for other searches, or in vain for this one to come back
        query = self._wording.as_spelt(query)
        ranking = self.rank(query, run)
        clock = perf_counter()
        start, end = query.offset, query.offset + query.k
        ranked = ranking.candidates
        page = with_tree_distances(ranked, start, end) if query.explain else list(ranked[start:end])
        bodies = {function.id: function for function in self.engine.fetch([candidate.id for candidate in page])}
        results = tuple(
            Result(rank, bodies[candidate.id], candidate)
            for rank, candidate in enumerate(page, start + 1)
            if candidate.id in bodies
        )
        lanes = ranking.lanes
        found = lanes.found
        now = perf_counter()
        return Answer(
            query=query,
            spelt=lanes.spelt,
            results=results,
            total=len(found),
            route=lanes.route.kind,
            relaxed=lanes.relaxed,
            degraded=lanes.degraded,
            timings={
                "waited": waited * 1000,
                **ranking.timings,
                "fetch": (now - clock) * 1000,
                "total": (now - begin) * 1000,
            },
            ranked=ranked,
            found=found,
            exact=lanes.exact,
            unfound=lanes.unfound if found else "",
            hints=tuple(self._wording.hints(query, lanes)),
        )

    def rank(self, query: Query, run: Run | None = None) -> Ranking:
        """The re-ranked list without bodies, long enough for the page asked for and the re-ranker's depth."""
        query = checked(query, self.settings)
        limit = max(query.offset + query.k, self.settings.rerank_depth)
        clock = _Clock()
        lanes = self.lanes(query, run=run)
        looked_for = replace(query, text=lanes.spelt.text)
        timings = {**lanes.timings, "lanes": clock.lap()}
        candidates = self._fused(lanes, query.fusion, limit)
        timings["fusion"] = clock.lap()
        try:
            candidates = self.rerank(looked_for, candidates, query.rerank)
        except EngineUnavailable as error:  # a model or the engine is away: better the list as it is than none
            left_out = Degradation(f"rerank {query.rerank}", str(error))
            lanes = replace(lanes, degraded=(*lanes.degraded, left_out))
        timings["rerank"] = clock.lap()
        if self._adjust is not None and query.feedback:
            candidates = self._adjust(query, candidates)
            timings["feedback"] = clock.lap()
        if lanes.exact:
            candidates = _answer_first(candidates)
            timings["exact"] = clock.lap()
        return Ranking(candidates, lanes, timings)

    def lanes(self, query: Query, names: Sequence[str] | None = None, run: Run | None = None) -> LaneResults:
        """Run the lanes side by side: those named, or those that the mode and the route ask for."""
        run = run or self._threads.run
        query = self._wording.as_spelt(checked(query, self.settings))
        way = route(query.text)
        mended = self._wording.mended(query, way, run)
        if mended.words:
            query, way = replace(query, text=mended.text), route(mended.text)
        names = self._lanes.names(query, way) if names is None else names
        without = Without(self.engine, query.without)
        ask = partial(self._ask, names, query, way, mended, run)
        found = without.filled(ask, self.settings.lane_depth, query.offset + query.k)
        return without.left_of(self._with_callees(query, found)) if query.callees else found

    def fuse(self, lanes: LaneResults, method: str = "default", limit: int = 300) -> Sequence[Candidate]:
        """The lanes' lists as one, with what each lane contributed."""
        return fusion(method)(lanes.lists, DEFAULT_WEIGHTS, lanes.route.asked, limit)

    def rerank(self, query: Query, candidates: Sequence[Candidate], method: str = "default") -> Sequence[Candidate]:
        """The same candidates in the re-ranker's order; it looks at the first `rerank_depth` of them."""
        return self._rerank(query, candidates, method)

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

    def prepare(self, lane: str, progress: Progress = untold) -> None:
        """Load or build now what a lane would otherwise need at its first question (`tfidf`, `graph`)."""
        self._lanes.prepare(lane, progress)

    def close(self) -> None:
        """Close the engine; the threads end by themselves."""
        self._threads.close()
        self._computing.close()
        self.engine.close()

    def _ask(self, names: Sequence[str], query: Query, way: Route, mended: Spelt, run: Run, depth: int) -> LaneResults:
        """What these lanes bring, so many each."""
        work = self._lanes.make(names, query, way, depth)
        outcome = run(work, dict.fromkeys(work, self.settings.lane_timeout))
        if work and not outcome.values:
            _raise_for(outcome.failures, outcome.errors)
        return LaneResults(
            spelt=mended,
            route=way,
            lists=tuple(outcome.values[lane] for lane in work if lane in outcome.values),
            degraded=tuple(Degradation(lane, reason) for lane, reason in outcome.failures.items()),
            timings=outcome.milliseconds,
        )

    def _with_callees(self, query: Query, lanes: LaneResults) -> LaneResults:
        """A lane more: what the first fused results call, one edge away."""
        clock = _Clock()
        graph = self._graph()
        if graph is None:
            return lanes
        top = [candidate.id for candidate in self.fuse(lanes, query.fusion, CALLEES_OF)]
        found = callees_lane(self.engine, graph, top, self.settings.lane_depth, query.filters)
        return replace(lanes, lists=(*lanes.lists, found), timings={**lanes.timings, CALLEES: clock.lap()})

    def _fused(self, lanes: LaneResults, method: str, limit: int) -> Sequence[Candidate]:
        """The first `limit`; an exact answer leads them, and what is written follows it, whatever the method gives."""
        if not lanes.exact:
            return self.fuse(lanes, method, limit)
        return _answer_first(self.fuse(lanes, method, len(lanes.found)))[:limit]


def _answer_first(candidates: Sequence[Candidate]) -> Candidates:
    """What the call graph knows, then what is at least written in the code, then all else."""
    return Candidates.of(candidates).led_by(WRITTEN).led_by(GRAPH)


def _raise_for(failures: Mapping[str, str], errors: Mapping[str, Exception]) -> None:
    """When no lane answered: the person's mistake if it was one, the only lane's own words, else all reasons."""
    for error in errors.values():
        if isinstance(error, InputError) or (isinstance(error, EngineUnavailable) and len(failures) == 1):
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
