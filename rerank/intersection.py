"""Intersection first: what every lane found, by reciprocal rank, then the rest, the dense lane's first.

As seen in a CodeSearchNet engine for Ruby that intersects keyword and embedding results and fills the list up from
the embedding's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from treeline.rerank.candidates import Candidate
from treeline.rerank.ranked_list import QueryTraits, RankedList, sum_of_shares, weight_of
from treeline.rerank.rrf import K

FILLER = "dense"
# Lifts the intersection over everything else and the filler over the remaining lanes, and is part of the shares, so
# that the contributions still add up to the score. A sum of reciprocal ranks with sane weights is far below.
LIFT = 10.0


def intersection(
    lists: Sequence[RankedList], weights: Mapping[str, float], asked: QueryTraits, limit: int
) -> Sequence[Candidate]:
    """Fuse by reciprocal rank within three tiers: in all lanes, in a dense lane, elsewhere."""
    filled = [ranked for ranked in lists if ranked.hits]
    lanes_of = Counter(hit.id for ranked in filled for hit in ranked.hits)
    dense = {hit.id for ranked in filled if ranked.lane.startswith(FILLER) for hit in ranked.hits}

    def lift(id_: str) -> float:
        lanes = lanes_of[id_]
        tier = 2 if lanes == len(filled) > 1 else int(id_ in dense)
        return tier * LIFT / lanes

    shares = [
        [weight_of(ranked.lane, weights) / (K + rank) + lift(hit.id) for rank, hit in enumerate(ranked.hits, 1)]
        for ranked in filled
    ]
    return sum_of_shares(filled, shares, limit)
