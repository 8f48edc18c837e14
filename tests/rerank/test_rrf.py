"""Reciprocal rank fusion gives the worked example's numbers, and its contributions add up."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rerank.lists import ranked
from treeline.rerank.ranked_list import QueryTraits, RankedList
from treeline.rerank.registry import FUSIONS
from treeline.rerank.rrf import rrf

GRAPH = ranked("graph", "ABCD")
EMBEDDING = ranked("dense", "BAEF")
KEYWORD = ranked("keyword", "AGBH")
EQUAL = {"graph": 1.0, "dense": 1.0, "keyword": 1.0}


def test_the_worked_example() -> None:
    fused = rrf([GRAPH, EMBEDDING, KEYWORD], EQUAL, QueryTraits("mixed"), 10)
    scores = {candidate.id: candidate.score for candidate in fused}
    assert [candidate.id for candidate in fused][:2] == ["A", "B"]
    assert scores["A"] == pytest.approx(0.0489, abs=5e-5)
    assert scores["B"] == pytest.approx(0.0484, abs=5e-5)
    assert scores["G"] == pytest.approx(0.0161, abs=5e-5)


def test_ties_are_broken_by_first_seen() -> None:
    fused = rrf([ranked("keyword", "XY"), ranked("dense", "YX")], {}, QueryTraits("mixed"), 10)
    assert [candidate.id for candidate in fused] == ["X", "Y"]
    fused = rrf([ranked("dense", "P"), ranked("keyword", "Q")], {}, QueryTraits("mixed"), 10)
    assert [candidate.id for candidate in fused] == ["P", "Q"]


def test_a_heavier_lane_wins_a_disagreement() -> None:
    lists = [ranked("keyword", "XY"), ranked("dense", "YX")]
    assert rrf(lists, {"keyword": 1.0, "dense": 2.0}, QueryTraits("mixed"), 1)[0].id == "Y"


def test_a_second_dense_lane_weighs_what_dense_does() -> None:
    fused = rrf([ranked("dense:other", "X")], {"dense": 3.0}, QueryTraits("mixed"), 1)
    assert fused[0].score == pytest.approx(3 / 61)


def test_a_candidate_says_its_rank_score_share_and_stage_in_each_lane() -> None:
    keyword = RankedList("keyword", ranked("keyword", "AB").hits, ("exact", "fuzzy"))
    found = {
        candidate.id: candidate for candidate in rrf([keyword, ranked("dense", "B")], {}, QueryTraits("mixed"), 10)
    }
    by_keyword, by_dense = found["B"].contributions
    assert (by_keyword.lane, by_keyword.rank, by_keyword.stage) == ("keyword", 2, "fuzzy")
    assert by_keyword.share == pytest.approx(1 / 62)
    assert (by_dense.lane, by_dense.rank, by_dense.stage) == ("dense", 1, "")
    assert by_dense.share == pytest.approx(1 / 61)


letters = st.lists(st.sampled_from("ABCDEFGHIJKL"), unique=True, max_size=12).map("".join)
lanes = st.fixed_dictionaries({"keyword": letters, "dense": letters, "graph": letters})
some_weights = st.fixed_dictionaries({lane: st.floats(0.1, 8.0) for lane in ("keyword", "dense", "graph")})


@pytest.mark.parametrize("method", FUSIONS)
@settings(deadline=None)
@given(found=lanes, weights=some_weights, kind=st.sampled_from(["identifier", "structural", "conceptual", "mixed"]))
def test_the_contributions_sum_to_the_fused_score(
    method: str, found: dict[str, str], weights: dict[str, float], kind: str
) -> None:
    lists = [ranked(lane, ids) for lane, ids in found.items()]
    fused = FUSIONS[method](lists, weights, QueryTraits(kind), 100)
    assert {candidate.id for candidate in fused} == set("".join(found.values()))
    assert [candidate.score for candidate in fused] == sorted((c.score for c in fused), reverse=True)
    for candidate in fused:
        assert candidate.score == pytest.approx(sum(part.share for part in candidate.contributions), abs=1e-12)
        for part in candidate.contributions:
            assert found[part.lane][part.rank - 1] == candidate.id


@pytest.mark.parametrize("method", FUSIONS)
def test_no_lists_and_empty_lists_fuse_to_nothing(method: str) -> None:
    assert FUSIONS[method]([], {}, QueryTraits("mixed"), 10) == []
    assert FUSIONS[method]([ranked("keyword", ""), ranked("dense", "")], {}, QueryTraits("mixed"), 10) == []


@pytest.mark.parametrize("method", FUSIONS)
def test_a_shorter_limit_gives_the_head_of_the_same_list(method: str) -> None:
    lists = [GRAPH, EMBEDDING, KEYWORD]
    assert (
        FUSIONS[method](lists, EQUAL, QueryTraits("mixed"), 3)
        == FUSIONS[method](lists, EQUAL, QueryTraits("mixed"), 100)[:3]
    )
