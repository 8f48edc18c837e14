"""Clustering finds the branches of a clear-cut tree."""

from __future__ import annotations

import numpy as np

from tests.graph.trees import address
from treeline.graph.local_tree import local_tree
from treeline.rerank.clustering import (
    by_average_score,
    hyperbolic_kmeans,
    leaf_points,
    seeds,
)

CLEAR = [address(f"o/r{i % 4}", f"src/deep/er/f{i % 4}.py", f"f{i}") for i in range(40)]


def test_repositories_far_apart_are_clusters() -> None:
    labels = hyperbolic_kmeans(local_tree(CLEAR), 4)
    together = labels[:, None] == labels[None, :]
    same = np.array([[a.repo == b.repo for b in CLEAR] for a in CLEAR])
    assert (together == same).all()


def test_more_clusters_than_candidates_is_no_trouble() -> None:
    assert len(hyperbolic_kmeans(local_tree(CLEAR[:3]), 10)) == 3
    assert hyperbolic_kmeans(local_tree(CLEAR[:1]), 10).tolist() == [0]


def test_seeds_are_spread_over_the_branches() -> None:
    chosen = seeds(leaf_points(local_tree(CLEAR)), 4)
    assert len({CLEAR[i].repo for i in chosen}) >= 3


def test_clusters_come_by_average_score_and_keep_the_order_of_the_list() -> None:
    groups = by_average_score(np.array([0, 1, 0, 1]), [1.0, 0.9, 0.2, 0.8])
    assert groups == [[1, 3], [0, 2]]
