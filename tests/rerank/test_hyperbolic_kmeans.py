"""k-means in the disk begins with seeds that are far from each other; what it finds is in `test_clustering`."""

from __future__ import annotations

from tests.rerank.test_clustering import CLEAR
from treeline.graph.local_tree import local_tree
from treeline.rerank import hyperbolic_kmeans
from treeline.rerank.clusters import leaf_points


def test_seeds_are_spread_over_the_branches() -> None:
    seeds = hyperbolic_kmeans.seeds(leaf_points(local_tree(CLEAR)), 4)
    assert len({CLEAR[i].repo for i in seeds}) >= 3
