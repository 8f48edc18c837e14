"""The learnt ranker: what its columns say, how it spreads results over the tree, and when it keeps out of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from corpus.function import Address
from rerank.candidate import Candidate, Contribution, RerankContext
from rerank.features import NAMES, features
from rerank.learnt import MOST_PAID, Learnt, Weights, shipped, spread_out
from tests.graph.trees import address
from tests.rerank.candidates import CONTEXT


def found(place: Address, number: int, **lanes: tuple[int, float]) -> Candidate:
    """A candidate with (rank, score) per lane; its fused score falls with its number."""
    contributions = tuple(Contribution(lane, rank, score, 0.0) for lane, (rank, score) in lanes.items())
    return Candidate(f"id{number}", place, 1.0 / (60 + number), contributions)


def both(repos: Sequence[str], dense: Sequence[float]) -> list[Candidate]:
    return [
        found(address(f"o/{repo}", f"f{i}.py", f"f{i}"), i, keyword=(i + 1, 10.0 - i), dense=(i + 1, score))
        for i, (repo, score) in enumerate(zip(repos, dense, strict=True))
    ]


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


def test_a_result_pays_for_each_one_above_from_its_repository() -> None:
    head = both("aaab", [0.9, 0.8, 0.7, 0.6])
    order, paid = spread_out(np.array([1.0, 0.9, 0.8, 0.75]), head, 0.2)
    assert order.tolist() == [0, 3, 1, 2]
    assert paid.tolist() == pytest.approx([0.0, 0.2, 0.4, 0.0])


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.integers(0, 1000).map(lambda share: share / 1000)), min_size=1, max_size=40
    )
)
def test_spreading_keeps_the_order_within_a_repository(rows: list[tuple[str, float]]) -> None:
    head = both([repo for repo, _ in rows], [0.5] * len(rows))
    scores = np.array([score for _, score in rows])
    order, paid = spread_out(scores, head, 0.3)
    assert sorted(order) == list(range(len(rows)))
    assert paid.max() <= 0.3 * MOST_PAID + 1e-9
    for repo in "abc":
        own = [scores[i] for i in order if rows[i][0] == repo]
        assert own == sorted(own, reverse=True)


def test_more_spread_shows_more_repositories_and_no_spread_is_pure_score() -> None:
    head = both("aaaaaaaabbccddee", np.linspace(0.9, 0.1, 16).tolist())

    def repositories(spread: float) -> int:
        return len({candidate.address.repo for candidate in Learnt(spread=spread)(head, CONTEXT)[:6]})

    assert repositories(0.0) < repositories(1.0) <= repositories(3.0)


def test_where_the_call_graph_had_a_say_the_order_stays() -> None:
    head = [
        found(address("o/a", "f.py", f"f{i}"), i, keyword=(5 - i, 1.0), graph=(i + 1, 1.0), dense=(5 - i, 0.5))
        for i in range(4)
    ]
    assert [candidate.id for candidate in Learnt()(head, CONTEXT)] == [candidate.id for candidate in head]


def test_one_lane_alone_keeps_its_order_but_for_near_ties() -> None:
    scores = [1.0, 0.5, 0.49, 0.0]
    head = [
        Candidate(f"id{i}", address(f"o/{repo}", "f.py", f"f{i}"), scores[i], (Contribution("dense", i + 1, 1, 1),))
        for i, repo in enumerate("aabc")
    ]
    assert [candidate.id for candidate in Learnt()(head, CONTEXT)] == ["id0", "id2", "id1", "id3"]


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
