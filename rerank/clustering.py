"""Three ways to cluster the candidates of a query by their position in the repository tree.

- `hyperbolic_kmeans`: k-means in the Poincaré disk. Seeds by k-means++ (Arthur & Vassilvitskii, SODA 2007) with
  hyperbolic distance; means are Fréchet means (Karcher 1977).
- `kmeans`: k-means on the disk's coordinates, as if it were flat: the baseline. Lloyd, "Least squares quantization in
  PCM", 1982.
- `spectral`: spectral clustering on tree distances, without an embedding. Ng, Jordan & Weiss, "On Spectral Clustering:
  Analysis and an Algorithm", NIPS 2001.

All are plain numpy: a worker's first request waited 4 to 39 s for the import of scikit-learn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from treeline.graph.embedding import embed, reroot
from treeline.graph.hyperbolic import Points, distances, frechet_means
from treeline.graph.local_tree import LocalTree

ITERATIONS = 8  # assignments of real lists of 100 settle in 3 to 6
STEPS_PER_MEAN = 4  # few, because the next iteration continues from this one's mean

Labels = NDArray[np.intp]


class Clusterer(Protocol):
    """Divides the leaves of a query-local tree into at most `count` clusters."""

    def __call__(self, local: LocalTree, count: int, seed: int = 0) -> Labels: ...


def hyperbolic_kmeans(local: LocalTree, count: int, seed: int = 0) -> Labels:
    """k-means with hyperbolic distances and Fréchet means."""
    return hyperbolic_kmeans_points(leaf_points(local), count, seed)


def hyperbolic_kmeans_points(points: Points, count: int, seed: int = 0) -> Labels:
    """`hyperbolic_kmeans` for given points; points that float64 cannot tell apart share a seed."""
    means = points.take(seeds(points, min(count, len(points)), seed))
    count = len(means)
    labels: Labels = distances(points, means).argmin(axis=1)
    for _ in range(ITERATIONS):
        means = frechet_means(points, labels, count, start=means, steps=STEPS_PER_MEAN)
        nearest = distances(points, means).argmin(axis=1)
        if (nearest == labels).all():
            break
        labels = nearest
    return labels


def seeds(points: Points, count: int, seed: int = 0) -> list[int]:
    """k-means++ seeds: the first candidate, then each with a probability by its squared distance to the nearest."""
    random = np.random.default_rng(seed)
    picks = [0]
    nearest = distances(points, points.take([0]))[:, 0] ** 2
    while len(picks) < count:
        total = nearest.sum()
        if total <= 0:
            break
        pick = int(np.searchsorted(np.cumsum(nearest), random.random() * total, side="right"))
        picks.append(min(pick, len(points) - 1))
        nearest = np.minimum(nearest, distances(points, points.take([picks[-1]]))[:, 0] ** 2)
    return picks


def leaf_points(local: LocalTree) -> Points:
    """The candidates' points in the disk."""
    parents, weights = reroot(local.parents, local.weights)
    return embed(parents, weights).points.take(local.leaves.astype(np.intp))


def by_average_score(labels: Labels, scores: Sequence[float]) -> list[list[int]]:
    """The members of each cluster in list order, the cluster with the best average score first."""
    members: dict[int, list[int]] = {}
    for position, label in enumerate(labels.tolist()):
        members.setdefault(label, []).append(position)
    averages = {label: sum(scores[i] for i in own) / len(own) for label, own in members.items()}
    return [members[label] for label in sorted(members, key=lambda label: (-averages[label], members[label][0]))]
