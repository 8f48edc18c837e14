"""The weighted score sum whose lane weights follow the kind of question.

Query-dependent fusion weights: Bruch, Gai and Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval", ACM
TOIS 2023, find that the best weight differs by query set; here the router's kind of question picks it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rerank.candidate import Candidate
from rerank.ranked import RankedList
from rerank.score_sum import score_sum

# `conceptual` was chosen by `python -m eval.choosing` (docs/lanes.md). A structural question has an exact answer: its
# weight keeps everything that the graph found, ten edges away too, in front of what only shares words with it.
WEIGHTS_BY_KIND: Mapping[str, Mapping[str, float]] = {
    "identifier": {"keyword": 1.0, "dense": 0.5, "tfidf": 0.5, "graph": 1.0, "callees": 0.5},
    "structural": {"keyword": 1.0, "dense": 1.0, "tfidf": 0.5, "graph": 16.0, "callees": 0.5},
    "conceptual": {"keyword": 1.0, "dense": 3.0, "tfidf": 0.5, "graph": 1.0, "callees": 0.5},
    "mixed": {"keyword": 1.0, "dense": 3.0, "tfidf": 0.5, "graph": 1.0, "callees": 0.5},
}


def adaptive(lists: Sequence[RankedList], weights: Mapping[str, float], kind: str, limit: int) -> Sequence[Candidate]:
    """Fuse by score with the weights of this kind of question (the given ones for an unknown kind)."""
    return score_sum(lists, WEIGHTS_BY_KIND.get(kind, weights), kind, limit)
