"""The searcher: plans a query, runs its lanes, fuses, re-ranks and fetches, over one open generation of an index."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from treeline.corpus.errors import EngineUnavailable, InputError, ReaderFailure
from treeline.corpus.frozen import frozen
from treeline.corpus.function import Function
from treeline.encoder.protocol import Encoder
from treeline.engine.hits import Hit
from treeline.engine.protocol import NO_FILTERS, Engine, Filters, IndexInfo
from treeline.graph.callgraph import CallGraph
from treeline.graph.history import History, StoredHistory, history_file
from treeline.graph.references import dotted, last_of
from treeline.rerank.candidates import Candidate, Candidates, RerankContext, Reranker, with_tree_distances
from treeline.rerank.fusion import fusion
from treeline.rerank.methods import RerankOptions
from treeline.rerank.registry import DEFAULT_WEIGHTS, reranker
from treeline.search.answer import Answer, Member, Result, inside, signature_of
from treeline.search.commits import (
    CANDIDATES,
    NO_COMMITS,
    SHALLOW,
    CommitAnswer,
    ask_history,
    commit_result,
    with_units,
)
from treeline.search.executor import Executor, Run
from treeline.search.lanes.graph import StoredGraph
from treeline.search.lanes.issue import put_changes_first
from treeline.search.lanes.lane_set import WEAK_MATCH, Absence, Degradation, LaneResults, LaneSet, exclude
from treeline.search.lanes.words import require
from treeline.search.location import Locations
from treeline.search.plan import (
    DEFINITIONS,
    EXACT,
    GRAPH,
    HISTORY,
    PATH,
    PLACES,
    TEXT_CALLS,
    Plan,
    Planner,
)
from treeline.search.query import Query, is_foreign
from treeline.search.relatives import Relatives
from treeline.search.settings import BEST, FAST, Settings
from treeline.search.structural_answer import Exact

if TYPE_CHECKING:
    from treeline.engine.texts import FileTexts

Reorder = Callable[[Sequence[Candidate]], Sequence[Candidate]]  # the last stage: feedback

IN_ENGLISH = "questions are understood in English: words of another language match only where the code has them"
# Lanes that find nothing for most queries, so one of them alone is no answer.
SPECIAL = frozenset({EXACT, PATH, HISTORY, DEFINITIONS, PLACES})
SLOW = frozenset({"cross-encoder"})  # re-rankers that take seconds: other searches must not wait for them


@frozen
class Ranking:
    """A ranked list without bodies, with the lanes' results and the timings."""

    candidates: Sequence[Candidate]
    results: LaneResults
    timings: dict[str, float]


class Searcher:
    """Answers queries, and finds what is similar to a function; safe to use from several threads."""

    def __init__(
        self,
        engine: Engine,
        encoders: Mapping[str, Encoder],
        settings: Settings | None = None,
        *,
        executor: Executor | None = None,
        cache: Path | None = None,
    ) -> None:
        """`encoders` by their names in the index; `cache` is a folder for what is slow to build."""
        self.engine, self.encoders, self.settings = engine, encoders, settings or Settings()
        self._graph = StoredGraph(engine, cache)
        self.relatives = Relatives(engine, self._graph, self.settings.lane_depth)
        self._history = StoredHistory(history_file(self.settings.home_path, engine.info.name))
        self._planner = Planner(engine, self.settings)
        self._lanes = LaneSet(engine, encoders, self._graph, lambda: self.locations, self._history)
        self._rerankers: dict[tuple[str, int, float], Reranker] = {}
        self._executor = executor or Executor()

    @property
    def info(self) -> IndexInfo:
        return self.engine.info

    @cached_property
    def locations(self) -> Locations | None:
        """The locations of all units; None if the index has no tree."""
        return Locations.of(self.engine)

    @cached_property
    def texts(self) -> FileTexts:
        """The texts of the index's files; empty if texts were not kept."""
        from treeline.engine.texts import FileTexts

        return FileTexts(self.engine)

    @property
    def graph(self) -> CallGraph | None:
        """The call graph, loaded or built on first use."""
        return self._graph()

    @property
    def history(self) -> History | None:
        """The history of the index's repositories as it is now; None if there is none."""
        return self._history()

    def search(self, query: Query, reorder: Reorder | None = None) -> Answer:
        """One page of results; `reorder` may move results of the ranked list."""
        clock = _Clock()
        plan = self.plan(query)
        clock.lap("plan")
        if plan.asks_for_commits:
            return self._commit_answer(plan, clock)
        with self._executor.turn(computes_here=self._computes_here(plan)) as run:
            clock.lap("waited")
            ranking = self._rank(plan, run, clock, reorder)
            page = self._page(plan, ranking.candidates)
            clock.lap("fetch")
        return self._answer(ranking, page, clock)

    def commits(self, question: str, path: str, k: int, filters: Filters = NO_FILTERS, offset: int = 0) -> CommitAnswer:
        """Commits by what they are about, or the last that touched a file, with the definitions that they touched."""
        if (history := self.history) is None:
            return CommitAnswer(())
        most = max(CANDIDATES, offset + k)
        answer = ask_history(history, question, path, most, self.settings.encoder, filters)
        answer = replace(answer, rows=answer.rows[offset : offset + k], total=len(answer.rows))
        return with_units(answer, history, self.engine, self.locations) if self.locations else answer

    def _commit_answer(self, plan: Plan, clock: _Clock) -> Answer:
        """Commits as results of their own: the message is the docstring, and what it touched is inside."""
        query = plan.query
        found = self.commits(plan.words, "", query.k, replace(plan.filters, kind=""), query.offset)
        bodies = {one.id: one for one in self.engine.fetch([hit.id for row in found.rows for hit in row.units])}
        results = tuple(commit_result(rank, row, bodies) for rank, row in enumerate(found.rows, query.offset + 1))
        clock.lap("commits")
        return Answer(
            plan=plan,
            results=results,
            total=found.total,
            relaxed=(),
            degraded=(),
            timings=clock.timings | {"total": clock.total},
            hints=() if self.history else (NO_COMMITS,),
        )

    def rank(self, query: Query, lanes: Sequence[str] | None = None) -> Ranking:
        """The re-ranked list without bodies, long enough for the page and the re-ranker's depth; with `lanes`, of these
        instead of those of its mode and route."""
        return self._rank(self.plan(query, lanes), self._executor.run, _Clock())

    def _rank(self, plan: Plan, run: Run, clock: _Clock, reorder: Reorder | None = None) -> Ranking:
        results = self._without_pieces(self.lanes(plan, run))
        clock.timings.update(results.timings)
        clock.lap("lanes")
        candidates = self.fuse(results, plan.query.fusion, plan.limit)
        clock.lap("fusion")
        results, candidates = self._rerank_or_note(results, candidates)
        clock.lap("rerank")
        if reorder is not None and plan.query.feedback:
            candidates = reorder(candidates)
            clock.lap("feedback")
        return Ranking(candidates, results, clock.timings)

    def _without_pieces(self, results: LaneResults) -> LaneResults:
        """The results, with the name that nothing has; none where no text has it either, nor a name one slip away."""
        route, filters = results.plan.route, results.plan.filters
        if results.exact and not results.exact.known and not results.exact.is_constant:
            return self._of_unknown(results, results.exact)
        if not route.alone or route.location:
            return results
        name = route.symbols[0]
        if self.engine.named(last_of(name), 1, filters):
            return results
        near = tuple(one for one in self.relatives.near(name) if self.engine.named(one, 1, filters))
        where = f"that passes ({results.plan.narrowing_text})" if filters else "here"
        spelling = results.plan.text if dotted(results.plan.text) == name else name
        in_text = bool(self.engine.phrase(spelling, 1, filters))
        absence = Absence(spelling, near, in_text, where)
        return replace(results, absence=absence, lists=results.lists if in_text or results.has_near_name else ())

    def _of_unknown(self, results: LaneResults, exact: Exact) -> LaneResults:
        """The results of a structural question about a name that nothing has: what has it in its code, else all if
        anything has it in its text."""
        in_text = not exact.unresolved_calls and self.engine.phrase(exact.symbol, 1, results.plan.filters)
        return results if in_text else results.only(GRAPH, TEXT_CALLS)

    def _computes_here(self, plan: Plan) -> bool:
        """Whether the search computes in this process and is quick. A cluster computes elsewhere, and others must not
        wait for a large model or for the texts of all results."""
        is_slow = plan.query.rerank in SLOW or plan.query.quality == BEST or plan.excluded
        return self.info.engine == "embedded" and not is_slow

    def _page(self, plan: Plan, candidates: Sequence[Candidate]) -> tuple[Result, ...]:
        """The results that the query asks for, with their bodies and what matches inside them."""
        start, end = plan.query.offset, plan.query.offset + plan.query.k
        page = with_tree_distances(candidates, start, end) if plan.query.explain else list(candidates[start:end])
        members = inside(page, candidates)
        ids = dict.fromkeys(one.id for one in chain(page, *members.values()))
        bodies = {function.id: function for function in self.engine.fetch(list(ids))}
        return tuple(
            Result(
                rank,
                bodies[candidate.id],
                candidate,
                tuple(
                    Member(one.id, one.address, signature_of(bodies[one.id]), one.score)
                    for one in members.get(candidate.id, ())
                    if one.id in bodies
                ),
            )
            for rank, candidate in enumerate(page, start + 1)
            if candidate.id in bodies
        )

    def _answer(self, ranking: Ranking, page: tuple[Result, ...], clock: _Clock) -> Answer:
        results = ranking.results
        return Answer(
            plan=results.plan,
            results=page,
            total=len(results.hits),
            relaxed=results.relaxed,
            degraded=results.degraded,
            timings=clock.timings | {"total": clock.total},
            candidates=ranking.candidates,
            hits=results.hits,
            exact=results.exact,
            no_match=results.no_match if results.hits and not results.absence else "",
            absence=results.absence,
            cut_short=results.cut_short,
            is_weak=results.is_weak,
            hints=self._hints(results),
        )

    def _hints(self, results: LaneResults) -> tuple[str, ...]:
        """Sentences that say why nothing was found, or what the index does not have."""
        hints = self._planner.hints(results.plan, has_results=bool(results.hits), has_exclusions=results.has_exclusions)
        missing = results.no_match if results.plan.has_requirements and not results.hits else ""
        issue = results.plan.issue
        reading = f"read as an issue: {issue.summary}{self._history_note()}" if issue else ""
        absence = results.absence.sentence if results.absence else ""
        weak = WEAK_MATCH if results.is_weak and not results.no_match else ""
        english = IN_ENGLISH if (weak or results.no_match) and is_foreign(results.plan.query.text) else ""
        return tuple(filter(None, (absence, weak, english, reading, missing, results.cut_short, *hints)))

    def _history_note(self) -> str:
        """Says if the ranking of an issue has no history or a part of it."""
        history = self._history()
        if history is None:
            return "; without a history of commits"
        return f"; {SHALLOW}" if history.is_shallow else ""

    def _rerank_or_note(
        self, results: LaneResults, candidates: Sequence[Candidate]
    ) -> tuple[LaneResults, Sequence[Candidate]]:
        """The candidates in the re-ranker's order; a stage that fails is left out, and the results name it."""
        query = results.plan.query
        try:
            return results, self.rerank(results, candidates, query.rerank)
        except ReaderFailure as error:
            fast = replace(results.plan, query=replace(query, quality=FAST))
            results = replace(results, plan=fast)
            return self._rerank_or_note(results.with_degradation(f"quality {query.quality}", error), candidates)
        except EngineUnavailable as error:  # a model or the engine is unavailable: keep the fused order
            return results.with_degradation(f"rerank {query.rerank}", error), candidates

    def plan(self, query: Query, lanes: Sequence[str] | None = None) -> Plan:
        """The plan of a query; with `lanes`, for these lanes instead of those of its mode and route."""
        return self._planner.plan(query, self._executor.run, lanes)

    def lanes(self, plan: Plan, run: Run | None = None) -> LaneResults:
        """Run the plan's lanes, and drop results that contain an excluded word."""
        work = self._lanes.make(plan)
        outcome = (run or self._executor.run)(work, dict.fromkeys(work, self.settings.lane_timeout))
        if work and not any(lane not in SPECIAL or len(ranking.hits) for lane, ranking in outcome.values.items()):
            _raise_for(outcome.failures, outcome.errors)
        results = LaneResults(
            plan=plan,
            lists=require([outcome.values[lane] for lane in work if lane in outcome.values]),
            degraded=(
                *(Degradation(lane, reason) for lane, reason in outcome.failures.items()),
                *(Degradation("index", damage) for damage in self.engine.damaged),
            ),
            timings=outcome.milliseconds,
        )
        return exclude(self.engine, results)

    def fuse(self, results: LaneResults, method: str = "default", limit: int = 300) -> Sequence[Candidate]:
        """Fuse the lanes' lists into one of `limit` candidates and the first few of each lane, with what each lane
        contributed."""
        lanes = results.leading
        every = len(results.hits) if lanes else limit
        candidates = Candidates.of(fusion(method)(results.lists, DEFAULT_WEIGHTS, results.plan.route.traits, every))
        return candidates.put_first(lanes, by_rank=PATH in lanes).split(limit)[0] if lanes else candidates

    def rerank(
        self, results: LaneResults, candidates: Sequence[Candidate], method: str = "default"
    ) -> Sequence[Candidate]:
        """The candidates in the re-ranker's order. Only the first `rerank_depth` and the first few of each lane are
        reordered. With `quality=best`, the first results are read, and all are ranked again. A slow re-ranker runs
        only then, once; the default one chooses what is read."""
        plan = results.plan
        context = RerankContext(
            query=plan.route.symbols[0] if plan.route.alone else plan.text,
            texts=self._texts,
            explain=plan.query.explain,
            kind=plan.route.kind,
            symbols=plan.route.symbols,
            changes=results.changes,
            files=results.files,
        )

        def run_method(candidates: Sequence[Candidate], method: str, context: RerankContext) -> Sequence[Candidate]:
            run = self._reranker(method, plan.query.k, plan.query.diversity)
            if len(candidates) <= self.settings.rerank_depth or method == "none":
                return run(candidates, context)
            head, rest = Candidates.of(candidates).split(self.settings.rerank_depth)
            return Candidates.of(run(head, context)) + rest

        if plan.query.quality == BEST and plan.route.kind != "structural":
            from treeline.search.reading import read, reader_in

            quick = "default" if method in SLOW else method
            first = Candidates.of(run_method(candidates, quick, replace(context, explain=False)))
            reader = reader_in(self.settings.reader)
            candidates = read(candidates, first.ids, context.query, self.engine.fetch, reader)
        ranking = run_method(candidates, method, context)
        history = self.history if plan.issue and HISTORY in plan.lanes and method == "default" else None
        return put_changes_first(ranking, history) if history else ranking

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
        functions = self.engine.fetch([id_])
        return functions[0] if functions else None

    def suggest(self, prefix: str, k: int = 10) -> list[str]:
        """Names that begin with this; after `Response.` or `json.`, of what that class or module has."""
        owner, dot, name = prefix.rpartition(".")
        if owner and self.locations is not None and (names := self.locations.members(owner.rpartition(".")[2], name)):
            return [f"{owner}{dot}{one}" for one in names[:k]]
        return self.engine.suggest(prefix, k) if prefix.strip() else []

    def close(self) -> None:
        """Close the engine; the threads end by themselves."""
        self._executor.close()
        self._history.close()
        self.engine.close()

    def _reranker(self, method: str, length: int, diversity: float) -> Reranker:
        """The re-ranker for lists of this length, made on first use."""
        method_made = self._rerankers.get((method, length, diversity))
        if method_made is None:
            options = RerankOptions(
                clusters=self.settings.clusters,
                length=length,
                diversity=diversity,
                cross_encoder=self.settings.cross_encoder,
                cross_encoder_depth=self.settings.cross_encoder_depth,
            )
            method_made = self._rerankers[method, length, diversity] = reranker(method, options)
        return method_made

    def _texts(self, ids: Sequence[str]) -> list[str]:
        bodies = {function.id: function for function in self.engine.fetch(ids)}
        return [f"{bodies[id_].docstring}\n{bodies[id_].code}" if id_ in bodies else "" for id_ in ids]


def _raise_for(failures: Mapping[str, str], errors: Mapping[str, Exception]) -> None:
    """Raise if no lane answered: the user's error if there is one, the only lane's error, else all reasons."""
    if not failures:
        return
    for error in errors.values():
        if isinstance(error, InputError) or (isinstance(error, EngineUnavailable) and len(failures) == 1):
            raise error
    reasons = "; ".join(f"{lane}: {reason}" for lane, reason in failures.items())
    raise EngineUnavailable(f"no lane answered ({reasons})", "check the engine with `treeline doctor`")


class _Clock:
    """Measures the milliseconds of each stage and in total."""

    def __init__(self) -> None:
        self._begin = self._since = perf_counter()
        self.timings: dict[str, float] = {}

    def lap(self, stage: str) -> None:
        now = perf_counter()
        self.timings[stage] = (now - self._since) * 1000
        self._since = now

    @property
    def total(self) -> float:
        return (self._since - self._begin) * 1000
