"""Reciprocal rank fusion: a lane's rank r is worth weight / (60 + r), whatever its scores mean.

Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning Methods",
SIGIR 2009.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from treeline.rerank.candidates import Candidate
from treeline.rerank.ranked_list import QueryTraits, RankedList, sum_of_shares, weight_of

K = 60  # the paper's constant: large enough that one lane's first place does not outvote two good places


def rrf(
    lists: Sequence[RankedList], weights: Mapping[str, float], asked: QueryTraits, limit: int
) -> Sequence[Candidate]:
    """Fuse by reciprocal rank; what was asked makes no difference here (see `adaptive`)."""
    shares = [weight_of(ranked.lane, weights) / (K + np.arange(1, len(ranked.hits) + 1)) for ranked in lists]
    return sum_of_shares(lists, shares, limit)
