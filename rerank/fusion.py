"""Fusion methods: one ranked list from the lanes' lists.

- `rrf`: reciprocal rank fusion. Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and
  individual Rank Learning Methods", SIGIR 2009.
- `score_sum`: weighted sum of min-max normalised scores (CombSUM). Fox and Shaw, "Combination of Multiple Searches",
  TREC-2, 1994. Bruch, Gai and Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval", ACM TOIS 2023, find it
  better than RRF once its weights are chosen; so did we (docs/research/lanes.md).
- `adaptive`, the default: the score sum with weights that depend on the query. Bruch et al. find that the best weight
  differs between query sets; here the query's route and length choose it, and how confident each lane is.
- `intersection`: results of every lane first, then the dense lane's, then the rest. Seen in a CodeSearchNet engine for
  Ruby.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import exp

import numpy as np

from treeline.engine.hits import Hits, Scores
from treeline.rerank.candidates import Candidate
from treeline.rerank.ranked_list import QueryTraits, RankedList, sum_of_shares, weight_of

RRF_K = 60  # the paper's constant: large enough that one first place does not outvote two good places

# These lanes score from 0 to 1 already (how sure the name is, how many edges away), so a weak match stays weak even
# when nothing better was found. BM25 and cosine have no such scale: the last of their list counts as 0.
ABSOLUTE_SCORES = frozenset({"graph", "callees", "definitions", "places", "history"})

# A structural query has an exact answer: the weight keeps everything the graph found, even ten edges away, ahead of
# results that only share words with the query. Calls found in the text (all score alike) come next. A query that is a
# name wants its definition first: each of the graph lane's score steps of 1/4 outweighs any keyword score.
WEIGHTS_BY_KIND: Mapping[str, Mapping[str, float]] = {
    "identifier": {"keyword": 1.0, "dense": 0.5, "tfidf": 0.5, "graph": 5.0, "callees": 0.5},
    "structural": {"keyword": 1.0, "dense": 1.0, "tfidf": 0.5, "graph": 16.0, "text_calls": 4.0, "callees": 0.5},
    "issue": {"keyword": 1.0, "dense": 1.0, "definitions": 0.5, "places": 1.0, "history": 0.5, "callees": 0.5},
}
KINDS_IN_WORDS = ("conceptual", "mixed")
WEIGHTS_IN_WORDS: Mapping[str, float] = {"keyword": 1.0, "tfidf": 0.5, "graph": 1.0, "callees": 0.5}
# The dense lane's weight for a query in words is its number of words less two, from 2 to 6. Chosen on other questions
# than those we report (docs/research/lanes.md).
WORDS_LESS, LEAST_DENSE, MOST_DENSE = 2.0, 2.0, 6.0
CONFIDENCE = 10.0  # a best cosine .07 above usual doubles the lane's weight

FILLER = "dense"
# Lifts the intersection above everything else, and the filler above the other lanes. It is part of the shares, so the
# contributions still add up to the score. Sums of reciprocal ranks stay far below it.
LIFT = 10.0


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
        sure = {one.lane: weight_of(one.lane, own) * exp(CONFIDENCE * one.margin) for one in lists if one.margin}
        own = {**own, **sure}
    return score_sum(lists, own, traits, limit)


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
