"""Weighted sum of normalised scores (CombSUM): each lane's scores are brought to 0 … 1 by minimum and maximum.

Fox and Shaw, "Combination of Multiple Searches", TREC-2, 1994; the convex combination that Bruch, Gai and Ingber
("An Analysis of Fusion Functions for Hybrid Retrieval", ACM TOIS 2023) find better than RRF once its weights are
chosen, as was found here (docs/lanes.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from engine.hits import Scores, scores_of
from rerank.candidate import Candidate
from rerank.ranked import Asked, RankedList, sum_of_shares, weight_of

# Their scores have a zero that means something (how many edges away), so that the last of a list is still worth its
# distance. A lane of 300 by BM25 or cosine has none: its last is worth nothing.
FROM_ZERO = frozenset({"graph", "callees"})


def score_sum(
    lists: Sequence[RankedList], weights: Mapping[str, float], asked: Asked, limit: int
) -> Sequence[Candidate]:
    """Fuse by weighted, normalised score; the weights are taken as shares of one."""
    filled = [ranked for ranked in lists if ranked.hits]
    total = sum(weight_of(ranked.lane, weights) for ranked in filled) or 1.0
    shares = []
    for ranked in filled:
        weight = weight_of(ranked.lane, weights) / total
        shares.append(weight * normalised(scores_of(ranked.hits), from_zero=ranked.lane in FROM_ZERO))
    return sum_of_shares(filled, shares, limit)


def normalised(scores: Scores, *, from_zero: bool = False) -> Scores:
    """Scores from 0 to 1; all ones when they do not differ."""
    low, high = 0.0 if from_zero else scores.min(), scores.max()
    if high <= low:
        return np.ones(len(scores))
    scaled: Scores = (scores - low) / (high - low)
    return scaled
