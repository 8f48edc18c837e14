"""Refines an embedding in d dimensions by Riemannian Adam, and keeps the result only if it lowers distortion.

Bécigneul & Ganea, "Riemannian Adaptive Optimization Methods", ICLR 2019, as implemented by geoopt, over a sample of the
pairs of nodes at each step. geoopt clips points near the rim (its distance saturates at 16.8 in float64), so the start
is the combinatorial embedding at a scale that stays well inside. Needs the `transformers` extra (torch), which is
imported only when called. docs/research/rerankers.md shows where it helps.
"""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from treeline.corpus.errors import InputError
from treeline.corpus.frozen import frozen
from treeline.graph import hyperbolic
from treeline.graph.embedding import (
    Embedding,
    Nodes,
    average_distortion,
    embed,
    heights,
    quality,
    reroot,
    tree_distance,
)
from treeline.graph.global_embedding import GlobalEmbedding, is_separable
from treeline.graph.hyperbolic import Floats, Points
from treeline.graph.tree import Tree

SAFE_REACH = 8.0  # two points this far out on opposite sides are 16 apart, where geoopt's distance still has digits
STEPS = 300
RATE = 0.1  # the better of .02 and .1, each tried with a reach of 6 and 8; decays by a cosine
PAIRS = 5_000  # per step; a list of 100 results has about 10,000 pairs of nodes, a repository millions
POOL = 200_000  # pairs from which those of a step are drawn
TEST_PAIRS = 20_000  # separate pairs, on which the two embeddings are compared


@frozen
class Refinement:
    """The better of the two embeddings, with the average distortion before and after."""

    embedding: Embedding
    before: float
    after: float
    is_better: bool


def refine(parents: Nodes, weights: Floats, *, dimension: int = 2, steps: int = STEPS, seed: int = 0) -> Refinement:
    """Move all nodes so that their distances approach the tree's; returns the start if distortion does not fall."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # geoopt uses a deprecated torch compiler
            import geoopt
        import torch
    except ImportError as error:
        raise InputError(
            "refinement needs geoopt", "pip install '.[transformers]' in Treeline's checkout, or leave refinement off"
        ) from error

    count = len(parents)
    tree, lengths = reroot(parents, weights)
    nodes = np.arange(count)  # centring may have added one
    start = embed(tree, lengths)
    start = Embedding(_lift(start.points.take(nodes), dimension), start.scale)
    random = np.random.default_rng(seed)
    test_pairs, learnt = _pairs(count, TEST_PAIRS, random), _pairs(count, POOL, random)
    test_distances, apart = (tree_distance(parents, weights, *pairs) for pairs in (test_pairs, learnt))
    before = _distortion(start, test_pairs, test_distances)
    if count < 3:
        return Refinement(start, before, before, is_better=False)

    scale = SAFE_REACH / max(float(heights(tree, lengths).max()), 1.0)
    x = _lift(embed(tree, lengths, scale=scale).points.take(nodes), dimension).x
    if dimension > 2:  # slightly off the plane; on it, the gradient into the other dimensions stays zero
        x[:, 2:] = random.normal(scale=1e-3, size=(count, dimension - 2))
        x *= np.minimum(1.0, (1 - 1e-6) / np.linalg.norm(x, axis=1))[:, None]
    ball = geoopt.PoincareBall()
    points = geoopt.ManifoldParameter(torch.from_numpy(x), manifold=ball)
    log_scale = torch.tensor(np.log(scale), dtype=torch.float64, requires_grad=True)
    optimiser = geoopt.optim.RiemannianAdam([points, log_scale], lr=RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    for _ in range(steps):
        sample = random.integers(len(apart), size=min(PAIRS, len(apart)))
        one, other, steps_apart = (torch.from_numpy(column[sample]) for column in (*learnt, apart))
        optimiser.zero_grad()
        distances = ball.dist(points[one], points[other]) / log_scale.exp()
        ((distances - steps_apart).abs() / steps_apart).mean().backward()
        optimiser.step()
        schedule.step()

    result = Embedding(hyperbolic.points(points.detach().numpy().copy()), float(log_scale.exp().item()))
    after = _distortion(result, test_pairs, test_distances)
    is_better = after < before
    return Refinement(result if is_better else start, before, after if is_better else before, is_better)


def embed_refined(tree: Tree, dimension: int) -> GlobalEmbedding:
    """The tree in more dimensions, refined by geoopt if that lowers distortion; needs the `transformers` extra."""
    weights = (tree.parents >= 0).astype(float)
    result = refine(tree.parents, weights, dimension=dimension)
    separable = not result.is_better and is_separable(tree.parents, weights)
    return GlobalEmbedding(result.embedding, quality(result.embedding, tree.parents, weights), separable)


def _pairs(count: int, most: int, random: np.random.Generator) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """All pairs of distinct nodes, or a sample of them."""
    if count * (count - 1) // 2 <= most:
        return np.triu_indices(count, 1)
    one = random.integers(count, size=most)
    return one, (one + random.integers(1, count, size=most)) % count


def _lift(points: Points, dimension: int) -> Points:
    """The same points in more dimensions."""
    more = dimension - points.x.shape[1]
    return points if more <= 0 else Points(np.pad(points.x, ((0, 0), (0, more))), points.gap)


def _distortion(embedding: Embedding, pairs: tuple[NDArray[np.intp], NDArray[np.intp]], tree: Floats) -> float:
    one, other = (embedding.points.take(side) for side in pairs)
    return average_distortion(hyperbolic.distance(one, other) / embedding.scale, tree)
