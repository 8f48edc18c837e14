"""Adaptive fusion: the kind of question, and its length, decide which lane is believed."""

from dataclasses import replace
from typing import get_args

from tests.rerank.lists import address, ranked
from treeline.engine.protocol import Hit
from treeline.rerank.adaptive import LEAST, MOST, adaptive, weights_for
from treeline.rerank.ranked_list import QueryTraits, RankedList
from treeline.search.plan import Kind

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
    assert [candidate.id for candidate in adaptive(lists, {}, QueryTraits("structural"), 3)] == ["A", "W", "X"]


def test_what_the_graph_found_ten_edges_away_stays_in_front_of_what_only_shares_words() -> None:
    walked = RankedList("graph", [Hit(id_, 2 / (1 + depth), address(id_)) for depth, id_ in enumerate("ABCDEFGHIJ", 1)])
    lists = [ranked("keyword", "XYZ"), ranked("dense", "XYZ"), walked]
    fused = adaptive(lists, {}, QueryTraits("structural"), 20)
    assert [candidate.id for candidate in fused][:10] == list("ABCDEFGHIJ")


def test_an_unknown_kind_uses_the_given_weights() -> None:
    assert adaptive(KEYWORD_SAYS_X[:2], {"keyword": 1.0, "dense": 5.0}, QueryTraits("other"), 1)[0].id == "Y"


def test_every_kind_weighs_every_lane() -> None:
    lanes = {"keyword", "dense", "tfidf", "graph", "callees"}
    for kind in get_args(Kind):
        weights = weights_for(QueryTraits(kind, 4))
        assert weights is not None
        assert weights.keys() == (lanes | {"text_calls"} if kind == "structural" else lanes)


def test_the_more_words_a_question_has_the_more_its_meaning_counts() -> None:
    dense = [(weights_for(QueryTraits("conceptual", words)) or {})["dense"] for words in range(20)]
    assert dense == sorted(dense)
    assert dense[1] == dense[4] == LEAST < dense[6] < dense[8] == dense[12] == MOST


def test_a_lane_that_is_surer_than_usual_is_believed_more() -> None:
    keyword, dense = ranked("keyword", "XYZ"), ranked("dense", "YXZ")
    shares = {}
    for above in (-0.2, 0.0, 0.2):
        lists = [keyword, replace(dense, above=above)]
        (best, *_) = adaptive(lists, {}, QueryTraits("conceptual", 6), 3)
        shares[above] = best.score
        assert adaptive(lists, {}, QueryTraits("identifier", 1), 1)[0].id == "X"
    assert shares[-0.2] < shares[0.0] < shares[0.2] <= 1
