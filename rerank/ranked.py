"""One lane's ranked list on its way into fusion, and how a fused list is made of per-lane shares."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.hits import Keys, scores_of
from engine.protocol import Hit
from rerank.candidate import Candidate
from rerank.candidates import Candidates, Given

# A fusion method: ranked lists, the weight of each lane and the kind of question in; the first `limit` fused
# candidates out.
Fusion = Callable[[Sequence["RankedList"], Mapping[str, float], str, int], Sequence[Candidate]]


@dataclass(frozen=True, slots=True)
class RankedList:
    """What one lane found, best first; `stages` says for each hit how it was found (empty: nothing to say)."""

    lane: str
    hits: Sequence[Hit]
    stages: Sequence[str] = field(default=())


def weight_of(lane: str, weights: Mapping[str, float]) -> float:
    """A lane's weight; a second dense lane (`dense:NAME`) weighs what `dense` does unless it is named itself."""
    found = weights.get(lane)
    return weights.get(lane.partition(":")[0], 1.0) if found is None else found


def sum_of_shares(lists: Sequence[RankedList], shares: Sequence[ArrayLike], limit: int) -> Sequence[Candidate]:
    """Candidates by the sum of their shares (`shares[i][j]` belongs to hit j of list i), ties by first seen.

    First seen reads the lists side by side: all first places in the order of the lists, then all second places.
    """
    if not any(len(ranked.hits) for ranked in lists):
        return []
    keys = Keys([ranked.hits for ranked in lists])
    given = [np.asarray(share, dtype=np.float64) for share in shares]
    known, which = np.unique(np.concatenate(keys.of), return_inverse=True)
    totals = np.bincount(which, np.concatenate(given)).astype(np.float64, copy=False)
    by_list = np.split(which, np.cumsum([len(own) for own in keys.of])[:-1])
    seen = np.full(len(known), np.iinfo(np.int64).max)
    for number, own in enumerate(by_list):
        turns = np.arange(number, number + len(own) * len(lists), len(lists))
        seen[own[::-1]] = np.minimum(seen[own], turns)[::-1]  # of what a list holds twice, the first is what stays
    best = _best(totals, limit)
    best = best[np.lexsort((seen[best], -totals[best]))[:limit]]
    columns = [_given(*one, best, len(known)) for one in zip(lists, given, by_list, strict=True)]
    return Candidates(keys, known[best], totals[best], columns)


def _best(totals: NDArray[np.float64], limit: int) -> NDArray[np.int64]:
    """The `limit` highest and all that are as high as the last of them, as they come: few of five hundred to sort."""
    if not 0 < limit < len(totals):
        return np.arange(len(totals))
    return np.flatnonzero(totals >= np.partition(totals, -limit)[-limit])


def _given(
    ranked: RankedList, shares: NDArray[np.float64], which: NDArray[np.int64], best: NDArray[np.int64], known: int
) -> Given:
    """What the list gave to each of the best."""
    place_of = np.full(known, -1)  # of those that it does not hold the last, which is added here
    place_of[which] = np.arange(len(which))
    places = place_of[best]
    scores = np.append(scores_of(ranked.hits), np.nan)[places]
    stages = [*ranked.stages, ""] if ranked.stages else []
    said = [stages[place] for place in places.tolist()] if stages else stages
    return Given(ranked.lane, places + 1, scores, np.append(shares, 0.0)[places], said)
