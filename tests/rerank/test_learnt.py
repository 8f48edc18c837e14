"""The learnt ranker: what its columns say, how far it spreads results, and what it says of those that moved."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.graph.trees import address
from tests.rerank.candidates import CONTEXT, both, found
from treeline.corpus.function import Address
from treeline.rerank.candidate import RerankContext
from treeline.rerank.features import NAMES, features
from treeline.rerank.learnt import Learnt, Weights, shipped


def column(table: NDArray[np.float64], name: str) -> list[float]:
    values: list[float] = table[:, NAMES.index(name)].tolist()
    return values


def test_columns_are_scaled_within_the_list_and_a_lane_that_missed_counts_as_its_least() -> None:
    head = [
        found(address("o/a", "f.py", "f"), 0, keyword=(1, 30.0), dense=(2, 0.5)),
        found(address("o/b", "f.py", "g"), 1, keyword=(2, 20.0)),
        found(address("o/c", "f.py", "h"), 2, keyword=(3, 10.0), dense=(1, 0.9)),
    ]
    table = features(head, None)
    assert column(table, "keyword_score") == [1.0, 0.5, 0.0]
    assert column(table, "dense_score") == [0.0, 0.0, 1.0]
    assert column(table, "dense_rank") == pytest.approx([10 / 11, 0.0, 1.0])
    assert column(table, "feedback") == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("path", "test_like"),
    [
        ("tests/io/read.py", 1.0),
        ("pkg/test_read.py", 1.0),
        ("examples/demo.py", 1.0),
        ("src/latest/contest.py", 0.0),
        ("pkg/testament.py", 0.0),
    ],
)
def test_tests_and_examples_are_known_by_their_path(path: str, test_like: float) -> None:
    assert column(features([found(address("o/a", path, "f"), 0)], None), "test_like") == [test_like]


def test_length_counts_below_five_and_above_forty_lines() -> None:
    head = [
        found(Address("o/a", "f.py", "f", "python", f"https://example.org/f.py#L1-L{last}"), i)
        for i, last in enumerate((2, 15, 200))
    ]
    table = features(head, None)
    assert column(table, "short")[0] > 0
    assert column(table, "short")[1:] == [0.0, 0.0]
    assert column(table, "long")[:2] == [0.0, 0.0]
    assert column(table, "long")[2] > 0


def test_feedback_is_nearness_to_the_top_and_nobody_is_their_own_neighbour() -> None:
    head = both("abcd", [0.9, 0.8, 0.7, 0.6])
    vectors = np.array([[1, 0], [1, 0], [0, 1], [1, 0]], dtype=np.float32)
    table = features(head, vectors)
    assert column(table, "feedback")[2] == 0.0
    assert column(table, "feedback")[3] == 1.0


def test_more_spread_shows_more_repositories_and_no_spread_is_pure_score() -> None:
    head = both("aaaaaaaabbccddee", np.linspace(0.9, 0.1, 16).tolist())

    def repositories(spread: float) -> int:
        return len({candidate.address.repo for candidate in Learnt(spread=spread)(head, CONTEXT)[:6]})

    assert repositories(0.0) < repositories(1.0) <= repositories(3.0)


def test_those_that_moved_say_why() -> None:
    weights = Weights({"dense_score": 1.0}, share=1.0, repository=0.0)
    head = [
        found(address("o/a", "f.py", "f"), 0, keyword=(1, 9.0), dense=(2, 0.1)),
        found(address("o/b", "f.py", "g"), 1, keyword=(2, 8.0), dense=(1, 0.9)),
    ]
    first, second = Learnt(weights)(head, CONTEXT)
    assert (first.id, first.reason, first.moved) == ("id1", "raised: close in meaning", 1)
    assert (second.id, second.reason, second.moved) == ("id0", "lowered: less close in meaning", -1)


def test_shipped_weights_know_every_column_and_say_what_they_were_made_from() -> None:
    weights = shipped()
    assert set(weights.columns) <= set(NAMES)
    assert 0 < weights.share <= 1
    assert weights.repository > 0
    assert "docstrings" in weights.made


def test_vectors_are_asked_for_once_and_only_for_the_head() -> None:
    asked: list[int] = []

    def vectors(ids: Sequence[str]) -> NDArray[np.float32]:
        asked.append(len(ids))
        return np.ones((len(ids), 4), dtype=np.float32)

    Learnt()(both("ab" * 75, [0.5] * 150), RerankContext("q", vectors))
    assert asked == [100]
