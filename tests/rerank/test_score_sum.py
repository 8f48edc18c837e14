"""The weighted score sum normalises each lane before it adds."""

import numpy as np
import pytest

from tests.rerank.lists import address, ranked
from treeline.engine.protocol import Hit
from treeline.rerank.ranked_list import QueryTraits, RankedList
from treeline.rerank.score_sum import normalised, score_sum


def test_scores_are_brought_to_zero_and_one() -> None:
    assert normalised(np.array([30.0, 20.0, 10.0])).tolist() == [1.0, 0.5, 0.0]


def test_equal_scores_all_count_in_full() -> None:
    assert normalised(np.array([0.7, 0.7])).tolist() == [1.0, 1.0]


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
