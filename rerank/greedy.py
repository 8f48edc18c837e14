"""Greedy diversity: picks the best score less a penalty for tree neighbours already picked.

Carbonell & Goldstein, "The use of MMR, diversity-based reranking…", SIGIR 1998, with nearness in the tree as the
similarity: λ·score − (1 − λ)·max similarity to what is already shown.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from treeline.corpus.frozen import frozen
from treeline.graph.local_tree import local_tree
from treeline.rerank.candidates import DEPTH, Candidate, RerankContext, arrange, min_max

PENALTY = 0.1  # 1 − λ; see docs/research/rerankers.md for the sweep


def nearness(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 for the same node, falling to 0 at the longest distance in the list."""
    longest = distances.max()
    return 1.0 - distances / longest if longest > 0 else np.ones_like(distances)


def greedy_order(scores: NDArray[np.float64], similar: NDArray[np.float64], penalty: float) -> list[int]:
    """Positions, best marginal score first; ties keep their order."""
    order: list[int] = []
    rest = scores.copy()
    worst = np.zeros(len(scores))
    for _ in range(len(scores)):
        pick = int((rest - penalty * worst).argmax())
        order.append(pick)
        rest[pick] = -np.inf
        np.maximum(worst, similar[pick], out=worst)
    return order


@frozen
class Greedy:
    """The re-ranker; scores are scaled to 0…1, so that the penalty means the same for every query."""

    penalty: float = PENALTY

    def __call__(self, candidates: Sequence[Candidate], context: RerankContext) -> Sequence[Candidate]:
        if not candidates:
            return []
        head = candidates[:DEPTH]
        local = local_tree([candidate.address for candidate in head])
        scores = np.array([candidate.score for candidate in head])
        order = greedy_order(min_max(scores), nearness(local.distances), self.penalty)
        reasons = [""] * len(head)
        for rank, i in enumerate(order):
            if rank > i:
                reasons[i] = "gave way to results from elsewhere in the tree"
            elif rank < i:
                reasons[i] = "farther in the tree from the results above"
        return arrange(candidates, order, reasons=reasons)
