"""The default: results pay for those above from their repository, but for what the call graph found."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.graph.trees import address
from tests.rerank.candidates import CONTEXT, both, found
from treeline.rerank.candidates import Candidate, Contribution
from treeline.rerank.spread import ELSEWHERE, MOST_PAID, Spread, spread_out


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


def test_where_the_call_graph_had_a_say_the_order_stays() -> None:
    head = [
        found(address("o/a", "f.py", f"f{i}"), i, keyword=(5 - i, 1.0), graph=(i + 1, 1.0), dense=(5 - i, 0.5))
        for i in range(4)
    ]
    assert [candidate.id for candidate in Spread()(head, CONTEXT)] == [candidate.id for candidate in head]


def test_one_lane_alone_keeps_its_order_but_for_near_ties() -> None:
    scores = [1.0, 0.5, 0.49, 0.0]
    head = [
        Candidate(f"id{i}", address(f"o/{repo}", "f.py", f"f{i}"), scores[i], (Contribution("dense", i + 1, 1, 1),))
        for i, repo in enumerate("aabc")
    ]
    assert [candidate.id for candidate in Spread()(head, CONTEXT)] == ["id0", "id2", "id1", "id3"]


def test_more_cost_shows_more_repositories_and_those_that_moved_say_why() -> None:
    head = both("aaaaaaaabbccddee", np.linspace(0.9, 0.1, 16).tolist())

    def repositories(cost: float) -> int:
        return len({candidate.address.repo for candidate in Spread(cost)(head, CONTEXT)[:6]})

    assert repositories(0.0) == 1 < repositories(0.1) < repositories(0.4)
    assert [candidate.id for candidate in Spread(0.0)(head, CONTEXT)] == [candidate.id for candidate in head]
    moved = {candidate.moved: candidate.reason for candidate in Spread(0.4)(head, CONTEXT)}
    assert {reason for by, reason in moved.items() if by > 0} == {ELSEWHERE}
    assert {reason for by, reason in moved.items() if by < 0} == {
        "lowered: results from elsewhere in the tree go first"
    }


def test_nothing_found_is_nothing_spread() -> None:
    assert not list(Spread()([], CONTEXT))
