"""Algorithms 1 and 2 of the paper by worked examples."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.graph.trees import address
from tests.rerank.candidates import CONTEXT, ranked
from treeline.graph.local_tree import LocalTree
from treeline.rerank.algorithms import Algorithm1, Algorithm2, apportion
from treeline.rerank.clustering import Labels

# Three repositories: six candidates of one, three of another, one of the third.
REPOS = [0, 0, 1, 0, 0, 2, 0, 1, 0, 1]
SCORES = [1.0, 0.95, 0.9, 0.5, 0.4, 0.35, 0.3, 0.25, 0.2, 0.1]
CANDIDATES = ranked([address(f"o/r{repo}", "f.py", f"f{i}") for i, repo in enumerate(REPOS)], SCORES)


def by_repository(local: LocalTree, count: int, seed: int = 0) -> Labels:
    return np.array(REPOS[: len(local.leaves)], dtype=np.intp)


def test_algorithm_1_shows_the_best_of_each_cluster_clusters_by_average_score() -> None:
    # Averages: r0 .558, r1 .417, r2 .35.
    found = Algorithm1(by_repository)(CANDIDATES, CONTEXT)
    assert [candidate.id for candidate in found[:3]] == ["id0", "id2", "id5"]
    assert [candidate.id for candidate in found[3:]] == ["id1", "id3", "id4", "id6", "id7", "id8", "id9"]
    assert [candidate.cluster for candidate in found[:3]] == [0, 1, 2]
    assert "best of its cluster of 6" in found[0].reason


def test_algorithm_2_takes_from_each_cluster_by_its_share_of_the_candidates() -> None:
    # Five places for 6 : 3 : 1 are 3 : 1.5 : .5, the tie of the remainders to the cluster with the better average.
    found = Algorithm2(by_repository, length=5)(CANDIDATES, CONTEXT)
    assert [candidate.id for candidate in found[:5]] == ["id0", "id1", "id3", "id2", "id7"]
    assert found[0].reason == "one of the 3 places that its cluster of 6 has among the first"
    short = Algorithm2(by_repository, length=3)(CANDIDATES, CONTEXT)
    assert short[2].reason == "the one place that its cluster of 3 has among the first"
    ordered = Algorithm2(by_repository, length=5, by_score=True)(CANDIDATES, CONTEXT)
    assert [candidate.id for candidate in ordered[:5]] == ["id0", "id1", "id2", "id3", "id7"]


@given(st.lists(st.integers(1, 20), min_size=1, max_size=12), st.integers(0, 60))
def test_shares_deal_out_every_place_and_nobody_gets_more_than_it_has(sizes: list[int], places: int) -> None:
    given_out = apportion(sizes, places)
    assert sum(given_out) == min(places, sum(sizes))
    assert all(0 <= count <= size for count, size in zip(given_out, sizes, strict=True))


@given(st.lists(st.integers(1, 30), min_size=1, max_size=10), st.integers(1, 10))
def test_shares_by_count_are_within_one_of_the_exact_proportion(sizes: list[int], places: int) -> None:
    places = min(places, sum(sizes))
    for count, size in zip(apportion(sizes, places), sizes, strict=True):
        assert abs(count - places * size / sum(sizes)) < 1
