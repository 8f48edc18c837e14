"""Three ways to cluster the candidates of a query by their places in the repository tree.

- `hyperbolic_kmeans`: k-means in the Poincaré disk. Seeds by k-means++ (Arthur & Vassilvitskii, SODA 2007) with
  hyperbolic distance; means are Fréchet means (Karcher 1977).
- `kmeans`: scikit-learn's k-means on the disk's coordinates, as if it were flat: the baseline. Lloyd, "Least squares
  quantization in PCM", 1982.
- `spectral`: scikit-learn's spectral clustering on tree distances, without an embedding. Ng, Jordan & Weiss, "On
  Spectral Clustering: Analysis and an Algorithm", NIPS 2001.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from treeline.graph.embedding import centred, embed
from treeline.graph.hyperbolic import Points, distances, frechet_means
from treeline.graph.local_tree import LocalTree

ITERATIONS = 8  # assignments of real lists of 100 settle in 3 to 6
STEPS_PER_MEAN = 4  # few, because the next iteration continues from this one's mean

Labels = NDArray[np.intp]


class Clusterer(Protocol):
    """Puts the leaves of a query-local tree into at most `count` clusters."""

    def __call__(self, local: LocalTree, count: int, seed: int = 0) -> Labels: ...


def hyperbolic_kmeans(local: LocalTree, count: int, seed: int = 0) -> Labels:
    """k-means with hyperbolic distances and Fréchet means."""
    points = leaf_points(local)
    count = min(count, len(points))
    means = points.take(seeds(points, count, seed))
    labels: Labels = distances(points, means).argmin(axis=1)
    for _ in range(ITERATIONS):
        means = frechet_means(points, labels, count, start=means, steps=STEPS_PER_MEAN)
        moved = distances(points, means).argmin(axis=1)
        if (moved == labels).all():
            break
        labels = moved
    return labels


def seeds(points: Points, count: int, seed: int = 0) -> list[int]:
    """k-means++ seeds: the first candidate, then each with a probability by its squared distance to the nearest."""
    random = np.random.default_rng(seed)
    chosen = [0]
    nearest = distances(points, points.take([0]))[:, 0] ** 2
    while len(chosen) < count:
        total = nearest.sum()
        if total <= 0:
            break
        pick = int(np.searchsorted(np.cumsum(nearest), random.random() * total, side="right"))
        chosen.append(min(pick, len(points) - 1))
        nearest = np.minimum(nearest, distances(points, points.take([chosen[-1]]))[:, 0] ** 2)
    return chosen


def kmeans(local: LocalTree, count: int, seed: int = 0) -> Labels:
    """k-means with Euclidean distances between the disk's coordinates."""
    from sklearn.cluster import KMeans  # a second to import: only when this method is used

    points = leaf_points(local).x
    distinct = np.unique(points.round(12), axis=0)
    means = KMeans(min(count, len(distinct)), n_init=1, random_state=seed)
    labels: Labels = means.fit_predict(points).astype(np.intp)
    return labels


def spectral(local: LocalTree, count: int, seed: int = 0) -> Labels:
    """Spectral clustering of the tree distances."""
    from sklearn.cluster import SpectralClustering  # a second to import: only when this method is used

    if len(local.leaves) <= count:
        return np.arange(len(local.leaves), dtype=np.intp)
    between = local.distances
    width = np.median(between[between > 0])  # the usual kernel width: the typical distance
    affinity = np.exp(-((between / width) ** 2))
    model = SpectralClustering(count, affinity="precomputed", assign_labels="cluster_qr", random_state=seed)
    labels: Labels = model.fit_predict(affinity).astype(np.intp)
    return labels


def leaf_points(local: LocalTree) -> Points:
    """The candidates' points in the disk."""
    parents, weights = centred(local.parents, local.weights)
    return embed(parents, weights).points.take(local.leaves.astype(np.intp))


def by_average_score(labels: Labels, scores: Sequence[float]) -> list[list[int]]:
    """The members of each cluster in list order, the cluster with the best average score first."""
    members: dict[int, list[int]] = {}
    for position, label in enumerate(labels.tolist()):
        members.setdefault(label, []).append(position)
    averages = {label: sum(scores[i] for i in found) / len(found) for label, found in members.items()}
    return [members[label] for label in sorted(members, key=lambda label: (-averages[label], members[label][0]))]
