"""Weighted sum of normalised scores (CombSUM): each lane's scores are brought to 0 … 1 by minimum and maximum.

Fox and Shaw, "Combination of Multiple Searches", TREC-2, 1994; the convex combination that Bruch, Gai and Ingber
("An Analysis of Fusion Functions for Hybrid Retrieval", ACM TOIS 2023) find better than RRF once its weights are
chosen, as was found here (docs/research/lanes.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from treeline.engine.hits import Scores, scores_of
from treeline.rerank.candidates import Candidate
from treeline.rerank.ranked_list import QueryTraits, RankedList, sum_of_shares, weight_of

# Their scores are shares of one already (how surely named, how many edges away), so that the last of a list is still
# worth its distance, and a guess is a guess also where nothing is surer. BM25 and cosines have no such scale: their
# last is worth nothing.
AS_THEY_ARE = frozenset({"graph", "callees"})


def score_sum(
    lists: Sequence[RankedList], weights: Mapping[str, float], asked: QueryTraits, limit: int
) -> Sequence[Candidate]:
    """Fuse by weighted, normalised score; the weights are taken as shares of one."""
    filled = [ranked for ranked in lists if ranked.hits]
    total = sum(weight_of(ranked.lane, weights) for ranked in filled) or 1.0
    shares = []
    for ranked in filled:
        weight = weight_of(ranked.lane, weights) / total
        scores = scores_of(ranked.hits)
        shares.append(weight * (scores if ranked.lane in AS_THEY_ARE else normalised(scores)))
    return sum_of_shares(filled, shares, limit)


def normalised(scores: Scores) -> Scores:
    """Scores from 0 to 1; all ones when they do not differ."""
    low, high = scores.min(), scores.max()
    if high <= low:
        return np.ones(len(scores))
    scaled: Scores = (scores - low) / (high - low)
    return scaled
