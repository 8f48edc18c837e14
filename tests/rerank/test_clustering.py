"""Every clustering method finds the branches of a clear-cut tree."""

from __future__ import annotations

import numpy as np
import pytest

from tests.graph.trees import address
from treeline.graph.local_tree import local_tree
from treeline.rerank.clustering import (
    Clusterer,
    by_average_score,
    hyperbolic_kmeans,
    kmeans,
    leaf_points,
    lloyd,
    seeds,
    spectral,
)

CLEAR = [address(f"o/r{i % 4}", f"src/deep/er/f{i % 4}.py", f"f{i}") for i in range(40)]
METHODS = pytest.mark.parametrize("cluster", [kmeans, hyperbolic_kmeans, spectral])


@METHODS
def test_repositories_far_apart_are_clusters(cluster: Clusterer) -> None:
    labels = cluster(local_tree(CLEAR), 4)
    together = labels[:, None] == labels[None, :]
    same = np.array([[a.repo == b.repo for b in CLEAR] for a in CLEAR])
    assert (together == same).all()


@METHODS
def test_more_clusters_than_candidates_is_no_trouble(cluster: Clusterer) -> None:
    assert len(cluster(local_tree(CLEAR[:3]), 10)) == 3
    assert cluster(local_tree(CLEAR[:1]), 10).tolist() == [0]


def test_seeds_are_spread_over_the_branches() -> None:
    chosen = seeds(leaf_points(local_tree(CLEAR)), 4)
    assert len({CLEAR[i].repo for i in chosen}) >= 3


def test_clusters_come_by_average_score_and_keep_the_order_of_the_list() -> None:
    groups = by_average_score(np.array([0, 1, 0, 1]), [1.0, 0.9, 0.2, 0.8])
    assert groups == [[1, 3], [0, 2]]


@pytest.mark.parametrize("seed", range(5))
def test_k_means_is_as_tight_as_scikit_learns(seed: int) -> None:
    """Overlapping groups of uneven size: four clear-cut ones are found by nearly anything."""
    from sklearn.cluster import KMeans

    random = np.random.default_rng(seed)
    centres = random.normal(size=(9, 2)) * 2
    points = centres[random.choice(9, 120, p=np.arange(1, 10) / 45)] + random.normal(size=(120, 2))
    labels = lloyd(points, 8, seed)
    spread = sum(((points[labels == one] - points[labels == one].mean(axis=0)) ** 2).sum() for one in set(labels))
    assert spread <= 1.1 * KMeans(8, n_init=10, random_state=0).fit(points).inertia_
