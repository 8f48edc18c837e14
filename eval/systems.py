"""The systems that evaluations compare: ways to ask one searcher, with the lanes' results computed once and reused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Protocol

from treeline.corpus.errors import InputError
from treeline.engine.protocol import Hit, IndexInfo
from treeline.eval.dataset import Case, Ranked, System
from treeline.rerank.candidates import Candidate
from treeline.search.lanes.results import LaneResults
from treeline.search.query import Query


class Asked(Protocol):
    """What evaluation needs of a searcher: its stages, apart."""

    @property
    def info(self) -> IndexInfo: ...

    def prepare(self, lane: str) -> None: ...

    def lanes(self, query: Query, names: Sequence[str] | None = None) -> LaneResults: ...

    def fuse(self, lanes: LaneResults, method: str = "default", limit: int = 300) -> Sequence[Candidate]: ...

    def rerank(self, query: Query, candidates: Sequence[Candidate], method: str = "default") -> Sequence[Candidate]: ...


@dataclass(frozen=True, slots=True)
class Recipe:
    """A way to ask: which lanes (empty: those the route chooses), how to fuse them, how to re-rank."""

    name: str
    about: str
    lanes: tuple[str, ...] = ()
    fusion: str = "default"
    rerank: str = "none"
    expand: bool = False
    callees: bool = False
    as_typed: bool = False


KEYWORD = Recipe("keyword", "BM25 with relaxation", ("keyword",))
DENSE = Recipe("dense", "nearest vectors", ("dense",))
HYBRID = Recipe("hybrid", "keyword and dense, reciprocal rank fusion", ("keyword", "dense"), "rrf")
ROUTED = Recipe("routed", "lanes by the kind of question, default fusion")
DEFAULT = Recipe("default", "lanes by the kind of question, default fusion and re-ranker", rerank="default")
AS_TYPED = Recipe("as typed", "the default without mending words typed wrong", rerank="default", as_typed=True)
COMPARED = (KEYWORD, DENSE, HYBRID, ROUTED, DEFAULT)


@dataclass(slots=True)
class Kitchen:
    """Answers recipes over one searcher; each lane is asked once per question, and its own time is charged to
    every recipe that uses it, so that times stay comparable."""

    searcher: Asked
    _lanes: dict[tuple[Query, tuple[str, ...]], LaneResults] = field(default_factory=dict)

    def system(self, recipe: Recipe) -> System:
        return System(recipe.name, recipe.about, lambda case, depth: self.answer(recipe, case, depth))

    def systems(self, recipes: Sequence[Recipe]) -> list[System]:
        """Those of the recipes that this index can follow: without vectors there is no dense lane."""
        if self.searcher.info.encoders:
            return [self.system(recipe) for recipe in recipes]
        return [self.system(recipe) for recipe in recipes if "dense" not in recipe.lanes]

    def answer(self, recipe: Recipe, case: Case, depth: int) -> Ranked:
        query = Query(
            case.text,
            k=depth,
            filters=case.filters,
            expand=recipe.expand,
            callees=recipe.callees,
            as_typed=recipe.as_typed,
            feedback=False,
        )
        lanes = self._asked(query, recipe.lanes)
        query = replace(query, text=lanes.spelt.text)
        begin = perf_counter()
        candidates = self.searcher.fuse(lanes, recipe.fusion, depth)
        fused = perf_counter()
        candidates = self.searcher.rerank(query, candidates, recipe.rerank)
        done = perf_counter()
        # Lanes run side by side: the slowest decides.
        stages = {
            **lanes.timings,
            "lanes": max(lanes.timings.values(), default=0.0),
            "fusion": (fused - begin) * 1000,
            "rerank": (done - fused) * 1000,
        }
        total = stages["lanes"] + stages["fusion"] + stages["rerank"]
        hits = [Hit(candidate.id, candidate.score, candidate.address) for candidate in candidates[:depth]]
        return Ranked(hits, total, stages)

    def _asked(self, query: Query, names: tuple[str, ...]) -> LaneResults:
        key = (query, names)
        if key not in self._lanes:
            self._lanes[key] = self.searcher.lanes(query, names or None)
        found = self._lanes[key]
        if found.degraded:
            raise InputError(
                f"the {found.degraded[0].lane} lane failed on {query.text!r}: {found.degraded[0].reason}",
                "an evaluation needs every lane; raise TREELINE_LANE_TIMEOUT or check the index",
            )
        return found
