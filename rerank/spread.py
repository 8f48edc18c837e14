"""Results spread over the repositories: each pays for those above it from its own. The default.

As in MMR (Carbonell & Goldstein, SIGIR 1998), each next result pays for the results above it that share its branch of
the tree, the repository. A name that says the opposite of what was asked pays as well (`direction.py`), and so does
another language than the question names (`language.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treeline.graph.hyperbolic import Floats
from treeline.rerank.candidates import DEPTH, Candidate, Candidates, Labels, Positions, RerankContext, arrange, scaled
from treeline.rerank.direction import opposite
from treeline.rerank.language import others

COST = 0.08  # of the span of the scores, for a result above from the same repository (docs/research/rerankers.md)
LONE_LANE = 0.05  # the same where one lane alone made the list: costs no NDCG on held-out questions
MOST_PAID = 3  # results above that a candidate pays for: beyond, a repository full of answers would never come back
OPPOSITE = 0.2  # of the span of the scores, where the name says the opposite of what the question asks
FOREIGN = 0.5  # the same, where it is written in another language than the question names
ELSEWHERE = "raised: from elsewhere in the tree than the results above"


@dataclass(frozen=True, slots=True)
class Spread:
    """Where the call graph had a say the order is an answer in itself and stays."""

    cost: float = COST

    def __call__(self, candidates: Sequence[Candidate], context: RerankContext) -> Sequence[Candidate]:
        head = Candidates.of(candidates[:DEPTH])
        lanes = head.lanes
        if "graph" in lanes or not head:
            return arrange(candidates, [])
        cost = self.cost if {"keyword", "dense"} <= lanes else LONE_LANE
        return spread(candidates, head, scaled(head.scores), cost, context)


def spread(
    candidates: Sequence[Candidate],
    head: Candidates,
    scores: Floats,
    cost: float,
    context: RerankContext,
    why: tuple[Labels, Labels] | None = None,
) -> Sequence[Candidate]:
    """The candidates by these scores of their head, spread; `why` says for each what raised it or lowered it."""
    turned = opposite(context.query, lambda: head.parts("func_name"))
    if any(turned):
        scores = scores - OPPOSITE * np.array(turned)
    foreign = others(context.query, lambda: head.parts("language"))
    if foreign:
        scores = scores - FOREIGN * np.array(foreign)
    order, paid = spread_out(scores, head, cost)
    return arrange(candidates, order, reasons=_reasons(order, paid, turned, foreign, why) if context.explain else ())


def spread_out(scores: Floats, head: Sequence[Candidate], cost: float) -> tuple[Positions, Floats]:
    """Positions in the new order, and what each paid for the results above it from its repository.

    Taking the best next one again and again comes to this: a repository's n-th best pays for n − 1, and as neither
    its scores nor its payments ever turn round, one sort gives the same order.
    """
    best_first = (-scores).argsort(kind="stable")
    shown = np.empty_like(best_first)
    shown[best_first] = _same_before(Candidates.of(head).groups("repo")[best_first])
    paid: Floats = cost * np.minimum(shown, MOST_PAID)
    return np.lexsort((-scores, paid - scores)), paid


def _same_before(groups: NDArray[np.integer]) -> Positions:
    """For each, how many of its group stand before it."""
    order = groups.argsort(kind="stable")
    ordered = groups[order]
    before = np.empty_like(order)
    before[order] = np.arange(len(order)) - np.searchsorted(ordered, ordered)
    return before


def _reasons(
    order: Positions,
    paid: Floats,
    turned: Sequence[bool],
    foreign: Sequence[bool],
    why: tuple[Labels, Labels] | None,
) -> Labels:
    """For those that moved, why."""
    reasons = np.full(len(order), "", dtype=np.object_)
    places = np.empty_like(order)
    places[order] = positions = np.arange(len(order))
    rose, fell = places < positions, places > positions
    if why is None:
        reasons[rose] = ELSEWHERE
    else:
        reasons[rose], reasons[fell] = why[0][rose], why[1][fell]
    reasons[fell & (paid > 0)] = "lowered: results from elsewhere in the tree go first"
    if turned:
        reasons[np.array(turned)] = "lowered: its name says the opposite direction"
    if foreign:
        reasons[rose & ~np.array(foreign)] = "raised: written in the language that the question names"
        reasons[fell & np.array(foreign)] = "lowered: written in another language than the question names"
    return reasons
