"""Optional refinement of an embedding in d dimensions by Riemannian Adam, kept only where it lowers distortion.

Bécigneul & Ganea, "Riemannian Adaptive Optimization Methods", ICLR 2019, as implemented by geoopt. geoopt clips
points near the rim (its distance saturates at 16.8 in float64), so the start is the combinatorial embedding at a
scale that stays well inside; it needs the `transformers` extra (torch) and is imported only when called.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from treeline.corpus.errors import InputError
from treeline.graph import hyperbolic
from treeline.graph.embedding import Embedding, Nodes, average_distortion, centred, embed, heights
from treeline.graph.hyperbolic import Floats

SAFE_REACH = 6.0  # two points this far out on opposite sides are 12 apart, where geoopt's distance is still exact
STEPS = 300
RATE = 0.02


@dataclass(frozen=True, slots=True)
class Refined:
    """The better of the two embeddings of the candidates, with the average distortion before and after."""

    embedding: Embedding
    before: float
    after: float
    kept: bool


def refine(
    parents: Nodes, weights: Floats, leaves: Nodes, tree: Floats, *, dimension: int = 2, steps: int = STEPS
) -> Refined:
    """Move the leaves so that their distances come nearer to `tree`; the combinatorial points where that fails."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # geoopt compiles with what torch has deprecated
            import geoopt
        import torch
    except ImportError as error:
        raise InputError(
            "refinement needs geoopt", "install treeline-search[transformers], or leave refinement off"
        ) from error

    hung, lengths = centred(parents, weights)
    start = embed(hung, lengths)
    best = Embedding(start.points.take(leaves.astype(np.intp)), start.scale)
    before = average_distortion(hyperbolic.distances(best.points, best.points) / best.scale, tree)

    scale = SAFE_REACH / max(float(heights(hung, lengths).max()), 1.0)
    inner = embed(hung, lengths, scale=scale).points.take(leaves.astype(np.intp))
    x = np.zeros((len(leaves), dimension))
    x[:, : min(2, dimension)] = inner.x[:, : min(2, dimension)]
    if dimension > 2:  # off the plane by a little, or the gradient into the other dimensions is zero for ever
        x[:, 2:] = np.random.default_rng(0).normal(scale=1e-3, size=(len(leaves), dimension - 2))
        x *= np.minimum(1.0, (1 - 1e-6) / np.linalg.norm(x, axis=1))[:, None]

    ball = geoopt.PoincareBall()
    points = geoopt.ManifoldParameter(torch.from_numpy(x), manifold=ball)
    log_scale = torch.tensor(np.log(scale), dtype=torch.float64, requires_grad=True)
    optimiser = geoopt.optim.RiemannianAdam([points, log_scale], lr=RATE)
    rows, columns = np.triu_indices(len(leaves), 1)
    left, right = torch.from_numpy(rows), torch.from_numpy(columns)
    wanted = torch.from_numpy(tree[rows, columns])
    for _ in range(steps):
        optimiser.zero_grad()
        found = ball.dist(points[left], points[right]) / log_scale.exp()
        loss = ((found - wanted).abs() / wanted).mean()
        loss.backward()
        optimiser.step()

    moved = hyperbolic.points(points.detach().numpy().copy())
    refined = Embedding(moved, float(log_scale.exp().item()))
    after = average_distortion(hyperbolic.distances(moved, moved) / refined.scale, tree)
    kept = after < before
    return Refined(refined if kept else best, before, after if kept else before, kept)
