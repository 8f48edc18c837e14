"""Algorithm 2 of the paper, importance sampling: from each cluster as many results as its share of the candidates.

A list of `length` gives a cluster with n of N candidates length · n / N places (largest remainders take what rounding
leaves), filled by its best. Clusters come by average score as in Algorithm 1; `by_score` keeps the chosen set but
shows it in the order of the scores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from treeline.graph.local_tree import local_tree
from treeline.rerank.candidates import DEPTH, Candidate, RerankContext, arrange
from treeline.rerank.clusters import Clusterer, by_average_score

Weigh = Callable[[Sequence[float]], float]


def shares(weights: Sequence[float], sizes: Sequence[int], places: int) -> list[int]:
    """Places dealt out in proportion to the weights by largest remainder, to nobody more than its size."""
    weight = np.array(weights, dtype=float)
    total = weight.sum()
    missing = (weight / total if total > 0 else np.ones(len(sizes)) / len(sizes)) * places
    given = [0] * len(sizes)
    for _ in range(min(places, sum(sizes))):
        lucky = int(missing.argmax())
        given[lucky] += 1
        missing[lucky] = missing[lucky] - 1.0 if given[lucky] < sizes[lucky] else -np.inf
    return given


@dataclass(frozen=True, slots=True)
class Algorithm2:
    """The first `length` results shared out among the clusters; `weigh` says what a cluster's share goes by."""

    cluster: Clusterer
    clusters: int = 10
    length: int = 10
    seed: int = 0
    by_score: bool = False
    weigh: Weigh = len

    def __call__(self, candidates: Sequence[Candidate], context: RerankContext) -> Sequence[Candidate]:
        if not candidates:
            return []
        head = candidates[:DEPTH]
        local = local_tree([candidate.address for candidate in head])
        labels = self.cluster(local, self.clusters, self.seed)
        scores = [candidate.score for candidate in head]
        groups = by_average_score(labels, scores)
        weights = [self.weigh([scores[i] for i in group]) for group in groups]
        given = shares(weights, [len(group) for group in groups], self.length)
        reasons = [""] * len(head)
        order: list[int] = []
        for group, count in zip(groups, given, strict=True):
            order += group[:count]
            for i in group[:count]:
                reasons[i] = _reason(count, len(group))
        if self.by_score:
            order.sort()
        return arrange(candidates, order, clusters=labels.tolist(), reasons=reasons)


def _reason(places: int, size: int) -> str:
    which = "the one place" if places == 1 else f"one of the {places} places"
    cluster = "its own cluster has" if size == 1 else f"its cluster of {size} has"
    return f"{which} that {cluster} among the first"
