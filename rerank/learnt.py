"""The learnt ranker: a linear score over what is known of each candidate beside the fused one, spread over the tree.

Listwise softmax regression (Cao et al., "Learning to Rank: From Pairwise Approach to Listwise Approach", ICML 2007)
for the score. `treeline train-ranker` makes the weights from any CodeSearchNet-like corpus; those shipped lie beside
this file and say what they were made from.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np

from treeline.graph.hyperbolic import Floats
from treeline.rerank.arrange import DEPTH
from treeline.rerank.candidate import Candidate, RerankContext
from treeline.rerank.candidates import Candidates, Labels
from treeline.rerank.features import NAMES, features
from treeline.rerank.scaling import scaled
from treeline.rerank.spread import Spread, spread

WEIGHTS = Path(__file__).parent / "learnt_weights.json"


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

    It has learnt from lists of the keyword and the dense lane; all others are only spread.
    """

    weights: Weights | None = None
    spread: float = 1.0

    def __call__(self, candidates: Sequence[Candidate], context: RerankContext) -> Sequence[Candidate]:
        head = Candidates.of(candidates[:DEPTH])
        if "graph" in head.lanes or not {"keyword", "dense"} <= head.lanes:
            return Spread()(candidates, context)
        weights = self.weights or shipped()
        table = features(head, context.vectors(head.ids) if context.vectors is not None else None)
        why = _why((table - table.mean(axis=0)) * weights.vector) if context.explain else None
        scores = blend(head.scores, table, weights)
        return spread(candidates, head, scores, self.spread * weights.repository, context, why)


def blend(fused: Floats, table: Floats, weights: Weights) -> Floats:
    """The fused and the learnt score, each scaled over the list: what was learnt elsewhere corrects, not rules."""
    result: Floats = (1 - weights.share) * scaled(fused) + weights.share * scaled(table @ weights.vector)
    return result


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


def _why(effect: Floats) -> tuple[Labels, Labels]:
    """What speaks most for each of them, and what most against it, compared with the whole list."""
    raised: Labels = RAISED[effect[:, FOR_COLUMNS].argmax(axis=1)]
    lowered: Labels = LOWERED[effect[:, AGAINST_COLUMNS].argmin(axis=1)]
    return raised, lowered
