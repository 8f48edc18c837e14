"""The learnt ranker: a linear score over what is known of each candidate, spread over the tree as it is read out.

Listwise softmax regression (Cao et al., "Learning to Rank: From Pairwise Approach to Listwise Approach", ICML 2007)
for the score; then, as in MMR (Carbonell & Goldstein 1998), each next result pays for the results above it that share
its branch of the tree, the repository. `treeline train-ranker` makes the weights from
any CodeSearchNet-like corpus; those shipped lie beside this file and say what they were made from.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graph.hyperbolic import Floats
from rerank.arrange import DEPTH, arrange
from rerank.candidate import Candidate, RerankContext
from rerank.candidates import Candidates, Labels, Places
from rerank.direction import opposite
from rerank.features import NAMES, features, scaled

WEIGHTS = Path(__file__).parent / "learnt_weights.json"
LONE_LANE = 0.05  # of the span of the scores, where one lane alone made the list: costs no NDCG on held-out questions
OPPOSITE = 0.2  # of the span of the scores, where the name says the opposite of what the question asks
MOST_PAID = 3  # results above that a candidate pays for: beyond, a repository full of answers would never come back


@dataclass(frozen=True)
class Weights:
    """One weight a column of `features.NAMES`, how much the learnt score counts beside the fused one (0 to 1), and
    what a result above from the same repository costs in the same units."""

    columns: Mapping[str, float]
    share: float
    repository: float
    made: str = ""

    @cached_property
    def vector(self) -> Floats:
        return np.array([self.columns.get(name, 0.0) for name in NAMES])


@lru_cache(maxsize=1)
def shipped() -> Weights:
    stored = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    return Weights(stored["columns"], stored["share"], stored["repository"], stored["made"])


@dataclass(frozen=True, slots=True)
class Learnt:
    """The shipped weights unless others are given; `spread` scales what neighbours in the tree cost.

    It has learnt from lists of the keyword and the dense lane. Where the call graph had a say the order is an answer
    in itself and stays; where only one lane found something its order is kept but for the spreading.
    """

    weights: Weights | None = None
    spread: float = 1.0

    def __call__(self, candidates: Sequence[Candidate], context: RerankContext) -> Sequence[Candidate]:
        head = Candidates.of(candidates[:DEPTH])
        lanes = head.lanes
        if "graph" in lanes or not head:
            return arrange(candidates, [])
        weights = self.weights or shipped()
        fused = head.scores
        if {"keyword", "dense"} <= lanes:
            vectors = context.vectors(head.ids) if context.vectors is not None else None
            table = features(head, vectors)
            effect = (table - table.mean(axis=0)) * weights.vector if context.explain else None
            scores, cost = blend(fused, table, weights), weights.repository
        else:
            effect = None
            scores, cost = scaled(fused), LONE_LANE
        turned = opposite(context.query, lambda: head.parts("func_name"))
        if any(turned):
            scores = scores - OPPOSITE * np.array(turned)
        order, paid = spread_out(scores, head, self.spread * cost)
        return arrange(candidates, order, reasons=_reasons(effect, order, paid, turned) if context.explain else ())


def blend(fused: Floats, table: Floats, weights: Weights) -> Floats:
    """The fused and the learnt score, each scaled over the list: what was learnt elsewhere corrects, not rules."""
    result: Floats = (1 - weights.share) * scaled(fused) + weights.share * scaled(table @ weights.vector)
    return result


def spread_out(scores: Floats, head: Sequence[Candidate], cost: float) -> tuple[Places, Floats]:
    """Positions in the new order, and what each paid for the results above it from its repository.

    Taking the best next one again and again comes to this: a repository's n-th best pays for n − 1, and as neither
    its scores nor its payments ever turn round, one sort gives the same order.
    """
    best_first = (-scores).argsort(kind="stable")
    shown = np.empty_like(best_first)
    shown[best_first] = _same_before(Candidates.of(head).groups("repo")[best_first])
    paid: Floats = cost * np.minimum(shown, MOST_PAID)
    return np.lexsort((-scores, paid - scores)), paid


def _same_before(groups: NDArray[np.integer]) -> Places:
    """For each, how many of its group stand before it."""
    order = groups.argsort(kind="stable")
    ordered = groups[order]
    before = np.empty_like(order)
    before[order] = np.arange(len(order)) - np.searchsorted(ordered, ordered)
    return before


FOR = {
    "keyword_score": "a strong keyword match",
    "keyword_rank": "a strong keyword match",
    "dense_score": "close in meaning",
    "dense_rank": "close in meaning",
    "long": "it is more than a stub",
    "feedback": "it is like the top results",
    "central": "it is more specific than the others",
}
AGAINST = {
    "keyword_score": "a weaker keyword match",
    "dense_score": "less close in meaning",
    "test_like": "it looks like a test or an example",
    "private": "it is private",
    "short": "it is very short",
    "central": "it is much like all the others",
}


FOR_COLUMNS, AGAINST_COLUMNS = ([NAMES.index(name) for name in said] for said in (FOR, AGAINST))
RAISED = np.array([f"raised: {said}" for said in FOR.values()], dtype=np.object_)
LOWERED = np.array([f"lowered: {said}" for said in AGAINST.values()], dtype=np.object_)


def _reasons(effect: Floats | None, order: Places, paid: Floats, turned: Sequence[bool]) -> Labels:
    """For those that moved, what spoke most for or against them compared with the whole list."""
    reasons = np.full(len(order), "", dtype=np.object_)
    places = np.empty_like(order)
    places[order] = positions = np.arange(len(order))
    rose, fell = places < positions, places > positions
    if effect is None:
        reasons[rose] = "raised: from elsewhere in the tree than the results above"
    else:
        reasons[rose] = RAISED[effect[:, FOR_COLUMNS].argmax(axis=1)[rose]]
        reasons[fell] = LOWERED[effect[:, AGAINST_COLUMNS].argmin(axis=1)[fell]]
    reasons[fell & (paid > 0)] = "lowered: results from elsewhere in the tree go first"
    if turned:
        reasons[np.array(turned)] = "lowered: its name says the opposite direction"
    return reasons
