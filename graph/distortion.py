"""How well an embedding keeps a tree: average distortion and mean average precision.

Both as in De Sa et al. 2018, section 2: distortion is |d_H/scale − d_T| / d_T over pairs; the average precision of a
node asks, for each of its neighbours, how many of the points at least as near are neighbours too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treeline.graph import hyperbolic
from treeline.graph.combinatorial import Embedding, Nodes, heights
from treeline.graph.hyperbolic import Floats


@dataclass(frozen=True, slots=True)
class Quality:
    """An embedding in figures; over a sample where the tree has too many pairs."""

    average_distortion: float
    mean_average_precision: float
    pairs: int
    nodes: int


def average_distortion(embedded: Floats, tree: Floats) -> float:
    """Mean relative error of the embedded distances (already divided by the scale) over pairs that differ."""
    apart = tree > 0
    return float(np.mean(np.abs(embedded[apart] - tree[apart]) / tree[apart])) if apart.any() else 0.0


def tree_distance(parents: Nodes, weights: Floats, a: NDArray[np.intp], b: NDArray[np.intp]) -> Floats:
    """Weighted path length between the nodes of `a` and `b`, pair by pair: both climb until they meet."""
    height = heights(parents, weights)
    steps = heights(parents, (parents >= 0).astype(float))
    left, right = a.copy(), b.copy()
    while (differ := left != right).any():
        climb_left = differ & (steps[left] >= steps[right])
        climb_right = differ & (steps[right] >= steps[left])
        left, right = np.where(climb_left, parents[left], left), np.where(climb_right, parents[right], right)
    return height[a] + height[b] - 2 * height[left]


def mean_average_precision(embedding: Embedding, parents: Nodes, nodes: NDArray[np.intp]) -> float:
    """Over these nodes, each against all points."""
    scores: list[float] = []
    for node in nodes:
        away = hyperbolic.distances(embedding.points.take([int(node)]), embedding.points)[0]
        away[node] = np.inf
        neighbours = np.flatnonzero(parents == node)
        if parents[node] >= 0:
            neighbours = np.append(neighbours, parents[node])
        if not len(neighbours):
            continue
        reach = np.sort(away[neighbours])
        within = np.searchsorted(np.sort(away), reach, side="right")
        hits = np.searchsorted(reach, reach, side="right")
        scores.append(float(np.mean(hits / within)))
    return float(np.mean(scores)) if scores else 1.0


def quality(embedding: Embedding, parents: Nodes, weights: Floats, *, sample: int = 200, seed: int = 0) -> Quality:
    """Both figures over all pairs and nodes of a small tree, over `sample` nodes and sample² pairs of a large one."""
    random = np.random.default_rng(seed)
    count = len(parents)
    if count <= sample:
        a, b = np.triu_indices(count, 1)
        nodes = np.arange(count)
    else:
        a, b = random.integers(count, size=(2, sample * sample))
        nodes = random.choice(count, size=sample, replace=False)
    embedded = hyperbolic.distance(embedding.points.take(a), embedding.points.take(b)) / embedding.scale
    return Quality(
        average_distortion(embedded, tree_distance(parents, weights, a, b)),
        mean_average_precision(embedding, parents, nodes),
        len(a),
        len(nodes),
    )
