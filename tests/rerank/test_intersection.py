"""Intersection fusion: what all lanes found comes first, then the dense lane's, then the rest."""

from tests.rerank.lists import ranked
from treeline.rerank.intersection import intersection
from treeline.rerank.ranked_list import QueryTraits


def test_the_intersection_comes_first_then_dense_fills() -> None:
    fused = intersection([ranked("keyword", "KLX"), ranked("dense", "DEX")], {}, QueryTraits("mixed"), 10)
    assert [candidate.id for candidate in fused] == ["X", "D", "E", "K", "L"]


def test_with_one_lane_it_is_that_lane() -> None:
    fused = intersection([ranked("keyword", "ABC"), ranked("dense", "")], {}, QueryTraits("mixed"), 10)
    assert [candidate.id for candidate in fused] == ["A", "B", "C"]
