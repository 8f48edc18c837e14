"""k-means in the disk itself: seeded by hyperbolic distance, with means that are points of the disk.

Seeds by k-means++ (Arthur & Vassilvitskii, SODA 2007) with the hyperbolic distance in place of the Euclidean one;
means are Fréchet means (Karcher 1977), each iteration starting from the last one's.
"""

from __future__ import annotations

import numpy as np

from treeline.graph.hyperbolic import Points, distances, frechet_means
from treeline.graph.local_tree import LocalTree
from treeline.rerank.clusters import Labels, leaf_points

ITERATIONS = 8  # assignments of real lists of 100 settle in 3 to 6
STEPS_A_MEAN = 4  # the next iteration goes on from where this one's mean stands


def cluster(local: LocalTree, count: int, seed: int = 0) -> Labels:
    points = leaf_points(local)
    count = min(count, len(points))
    means = points.take(seeds(points, count, seed))
    labels: Labels = distances(points, means).argmin(axis=1)
    for _ in range(ITERATIONS):
        means = frechet_means(points, labels, count, start=means, steps=STEPS_A_MEAN)
        moved = distances(points, means).argmin(axis=1)
        if (moved == labels).all():
            break
        labels = moved
    return labels


def seeds(points: Points, count: int, seed: int = 0) -> list[int]:
    """k-means++: the first at the top of the list, each next with a chance by its squared distance to the nearest."""
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
