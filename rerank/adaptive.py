"""Reciprocal rank fusion whose lane weights follow the kind of question.

Query-dependent fusion weights: Bruch, Gai and Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval", ACM
TOIS 2023, find that the best weight differs by query set; here the router's kind of question picks it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rerank.candidate import Candidate
from rerank.ranked import RankedList
from rerank.rrf import rrf

# Who knows an identifier by its letters is the keyword lane, who knows what a sentence means is the dense one,
# and a structural question has an exact answer in the graph.
WEIGHTS_BY_KIND: Mapping[str, Mapping[str, float]] = {
    "identifier": {"keyword": 2.0, "dense": 1.0, "tfidf": 1.0, "graph": 1.0, "callees": 0.5},
    "structural": {"keyword": 0.5, "dense": 0.5, "tfidf": 0.5, "graph": 4.0, "callees": 0.5},
    "conceptual": {"keyword": 1.0, "dense": 4.0, "tfidf": 0.5, "graph": 0.5, "callees": 0.5},
    "mixed": {"keyword": 1.0, "dense": 2.0, "tfidf": 0.5, "graph": 0.5, "callees": 0.5},
}


def adaptive(lists: Sequence[RankedList], weights: Mapping[str, float], kind: str, limit: int) -> list[Candidate]:
    """Fuse by reciprocal rank with the weights of this kind of question (the given ones for an unknown kind)."""
    return rrf(lists, WEIGHTS_BY_KIND.get(kind, weights), kind, limit)
