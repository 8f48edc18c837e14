"""Fusion methods: one ranked list from the lanes' lists.

- `rrf`: reciprocal rank fusion. Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and
  individual Rank Learning Methods", SIGIR 2009.
- `score_sum`: weighted sum of min-max normalised scores (CombSUM). Fox and Shaw, "Combination of Multiple Searches",
  TREC-2, 1994. Bruch, Gai and Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval", ACM TOIS 2023, find it
  better than RRF once its weights are chosen; so did we (docs/research/lanes.md).
- `adaptive`, the default: the score sum with weights that depend on the query. Bruch et al. find that the best weight
  differs between query sets; here the query's route and form choose it, and how confident each lane is.
- `intersection`: results of every lane first, then the dense lane's, then the rest. Seen in a CodeSearchNet engine for
  Ruby.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from math import exp
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treeline.corpus.errors import InputError
from treeline.corpus.frozen import frozen
from treeline.corpus.function import FUNCTION_KINDS
from treeline.engine.hits import Hit, Hits, Rows, Scores, align, run_starts
from treeline.rerank.candidates import ABSENT, LANE_HEAD, Candidate, Candidates, Evidence, LaneColumns, Positions

RRF_K = 60  # the paper's constant: large enough that one first place does not outvote two good places

# These lanes score from 0 to 1 already (how sure the name is, how many edges away), so a weak match stays weak even
# when nothing better was found. BM25 and cosine have no such scale: the last of their list counts as 0.
ABSOLUTE_SCORES = frozenset({"graph", "definitions", "places", "history"})

# A structural query has an exact answer: the weight keeps everything the graph found, even ten edges away, ahead of
# results that only share words with the query. Calls found in the text (all score alike) come next. A query that is a
# name wants its definition first: each of the graph lane's score steps of 1/4 outweighs any keyword score.
WEIGHTS_BY_KIND: Mapping[str, Mapping[str, float]] = {
    "identifier": {"keyword": 1.0, "dense": 0.5, "graph": 5.0},
    "structural": {"keyword": 1.0, "dense": 1.0, "graph": 16.0, "text_calls": 4.0},
    "issue": {"keyword": 1.0, "dense": 1.0, "definitions": 0.5, "places": 1.0, "history": 0.5},
}
KINDS_IN_WORDS = ("conceptual", "mixed")
WEIGHTS_IN_WORDS: Mapping[str, float] = {"keyword": 1.0, "graph": 1.0}
# The dense lane's weight for a query in words, among functions alone, is its number of words less two, from 2 to 6;
# where files are units too, it is that of a question or that of another query, which more often has words of the code.
# Chosen on other questions than those we report (docs/research/lanes.md).
WORDS_LESS, LEAST_DENSE, MOST_DENSE = 2.0, 2.0, 6.0
QUESTION, STATEMENT = 5.0, 2.0
# A best cosine .07 above usual doubles the lane's weight. Below usual it counts less among functions alone: in a small
# repository even the right answer to a paraphrase has such a cosine.
CONFIDENCE = 10.0

FILLER = "dense"
# Lifts the intersection above everything else, and the filler above the other lanes. It is part of the shares, so the
# contributions still add up to the score. Sums of reciprocal ranks stay far below it.
LIFT = 10.0

# A fusion method: takes ranked lists, lane weights, traits of the query and a limit; returns fused candidates.
Fusion = Callable[[Sequence["RankedList"], Mapping[str, float], "QueryTraits", int], Sequence[Candidate]]


class QueryTraits(NamedTuple):
    """The kind of a query (see `treeline.search.plan`), its number of words, and whether it begins as a question, for
    fusion."""

    kind: str = ""
    words: int = 0
    is_question: bool = False


@frozen
class RankedList:
    """One lane's hits, best first; `stages` says how each was found (may be empty)."""

    lane: str
    hits: Sequence[Hit]
    stages: Sequence[str] = field(default=())
    margin: float = 0.0  # its best score less the usual one: the lane's confidence


def rrf(
    lists: Sequence[RankedList], weights: Mapping[str, float], traits: QueryTraits, limit: int
) -> Sequence[Candidate]:
    """Fuse by reciprocal rank: rank r of a lane is worth weight / (60 + r)."""
    shares = [weight_of(ranking.lane, weights) / (RRF_K + np.arange(1, len(ranking.hits) + 1)) for ranking in lists]
    return sum_of_shares(lists, shares, limit)


def score_sum(
    lists: Sequence[RankedList], weights: Mapping[str, float], traits: QueryTraits, limit: int
) -> Sequence[Candidate]:
    """Fuse by weighted, normalised score; the weights of the lanes that found something sum to 1."""
    nonempty = [ranking for ranking in lists if ranking.hits]
    total = sum(weight_of(ranking.lane, weights) for ranking in nonempty) or 1.0
    shares = []
    for ranking in nonempty:
        weight = weight_of(ranking.lane, weights) / total
        scores = Hits.of(ranking.hits).scores
        shares.append(weight * (scores if ranking.lane in ABSOLUTE_SCORES else normalise(scores)))
    return sum_of_shares(nonempty, shares, limit)


def normalise(scores: Scores) -> Scores:
    """Scores from 0 to 1 by minimum and maximum; all 1 when they are equal."""
    low, high = scores.min(), scores.max()
    if high <= low:
        return np.ones(len(scores))
    result: Scores = (scores - low) / (high - low)
    return result


def adaptive(
    lists: Sequence[RankedList], weights: Mapping[str, float], traits: QueryTraits, limit: int
) -> Sequence[Candidate]:
    """Fuse by score with weights chosen for this query; an unknown kind uses the given weights."""
    own = weights_for(traits) or weights
    if traits.kind in KINDS_IN_WORDS:
        among_files = has_files(lists)
        if among_files:
            own = {**own, "dense": QUESTION if traits.is_question else STATEMENT}
        factors = {one.lane: max(float(among_files), exp(CONFIDENCE * one.margin)) for one in lists if one.margin}
        sure = {lane: weight_of(lane, own) * factor for lane, factor in factors.items()}
        own = {**own, **sure}
    return score_sum(lists, own, traits, limit)


def has_files(lists: Sequence[RankedList]) -> bool:
    """Whether the longest list has files, classes or sections, and not functions alone."""
    hits = Hits.of(max((ranking.hits for ranking in lists), key=len, default=()))
    return not FUNCTION_KINDS.issuperset(hits.table.parts("kind", hits.rows))


def weights_for(traits: QueryTraits) -> Mapping[str, float] | None:
    """The weight of every lane, or None for an unknown kind of query."""
    if traits.kind in KINDS_IN_WORDS:
        return {**WEIGHTS_IN_WORDS, "dense": min(MOST_DENSE, max(LEAST_DENSE, traits.words - WORDS_LESS))}
    return WEIGHTS_BY_KIND.get(traits.kind)


def intersection(
    lists: Sequence[RankedList], weights: Mapping[str, float], traits: QueryTraits, limit: int
) -> Sequence[Candidate]:
    """Fuse by reciprocal rank within three tiers: found by all lanes, by a dense lane, by another lane."""
    nonempty = [ranking for ranking in lists if ranking.hits]
    lanes_of = Counter(hit.id for ranking in nonempty for hit in ranking.hits)
    dense = {hit.id for ranking in nonempty if ranking.lane.startswith(FILLER) for hit in ranking.hits}

    def lift(id_: str) -> float:
        lanes = lanes_of[id_]
        tier = 2 if lanes == len(nonempty) > 1 else int(id_ in dense)
        return tier * LIFT / lanes

    shares = [
        [weight_of(ranking.lane, weights) / (RRF_K + rank) + lift(hit.id) for rank, hit in enumerate(ranking.hits, 1)]
        for ranking in nonempty
    ]
    return sum_of_shares(nonempty, shares, limit)


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


METHODS: Mapping[str, Fusion] = {
    "default": adaptive,
    **{method.__name__: method for method in (rrf, adaptive, intersection, score_sum)},
}


def fusion(name: str = "default") -> Fusion:
    """The fusion method of that name."""
    if name not in METHODS:
        raise InputError(f"unknown fusion {name!r}", f"choose one of: {', '.join(METHODS)}")
    return METHODS[name]
