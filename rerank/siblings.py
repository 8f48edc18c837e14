"""Agreement of siblings: a candidate whose neighbours in the tree were found too is more likely meant.

Our own, after cluster-based smoothing of retrieval scores (Kurland & Lee, "Corpus structure, language models, and ad
hoc information retrieval", SIGIR 2004): score + weight · Σ over the others of score · e^(−tree distance).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treeline.graph.local_tree import local_tree
from treeline.rerank.arrange import DEPTH, arrange
from treeline.rerank.candidate import Candidate, RerankContext

WEIGHT = 0.2
REACH = 2.0  # in steps of the tree: functions of one file are 2 apart


def support(scores: NDArray[np.float64], distances: NDArray[np.float64], reach: float = REACH) -> NDArray[np.float64]:
    """What each candidate's neighbours bring: their scores, fading with the distance."""
    near = np.exp(-distances / reach)
    np.fill_diagonal(near, 0.0)
    result: NDArray[np.float64] = near @ scores
    return result


@dataclass(frozen=True, slots=True)
class Siblings:
    """The list by score and support together."""

    weight: float = WEIGHT

    def __call__(self, candidates: Sequence[Candidate], context: RerankContext) -> Sequence[Candidate]:
        if not candidates:
            return []
        head = candidates[:DEPTH]
        local = local_tree([candidate.address for candidate in head])
        scores = np.array([candidate.score for candidate in head])
        gained = self.weight * support(scores, local.distances)
        order = np.argsort(-(scores + gained), kind="stable").tolist()
        reasons = [
            f"neighbours in the tree add {100 * g / s:.0f} %" if s > 0 else ""
            for g, s in zip(gained, scores, strict=True)
        ]
        return arrange(candidates, order, reasons=reasons)
