"""The paper's two algorithms: cluster the candidates by the tree, then choose from the clusters.

Algorithm 1 shows the best of each cluster. Algorithm 2, importance sampling, gives each cluster as many places as its
share of the candidates. Both order clusters by average score; the rest of the list keeps its order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treeline.corpus.frozen import frozen
from treeline.graph.local_tree import local_tree
from treeline.rerank.candidates import DEPTH, Candidate, RerankContext, arrange
from treeline.rerank.clustering import Clusterer, by_average_score


@frozen
class Algorithm1:
    """One result per cluster."""

    cluster: Clusterer
    clusters: int = 10
    seed: int = 0

    def __call__(self, candidates: Sequence[Candidate], context: RerankContext) -> Sequence[Candidate]:
        if not candidates:
            return []
        head = candidates[:DEPTH]
        labels = self.cluster(local_tree([candidate.address for candidate in head]), self.clusters, self.seed)
        groups = by_average_score(labels, [candidate.score for candidate in head])
        reasons = [""] * len(head)
        for number, group in enumerate(groups, start=1):
            reasons[group[0]] = f"best of its cluster of {len(group)}; the cluster is number {number} by average score"
        order = [group[0] for group in groups]
        return arrange(candidates, order, clusters=labels.tolist(), reasons=reasons if context.explain else ())


@frozen
class Algorithm2:
    """The first `length` results divided among the clusters.

    A cluster with n of N candidates gets length · n / N places, rounded by largest remainder and filled by its best.
    `by_score` shows the chosen results by score instead of cluster by cluster.
    """

    cluster: Clusterer
    clusters: int = 10
    length: int = 10
    seed: int = 0
    by_score: bool = False

    def __call__(self, candidates: Sequence[Candidate], context: RerankContext) -> Sequence[Candidate]:
        if not candidates:
            return []
        head = candidates[:DEPTH]
        labels = self.cluster(local_tree([candidate.address for candidate in head]), self.clusters, self.seed)
        groups = by_average_score(labels, [candidate.score for candidate in head])
        counts = apportion([len(group) for group in groups], self.length)
        reasons = [""] * len(head)
        order: list[int] = []
        for group, count in zip(groups, counts, strict=True):
            order += group[:count]
            for i in group[:count]:
                reasons[i] = _reason(count, len(group))
        if self.by_score:
            order.sort()
        return arrange(candidates, order, clusters=labels.tolist(), reasons=reasons if context.explain else ())


def apportion(sizes: Sequence[int], places: int) -> list[int]:
    """Places in proportion to the sizes by largest remainder, to none more than its size."""
    quotas = np.array(sizes, dtype=float) / sum(sizes) * places
    counts = [0] * len(sizes)
    for _ in range(min(places, sum(sizes))):
        largest = int(quotas.argmax())
        counts[largest] += 1
        quotas[largest] = quotas[largest] - 1.0 if counts[largest] < sizes[largest] else -np.inf
    return counts


def _reason(places: int, size: int) -> str:
    which = "the one place" if places == 1 else f"one of the {places} places"
    cluster = "its own cluster has" if size == 1 else f"its cluster of {size} has"
    return f"{which} that {cluster} among the first"
