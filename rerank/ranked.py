"""One lane's ranked list on its way into fusion, and how a fused list is made of per-lane shares."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from operator import itemgetter

from engine.protocol import Hit
from rerank.candidate import Candidate, Contribution

# A fusion method: ranked lists, the weight of each lane and the kind of question in; the first `limit` fused
# candidates out.
Fusion = Callable[[Sequence["RankedList"], Mapping[str, float], str, int], list[Candidate]]


@dataclass(frozen=True, slots=True)
class RankedList:
    """What one lane found, best first; `stages` says for each hit how it was found (empty: nothing to say)."""

    lane: str
    hits: Sequence[Hit]
    stages: Sequence[str] = field(default=())

    def stage(self, position: int) -> str:
        return self.stages[position] if self.stages else ""


def weight_of(lane: str, weights: Mapping[str, float]) -> float:
    """A lane's weight; a second dense lane (`dense:NAME`) weighs what `dense` does unless it is named itself."""
    found = weights.get(lane)
    return weights.get(lane.partition(":")[0], 1.0) if found is None else found


def sum_of_shares(lists: Sequence[RankedList], shares: Sequence[Sequence[float]], limit: int) -> list[Candidate]:
    """Candidates by the sum of their shares (`shares[i][j]` belongs to hit j of list i), ties by first seen.

    First seen reads the lists side by side: all first places in the order of the lists, then all second places.
    Only the `limit` best become objects; a search makes a hundred of these and not six hundred.
    """
    ids = [[hit.id for hit in ranked.hits] for ranked in lists]
    totals = dict.fromkeys(chain.from_iterable(zip_longest(*ids)), 0.0)
    totals.pop(None, None)  # what fills up the shorter lists
    for own, given in zip(ids, shares, strict=True):
        for id_, share in zip(own, given, strict=True):
            totals[id_] += share
    # Python's sort is stable and a dict keeps its order, so equal scores stay as first seen.
    best = sorted(totals.items(), key=itemgetter(1), reverse=True)[:limit]
    places = [dict(zip(own, range(len(own)), strict=True)) for own in ids]
    return [_candidate(id_, lists, shares, places) for id_, _ in best]


def _candidate(
    id_: str, lists: Sequence[RankedList], shares: Sequence[Sequence[float]], places: Sequence[Mapping[str, int]]
) -> Candidate:
    contributions = []
    for ranked, given, where in zip(lists, shares, places, strict=True):
        place = where.get(id_)
        if place is not None:
            hit = ranked.hits[place]
            share = given[place]
            contributions.append(Contribution(ranked.lane, place + 1, hit.score, share, ranked.stage(place)))
    return Candidate(id_, hit.address, sum([part.share for part in contributions]), tuple(contributions))
