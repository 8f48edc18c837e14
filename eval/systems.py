"""The systems that evaluations compare: lanes, fusions and re-rankers over one searcher, each lane asked once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from time import perf_counter
from typing import Protocol

from treeline.corpus.errors import InputError
from treeline.engine.hits import Hit
from treeline.engine.protocol import IndexInfo
from treeline.eval.dataset import Case, Ranking, System
from treeline.rerank.candidates import DEPTH, Candidate
from treeline.rerank.registry import FUSIONS
from treeline.rerank.registry import NAMES as RERANKERS
from treeline.rerank.rules import RULE_NAMES
from treeline.search.lanes.lane_set import Degradation, LaneResults
from treeline.search.plan import Plan
from treeline.search.query import Query

PAGE = 10


class Stages(Protocol):
    """The stages of a searcher that evaluation calls one by one."""

    @property
    def info(self) -> IndexInfo: ...

    def plan(self, query: Query, lanes: Sequence[str] | None = None) -> Plan: ...

    def lanes(self, plan: Plan) -> LaneResults: ...

    def fuse(self, results: LaneResults, method: str = "default", limit: int = 300) -> Sequence[Candidate]: ...

    def rerank(
        self, results: LaneResults, candidates: Sequence[Candidate], method: str = "default"
    ) -> Sequence[Candidate]: ...


@dataclass(frozen=True, slots=True)
class Variant:
    """The lanes that run (empty: those of the route), the fusion of their lists, and the re-ranking."""

    name: str
    about: str
    lanes: tuple[str, ...] = ()
    fusion: str = "default"
    rerank: str = "none"
    quality: str = "fast"
    expand: bool = False
    as_typed: bool = False
    literal: bool = True  # whether quotes, filters and `-word` in a question are plain words


KEYWORD = Variant("keyword", "BM25 with relaxation", ("keyword",))
DENSE = Variant("dense", "nearest vectors", ("dense",))
HYBRID = Variant("hybrid", "keyword and dense, reciprocal rank fusion", ("keyword", "dense"), "rrf")
ROUTED = Variant("fused", "lanes by the kind of question, default fusion")
DEFAULT = Variant("default", "lanes by the kind of question, default fusion and re-ranker", rerank="default")
AS_TYPED = Variant("as typed", "the default without mending words typed wrong", rerank="default", as_typed=True)
BEST = Variant("best", "the default, its first results read with the question", rerank="default", quality="best")
COMPARISON = (KEYWORD, DENSE, HYBRID, ROUTED, DEFAULT)


@dataclass(slots=True)
class LaneCache:
    """Runs variants over one searcher. Each lane runs once per question; its time is charged to every variant
    that uses it, so that times stay comparable."""

    searcher: Stages
    _lanes: dict[tuple[Query, tuple[str, ...]], LaneResults] = field(default_factory=dict)

    def system(self, variant: Variant) -> System:
        return System(variant.name, variant.about, lambda case, depth: self.answer(variant, case, depth))

    def systems(self, variants: Sequence[Variant]) -> list[System]:
        """The variants this index can run: without vectors there is no dense lane."""
        if self.searcher.info.encoders:
            return [self.system(variant) for variant in variants]
        return [self.system(variant) for variant in variants if "dense" not in variant.lanes]

    def answer(self, variant: Variant, case: Case, depth: int) -> Ranking:
        query = Query(
            case.text,
            k=depth,
            filters=case.filters,
            expand=variant.expand,
            as_typed=variant.as_typed,
            feedback=False,
            literal=variant.literal,
        )
        lanes = self._lane_results(query, variant.lanes)
        begin = perf_counter()
        candidates = self.searcher.fuse(lanes, variant.fusion, max(depth, DEPTH))
        fusion_end = perf_counter()
        candidates = self.searcher.rerank(_as_page(lanes, variant.quality), candidates, variant.rerank)
        end = perf_counter()
        # Lanes run side by side: the slowest decides.
        stages = {
            **lanes.timings,
            "lanes": max(lanes.timings.values(), default=0.0),
            "fusion": (fusion_end - begin) * 1000,
            "rerank": (end - fusion_end) * 1000,
        }
        total = stages["lanes"] + stages["fusion"] + stages["rerank"]
        hits = [Hit(candidate.id, candidate.score, candidate.address) for candidate in candidates[:depth]]
        return Ranking(hits, total, stages)

    def _lane_results(self, query: Query, names: tuple[str, ...]) -> LaneResults:
        key = (query, names)
        if key not in self._lanes:
            self._lanes[key] = self.searcher.lanes(self.searcher.plan(query, names or None))
        require_all_lanes(query, self._lanes[key].degraded)
        return self._lanes[key]


def require_all_lanes(query: Query, failures: Sequence[Degradation]) -> None:
    """Stop the evaluation if a lane failed: its results would count as misses."""
    if failures:
        raise InputError(
            f"the {failures[0].lane} lane failed on {query.text!r}: {failures[0].reason}",
            "an evaluation needs every lane; raise TREELINE_LANE_TIMEOUT or check the index",
        )


def _as_page(lanes: LaneResults, quality: str = "fast") -> LaneResults:
    """The results as for one page of a search of this quality: some re-rankers divide up as many places as were
    requested, and an evaluation requests far more than a page."""
    return replace(lanes, plan=replace(lanes.plan, query=replace(lanes.plan.query, k=PAGE, quality=quality)))


# Left out, because they run a transformer for every question: minutes instead of hours.
SLOW = frozenset({"cross-encoder"})
LANES = ("keyword", "dense")


def ablations() -> list[Variant]:
    """All variants, the default first: every other row is compared with it."""
    return list({variant.name: variant for variant in _variants()}.values())


def _variants() -> Iterator[Variant]:
    yield Variant("default", "what a plain search does", rerank="default")
    if find_spec("onnxruntime") is not None:
        yield BEST
    yield Variant("no re-ranker", "the default without its re-ranker")
    yield AS_TYPED
    yield Variant("no routing", "keyword and dense for every question", LANES, rerank="default")
    yield Variant("no dense lane", "keyword alone, re-ranked", ("keyword",), rerank="default")
    yield Variant("no keyword lane", "dense alone, re-ranked", ("dense",), rerank="default")
    for lane in LANES:
        yield Variant(f"lane: {lane}", "one lane, nothing else", (lane,))
    yield Variant("lanes: + graph", "keyword, dense and call graph", (*LANES, "graph"), rerank="default")
    yield Variant("with expansion", "TF-IDF pseudo-relevance feedback", rerank="default", expand=True)
    for name in FUSIONS:
        yield Variant(f"fusion: {name}", "keyword and dense, not re-ranked", LANES, name)
    for name, about in RERANKERS.items():
        if name not in SLOW | {"none", "default"}:
            yield Variant(f"re-rank: {name}", about, rerank=name)
    for rule in RULE_NAMES:
        yield Variant(f"without {rule}", "the default without this rule", rerank=f"tree without {rule}")
