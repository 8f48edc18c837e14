"""Algorithm 1 of the paper: cluster the candidates by the tree, show the best of each cluster.

The clusters come in the order of their average score; the rest of the list follows as it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from treeline.graph.local_tree import local_tree
from treeline.rerank.candidates import DEPTH, Candidate, RerankContext, arrange
from treeline.rerank.clusters import Clusterer, by_average_score


@dataclass(frozen=True, slots=True)
class Algorithm1:
    """One result a cluster, as many as there are clusters."""

    cluster: Clusterer
    clusters: int = 10
    seed: int = 0

    def __call__(self, candidates: Sequence[Candidate], context: RerankContext) -> Sequence[Candidate]:
        if not candidates:
            return []
        head = candidates[:DEPTH]
        local = local_tree([candidate.address for candidate in head])
        labels = self.cluster(local, self.clusters, self.seed)
        groups = by_average_score(labels, [candidate.score for candidate in head])
        reasons = [""] * len(head)
        for place, group in enumerate(groups, start=1):
            reasons[group[0]] = f"best of its cluster of {len(group)}; the cluster is number {place} by average score"
        order = [group[0] for group in groups]
        return arrange(candidates, order, clusters=labels.tolist(), reasons=reasons)
