"""The weighted score sum whose lane weights follow the question: its kind, how many words it has, how sure lanes are.

Query-dependent fusion weights: Bruch, Gai and Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval", ACM
TOIS 2023, find that the best weight differs by query set; here the router's kind of question picks it, and of a
question in words its length: two or three of them are keywords, a sentence is better understood than looked for. And a
lane that found something nearer than usual is believed more, one that found nothing near is believed less.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp

from treeline.rerank.candidates import Candidate
from treeline.rerank.ranked_list import QueryTraits, RankedList, weight_of
from treeline.rerank.score_sum import score_sum

# A structural question has an exact answer: its weight keeps everything that the graph found, ten edges away too, in
# front of what only shares words with it. Where the call is at least written (all those score alike) comes next.
# Who types a name wants its definition first, whatever else has the word in it: the graph's steps of a quarter (the
# whole name, the end of one, those around it) are each worth more than all of a keyword score.
WEIGHTS_BY_KIND: Mapping[str, Mapping[str, float]] = {
    "identifier": {"keyword": 1.0, "dense": 0.5, "tfidf": 0.5, "graph": 5.0, "callees": 0.5},
    "structural": {"keyword": 1.0, "dense": 1.0, "tfidf": 0.5, "graph": 16.0, "text_calls": 4.0, "callees": 0.5},
}
KINDS_IN_WORDS = ("conceptual", "mixed")
IN_WORDS: Mapping[str, float] = {"keyword": 1.0, "tfidf": 0.5, "graph": 1.0, "callees": 0.5}
# The dense lane's weight beside them: the words of the question less two. Chosen on other questions than are reported
# (docs/research/lanes.md).
FEWER, LEAST, MOST = 2.0, 2.0, 6.0
SURER = 10.0  # .07 of cosine more than usual doubles it


def adaptive(
    lists: Sequence[RankedList], weights: Mapping[str, float], asked: QueryTraits, limit: int
) -> Sequence[Candidate]:
    """Fuse by score with the weights of this question (the given ones for an unknown kind)."""
    own = weights_for(asked) or weights
    if asked.kind in KINDS_IN_WORDS:
        own = {**own, **{one.lane: weight_of(one.lane, own) * exp(SURER * one.above) for one in lists if one.above}}
    return score_sum(lists, own, asked, limit)


def weights_for(asked: QueryTraits) -> Mapping[str, float] | None:
    """The weight of every lane; nothing for a kind that nobody knows."""
    if asked.kind in KINDS_IN_WORDS:
        return {**IN_WORDS, "dense": min(MOST, max(LEAST, asked.words - FEWER))}
    return WEIGHTS_BY_KIND.get(asked.kind)
