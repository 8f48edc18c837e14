"""One lane's ranked list on its way into fusion, and how a fused list is made of per-lane shares."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
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
    totals: dict[str, float] = {}
    seen_in: dict[str, list[tuple[int, int]]] = {}
    for position in range(max((len(ranked.hits) for ranked in lists), default=0)):
        for number, ranked in enumerate(lists):
            if position < len(ranked.hits):
                id_ = ranked.hits[position].id
                if id_ in totals:
                    totals[id_] += shares[number][position]
                    seen_in[id_].append((number, position))
                else:
                    totals[id_] = shares[number][position]
                    seen_in[id_] = [(number, position)]
    # Python's sort is stable and a dict keeps its order, so equal scores stay as first seen.
    best = sorted(totals.items(), key=itemgetter(1), reverse=True)[:limit]
    return [_candidate(id_, seen_in[id_], lists, shares) for id_, _ in best]


def _candidate(
    id_: str, seen: list[tuple[int, int]], lists: Sequence[RankedList], shares: Sequence[Sequence[float]]
) -> Candidate:
    contributions = tuple(
        Contribution(
            lane=lists[number].lane,
            rank=position + 1,
            score=lists[number].hits[position].score,
            share=shares[number][position],
            stage=lists[number].stage(position),
        )
        for number, position in sorted(seen)
    )
    number, position = seen[0]
    return Candidate(
        id=id_,
        address=lists[number].hits[position].address,
        score=sum(contribution.share for contribution in contributions),
        contributions=contributions,
    )
