"""Recipes over a real index: lanes are asked once, every variant ranks, and a failing lane is not scored silently."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from treeline.corpus.errors import InputError
from treeline.engine.protocol import IndexInfo
from treeline.eval.dataset import Case
from treeline.eval.systems import COMPARISON, DEFAULT, KEYWORD, LaneCache, Variant, ablations
from treeline.rerank.candidates import Candidate
from treeline.search.lanes.lane_set import Degradation, LaneResults
from treeline.search.live import LiveSearcher
from treeline.search.plan import Plan
from treeline.search.query import Query

CASE = Case("q", "n largest elements of a list", {})


class Counting:
    """A searcher that counts how often its lanes are asked."""

    def __init__(self, searcher: LiveSearcher) -> None:
        self.searcher = searcher
        self.asked = 0

    @property
    def info(self) -> IndexInfo:
        return self.searcher.info

    def plan(self, query: Query, lanes: Sequence[str] | None = None) -> Plan:
        return self.searcher.plan(query, lanes)

    def lanes(self, plan: Plan) -> LaneResults:
        self.asked += 1
        return self.searcher.lanes(plan)

    def fuse(self, results: LaneResults, method: str = "default", limit: int = 300) -> Sequence[Candidate]:
        return self.searcher.fuse(results, method, limit)

    def rerank(
        self, results: LaneResults, candidates: Sequence[Candidate], method: str = "default"
    ) -> Sequence[Candidate]:
        return self.searcher.rerank(results, candidates, method)


def test_lanes_are_asked_once_for_all_fusions_and_rerankers(searcher: LiveSearcher) -> None:
    counting = Counting(searcher)
    cache = LaneCache(counting)
    both = ("keyword", "dense")
    for fusion in ("rrf", "adaptive", "score_sum"):
        for rerank in ("none", "default"):
            cache.answer(Variant("r", "", both, fusion, rerank), CASE, 10)
    assert counting.asked == 1


@pytest.mark.parametrize("variant", COMPARISON, ids=lambda variant: variant.name)
def test_every_compared_recipe_answers_with_its_times(searcher: LiveSearcher, variant: Variant) -> None:
    ranked = LaneCache(searcher).answer(variant, CASE, 10)
    assert 0 < len(ranked.hits) <= 10
    assert ranked.milliseconds is not None
    assert ranked.milliseconds >= ranked.stages["lanes"]


def test_the_default_is_what_a_plain_search_gives(searcher: LiveSearcher) -> None:
    asked = searcher.search(Query(CASE.text, k=10, feedback=False))
    hits = LaneCache(searcher).answer(DEFAULT, CASE, 100).hits[:10]
    assert [hit.id for hit in hits] == [result.function.id for result in asked.results]


@pytest.mark.parametrize("variant", ablations(), ids=lambda variant: variant.name)
def test_every_row_of_the_ablation_runs(searcher: LiveSearcher, variant: Variant) -> None:
    hits = LaneCache(searcher).answer(variant, CASE, 20).hits
    assert 0 < len(hits) <= 20
    assert len({hit.id for hit in hits}) == len(hits), "the same result twice"


def test_an_ablation_ranks_otherwise_than_the_default(searcher: LiveSearcher) -> None:
    """A row whose switch does nothing would be the default under another name."""
    cache = LaneCache(searcher)
    lists = {variant.name: [hit.id for hit in cache.answer(variant, CASE, 100).hits] for variant in ablations()}
    assert len({tuple(ids) for ids in lists.values()}) > len(lists) / 3, lists.keys()


def test_importance_sampling_shares_out_a_page_however_deep_the_evaluation_looks(searcher: LiveSearcher) -> None:
    variant = Variant("r", "", ("keyword",), rerank="algorithm2")
    deep, page = (LaneCache(searcher).answer(variant, CASE, depth).hits for depth in (300, 10))
    assert [hit.id for hit in deep[:10]] == [hit.id for hit in page]


def test_a_lane_that_fails_stops_the_evaluation(searcher: LiveSearcher) -> None:
    class Failing(Counting):
        def lanes(self, plan: Plan) -> LaneResults:
            found = super().lanes(plan)
            return replace(found, degraded=(Degradation("dense", "timed out"),))

    with pytest.raises(InputError, match="dense lane failed on 'n largest elements of a list': timed out"):
        LaneCache(Failing(searcher)).answer(KEYWORD, CASE, 10)


def test_each_switch_is_on_in_the_row_that_is_named_after_it() -> None:
    rows = {variant.name: variant for variant in ablations()}
    assert rows["with expansion"].expand and not rows["default"].expand
    assert rows["no re-ranker"].rerank == "none"
    assert (rows["no routing"].lanes, rows["no dense lane"].lanes) == (("keyword", "dense"), ("keyword",))
    assert rows["lane: dense"].lanes == ("dense",)
    assert (rows["fusion: rrf"].fusion, rows["fusion: rrf"].rerank) == ("rrf", "none")
    assert rows["re-rank: algorithm1"].rerank == "algorithm1"
