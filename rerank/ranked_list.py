"""One lane's ranked list, and the sum that fuses several lists into one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treeline.corpus.frozen import frozen
from treeline.engine.hits import Hit, Hits, Rows, Scores, align, run_starts
from treeline.rerank.candidates import ABSENT, LANE_HEAD, Candidate, Candidates, Evidence, LaneColumns, Positions

# A fusion method: takes ranked lists, lane weights, traits of the query and a limit; returns fused candidates.
Fusion = Callable[[Sequence["RankedList"], Mapping[str, float], "QueryTraits", int], Sequence[Candidate]]


class QueryTraits(NamedTuple):
    """The kind of a query (see `treeline.search.plan`) and its number of words, for fusion."""

    kind: str = ""
    words: int = 0


@frozen
class RankedList:
    """One lane's hits, best first; `stages` says how each was found (may be empty)."""

    lane: str
    hits: Sequence[Hit]
    stages: Sequence[str] = field(default=())
    margin: float = 0.0  # its best score less the usual one: the lane's confidence


def weight_of(lane: str, weights: Mapping[str, float]) -> float:
    """A lane's weight; a second dense lane (`dense:NAME`) weighs as much as `dense` unless it has its own."""
    weight = weights.get(lane)
    return weights.get(lane.partition(":")[0], 1.0) if weight is None else weight


def sum_of_shares(lists: Sequence[RankedList], shares: Sequence[ArrayLike], limit: int) -> Sequence[Candidate]:
    """Candidates by the sum of their shares (`shares[i][j]` belongs to hit j of list i), ties by first seen.

    First seen reads the lists side by side: all first places in the order of the lists, then all second places. After
    the first `limit` follow those of the rest that are in the first few of a list, for the re-ranker.
    """
    nonempty = [
        (ranking, np.asarray(own, np.float64)) for ranking, own in zip(lists, shares, strict=True) if ranking.hits
    ]
    if not nonempty:
        return []
    table, rows = align([ranking.hits for ranking, _ in nonempty])
    known, which = _number(np.concatenate(rows))
    totals: Scores = np.bincount(which, np.concatenate([own for _, own in nonempty]))  # type: ignore[assignment]
    places = _places(which, rows, len(known))
    turns = places * len(nonempty) + np.arange(len(nonempty))[:, None]
    first = turns.view(np.uint64).min(axis=0)  # ABSENT is negative, so as unsigned it sorts last
    heads = first < LANE_HEAD * len(nonempty)
    best = _best(totals, limit, heads)
    best = best[np.lexsort((first[best], -totals[best]))]
    best = best[(np.arange(len(best)) < limit) | heads[best]]
    evidence = [_evidence(*one, at) for one, at in zip(nonempty, places[:, best], strict=True)]
    return Candidates(Hits(table, known[best], totals[best]), evidence)


def _number(rows: Rows) -> tuple[Rows, Positions]:
    """The distinct rows, and for each row its number among them."""
    order = rows.argsort()
    in_order = rows[order]
    first = run_starts(in_order)
    which = np.empty_like(order)
    which[order] = first.cumsum() - 1
    return in_order[first], which


def _places(which: Positions, lists: Sequence[Rows], known: int) -> Positions:
    """One row per list: the position of each distinct hit in it, or ABSENT."""
    places = np.full((len(lists), known), ABSENT)
    start = 0
    for line, rows in zip(places, lists, strict=True):
        own = which[start : start + len(rows)]
        line[own[::-1]] = np.arange(len(rows) - 1, -1, -1)  # of duplicates in a list, the first wins
        start += len(rows)
    return places


def _best(totals: Scores, limit: int, also: NDArray[np.bool_]) -> Positions:
    """The `limit` highest totals, all ties with the last, and these others, unsorted: fewer to sort."""
    if not 0 < limit < len(totals):
        return np.arange(len(totals))
    best: Positions = ((totals >= np.partition(totals, -limit)[-limit]) | also).nonzero()[0]
    return best


def _evidence(ranking: RankedList, shares: Scores, places: Positions) -> Evidence:
    """The list's evidence for the candidates at these positions."""
    columns = LaneColumns(np.arange(1, len(shares) + 1), Hits.of(ranking.hits).scores, shares, ranking.stages)
    return Evidence(ranking.lane, places, columns)
