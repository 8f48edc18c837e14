"""Each fusion method gives its worked example, and contributions add up to the score."""

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rerank.lists import address, ranked
from treeline.engine.hits import Hit
from treeline.rerank.candidates import LANE_HEAD, Candidates
from treeline.rerank.fusion import (
    LEAST_DENSE,
    MOST_DENSE,
    QueryTraits,
    RankedList,
    adaptive,
    fusion,
    intersection,
    normalise,
    rrf,
    score_sum,
    weights_for,
)
from treeline.rerank.registry import FUSIONS
from treeline.search.plan import Kind

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
    fused = fusion(method)(lists, weights, QueryTraits(kind), 100)
    assert {candidate.id for candidate in fused} == set("".join(found.values()))
    assert [candidate.score for candidate in fused] == sorted((c.score for c in fused), reverse=True)
    for candidate in fused:
        assert candidate.score == pytest.approx(sum(part.share for part in candidate.contributions), abs=1e-12)
        for part in candidate.contributions:
            assert found[part.lane][part.rank - 1] == candidate.id


@pytest.mark.parametrize("method", FUSIONS)
def test_no_lists_and_empty_lists_fuse_to_nothing(method: str) -> None:
    assert fusion(method)([], {}, QueryTraits("mixed"), 10) == []
    assert fusion(method)([ranked("keyword", ""), ranked("dense", "")], {}, QueryTraits("mixed"), 10) == []


@pytest.mark.parametrize("method", FUSIONS)
def test_a_shorter_limit_gives_the_head_of_the_same_list(method: str) -> None:
    lists = [GRAPH, EMBEDDING, KEYWORD]
    assert (
        fusion(method)(lists, EQUAL, QueryTraits("mixed"), 3)[:3]
        == fusion(method)(lists, EQUAL, QueryTraits("mixed"), 100)[:3]
    )


@pytest.mark.parametrize("method", FUSIONS)
def test_what_one_lane_ranks_first_follows_the_limit(method: str) -> None:
    dense = RankedList("dense", [Hit(f"d{i}", 1 - i / 100, address(f"d{i}")) for i in range(50)])
    keyword = RankedList("keyword", [Hit(f"k{i}", 50.0 - i, address(f"k{i}")) for i in range(50)])
    fused = fusion(method)([keyword, dense], {"keyword": 0.01, "dense": 5.0}, QueryTraits("other"), 30)
    assert len({one.id for one in fused}) == len(fused)
    assert [one.id for one in fused[30:]] == [f"k{i}" for i in range(LANE_HEAD)]
    head, rest = Candidates.of(fused).split(20)
    assert [one.id for one in rest] == [one.id for one in fused[20:30]]
    assert [one.id for one in head] == [one.id for one in [*fused[:20], *fused[30:]]]


def test_scores_are_brought_to_zero_and_one() -> None:
    assert normalise(np.array([30.0, 20.0, 10.0])).tolist() == [1.0, 0.5, 0.0]


def test_equal_scores_all_count_in_full() -> None:
    assert normalise(np.array([0.7, 0.7])).tolist() == [1.0, 1.0]


def test_a_lane_whose_scores_mean_something_keeps_them() -> None:
    far = RankedList("graph", [Hit("A", 0.5, address("A")), Hit("B", 0.1, address("B"))])
    assert [found.score for found in score_sum([far], {}, QueryTraits("mixed"), 2)] == pytest.approx([0.5, 0.1])


def test_a_lane_with_large_scores_does_not_drown_the_other() -> None:
    keyword = RankedList("keyword", [Hit("A", 900.0, address("A")), Hit("B", 890.0, address("B"))])
    dense = RankedList("dense", [Hit("B", 0.9, address("B")), Hit("A", 0.1, address("A"))])
    fused = score_sum([keyword, dense], {"keyword": 1.0, "dense": 1.1}, QueryTraits("mixed"), 10)
    assert [candidate.id for candidate in fused] == ["B", "A"]


def test_weights_are_shares_of_one() -> None:
    fused = score_sum(
        [ranked("keyword", "A"), ranked("dense", "A")], {"keyword": 1.0, "dense": 3.0}, QueryTraits("mixed"), 1
    )
    assert fused[0].score == pytest.approx(1.0)
    assert [part.share for part in fused[0].contributions] == pytest.approx([0.25, 0.75])


KEYWORD_SAYS_X = [ranked("keyword", "XY"), ranked("dense", "YX"), ranked("graph", "ZX")]


def first(kind: str, words: int = 5) -> str:
    return adaptive(KEYWORD_SAYS_X[:2], {}, QueryTraits(kind, words), 1)[0].id


def test_an_identifier_is_left_to_the_keyword_lane() -> None:
    assert first("identifier") == "X"


def test_a_concept_is_left_to_the_dense_lane() -> None:
    assert first("conceptual") == "Y"


def test_a_structural_question_is_left_to_the_graph() -> None:
    lists = [ranked("keyword", "X"), ranked("dense", "Y"), ranked("graph", "Z")]
    assert adaptive(lists, {}, QueryTraits("structural"), 1)[0].id == "Z"


def test_where_a_call_is_written_comes_behind_the_graph_and_before_what_only_shares_words() -> None:
    lists = [ranked("keyword", "XYZ"), ranked("dense", "XYZ"), ranked("graph", "A"), ranked("text_calls", "W")]
    assert [candidate.id for candidate in adaptive(lists, {}, QueryTraits("structural"), 3)][:3] == ["A", "W", "X"]


def test_what_the_graph_found_ten_edges_away_stays_in_front_of_what_only_shares_words() -> None:
    walked = RankedList("graph", [Hit(id_, 2 / (1 + depth), address(id_)) for depth, id_ in enumerate("ABCDEFGHIJ", 1)])
    lists = [ranked("keyword", "XYZ"), ranked("dense", "XYZ"), walked]
    fused = adaptive(lists, {}, QueryTraits("structural"), 20)
    assert [candidate.id for candidate in fused][:10] == list("ABCDEFGHIJ")


def test_an_unknown_kind_uses_the_given_weights() -> None:
    assert adaptive(KEYWORD_SAYS_X[:2], {"keyword": 1.0, "dense": 5.0}, QueryTraits("other"), 1)[0].id == "Y"


def test_every_kind_weighs_every_lane() -> None:
    lanes = {"keyword", "dense"}
    others = {"structural": {"graph", "text_calls"}, "issue": {"definitions", "places", "history"}}
    for kind in get_args(Kind):
        weights = weights_for(QueryTraits(kind, 4))
        assert weights is not None
        assert weights.keys() == lanes | others.get(kind, {"graph"})


def test_the_more_words_a_question_has_the_more_its_meaning_counts() -> None:
    dense = [(weights_for(QueryTraits("conceptual", words)) or {})["dense"] for words in range(20)]
    assert dense == sorted(dense)
    assert dense[1] == dense[4] == LEAST_DENSE < dense[6] < dense[8] == dense[12] == MOST_DENSE


def test_among_files_a_question_counts_by_its_meaning_more_than_a_statement() -> None:
    keyword, dense = ranked("keyword", "XYZ"), ranked("dense", "YXZ")
    of_files = replace(keyword, hits=[replace(hit, address=hit.address._replace(kind="file")) for hit in keyword.hits])
    shares = {
        is_question: adaptive([of_files, dense], {}, QueryTraits("conceptual", 6, is_question), 1)[0].score
        for is_question in (False, True)
    }
    assert shares[False] < shares[True] < 1
    alike = [adaptive([keyword, dense], {}, QueryTraits("conceptual", 6, one), 1)[0].score for one in (False, True)]
    assert alike[0] == alike[1], "among functions alone its length decides"


def test_among_files_a_cosine_below_usual_counts_as_usual() -> None:
    keyword, dense = ranked("keyword", "XYZ"), ranked("dense", "YXZ")
    of_files = replace(keyword, hits=[replace(hit, address=hit.address._replace(kind="file")) for hit in keyword.hits])

    def best(*lists: RankedList) -> float:
        return adaptive(lists, {}, QueryTraits("conceptual", 6), 1)[0].score

    assert best(of_files, replace(dense, margin=-0.2)) == pytest.approx(best(of_files, dense))
    assert best(keyword, replace(dense, margin=-0.2)) < best(keyword, dense)


def test_a_lane_that_is_surer_than_usual_is_believed_more() -> None:
    keyword, dense = ranked("keyword", "XYZ"), ranked("dense", "YXZ")
    shares = {}
    for above in (-0.2, 0.0, 0.2):
        lists = [keyword, replace(dense, margin=above)]
        (best, *_) = adaptive(lists, {}, QueryTraits("conceptual", 6), 3)
        shares[above] = best.score
        assert adaptive(lists, {}, QueryTraits("identifier", 1), 1)[0].id == "X"
    assert shares[-0.2] < shares[0.0] < shares[0.2] <= 1


def test_the_intersection_comes_first_then_dense_fills() -> None:
    fused = intersection([ranked("keyword", "KLX"), ranked("dense", "DEX")], {}, QueryTraits("mixed"), 10)
    assert [candidate.id for candidate in fused] == ["X", "D", "E", "K", "L"]


def test_with_one_lane_it_is_that_lane() -> None:
    fused = intersection([ranked("keyword", "ABC"), ranked("dense", "")], {}, QueryTraits("mixed"), 10)
    assert [candidate.id for candidate in fused] == ["A", "B", "C"]
