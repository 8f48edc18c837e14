"""Intersection first: what every lane found, by reciprocal rank, then the rest, the dense lane's first.

As seen in a CodeSearchNet engine for Ruby that intersects keyword and embedding results and fills the list up from
the embedding's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rerank.candidate import Candidate, Contribution
from rerank.ranked import RankedList, weight_of
from rerank.rrf import rrf

FILLER = "dense"
# Lifts the intersection over everything else and the filler over the remaining lanes, and stays part of the shares,
# so that the contributions still add up to the score. A sum of reciprocal ranks with sane weights is far below.
LIFT = 10.0


def intersection(lists: Sequence[RankedList], weights: Mapping[str, float], kind: str, limit: int) -> list[Candidate]:
    """Fuse by reciprocal rank within three tiers: in all lanes, in a dense lane, elsewhere."""
    filled = [ranked for ranked in lists if ranked.hits]
    everything = sum(len(ranked.hits) for ranked in filled)
    plain = {ranked.lane: weight_of(ranked.lane, weights) for ranked in filled}
    fused = [_lifted(candidate, len(filled)) for candidate in rrf(filled, plain, kind, everything)]
    return sorted(fused, key=lambda candidate: -candidate.score)[:limit]


def _lifted(candidate: Candidate, lanes: int) -> Candidate:
    in_all = lanes > 1 and len(candidate.contributions) == lanes
    dense = any(part.lane.startswith(FILLER) for part in candidate.contributions)
    lift = 2 * LIFT if in_all else LIFT if dense else 0.0
    each = lift / len(candidate.contributions)
    parts = tuple(
        Contribution(part.lane, part.rank, part.score, part.share + each, part.stage)
        for part in candidate.contributions
    )
    return replace(candidate, contributions=parts, score=sum(part.share for part in parts))
