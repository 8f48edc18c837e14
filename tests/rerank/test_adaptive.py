"""Adaptive fusion: the kind of question decides which lane is believed."""

from rerank.adaptive import WEIGHTS_BY_KIND, adaptive
from tests.rerank.lists import ranked

KEYWORD_SAYS_X = [ranked("keyword", "XY"), ranked("dense", "YX"), ranked("graph", "ZX")]


def first(kind: str) -> str:
    return adaptive(KEYWORD_SAYS_X[:2], {}, kind, 1)[0].id


def test_an_identifier_is_left_to_the_keyword_lane() -> None:
    assert first("identifier") == "X"


def test_a_concept_is_left_to_the_dense_lane() -> None:
    assert first("conceptual") == "Y"


def test_a_structural_question_is_left_to_the_graph() -> None:
    lists = [ranked("keyword", "X"), ranked("dense", "Y"), ranked("graph", "Z")]
    assert adaptive(lists, {}, "structural", 1)[0].id == "Z"


def test_an_unknown_kind_uses_the_given_weights() -> None:
    assert adaptive(KEYWORD_SAYS_X[:2], {"keyword": 1.0, "dense": 5.0}, "other", 1)[0].id == "Y"


def test_every_kind_weighs_every_lane() -> None:
    lanes = {"keyword", "dense", "tfidf", "graph", "callees"}
    assert all(weights.keys() == lanes for weights in WEIGHTS_BY_KIND.values())
