"""Weighted sum of normalised scores (CombSUM): each lane's scores are brought to 0 … 1 by minimum and maximum.

Fox and Shaw, "Combination of Multiple Searches", TREC-2, 1994; the convex combination that Bruch, Gai and Ingber
("An Analysis of Fusion Functions for Hybrid Retrieval", ACM TOIS 2023) find at least as good as RRF once its weights
are chosen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rerank.candidate import Candidate
from rerank.ranked import RankedList, sum_of_shares, weight_of


def score_sum(lists: Sequence[RankedList], weights: Mapping[str, float], kind: str, limit: int) -> list[Candidate]:
    """Fuse by weighted, normalised score; the weights are taken as shares of one."""
    filled = [ranked for ranked in lists if ranked.hits]
    total = sum(weight_of(ranked.lane, weights) for ranked in filled) or 1.0
    shares = [
        [weight_of(ranked.lane, weights) / total * value for value in normalised([hit.score for hit in ranked.hits])]
        for ranked in filled
    ]
    return sum_of_shares(filled, shares, limit)


def normalised(scores: Sequence[float]) -> list[float]:
    """Scores from 0 to 1; all ones when they do not differ."""
    low, high = min(scores), max(scores)
    if high == low:
        return [1.0] * len(scores)
    return [(score - low) / (high - low) for score in scores]
