"""What all clustering methods promise, claimed of each: they find the branches of a clear-cut tree."""

from __future__ import annotations

import numpy as np
import pytest

from tests.graph.trees import address
from treeline.graph.local_tree import local_tree
from treeline.rerank import hyperbolic_kmeans, kmeans, spectral
from treeline.rerank.clusters import Clusterer

CLEAR = [address(f"o/r{i % 4}", f"src/deep/er/f{i % 4}.py", f"f{i}") for i in range(40)]
METHODS = pytest.mark.parametrize("cluster", [kmeans.cluster, hyperbolic_kmeans.cluster, spectral.cluster])


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
