"""What clustering methods have in common: from addresses to one label a candidate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from treeline.graph.embedding import centred, embed
from treeline.graph.hyperbolic import Points
from treeline.graph.local_tree import LocalTree

Labels = NDArray[np.intp]


class Clusterer(Protocol):
    """Puts the leaves of a query-local tree into at most `count` clusters."""

    def __call__(self, local: LocalTree, count: int, seed: int = 0) -> Labels: ...


def leaf_points(local: LocalTree) -> Points:
    """Where the candidates lie in the disk."""
    parents, weights = centred(local.parents, local.weights)
    return embed(parents, weights).points.take(local.leaves.astype(np.intp))


def by_average_score(labels: Labels, scores: Sequence[float]) -> list[list[int]]:
    """The clusters' members (in the order of the list), the cluster with the best average score first."""
    members: dict[int, list[int]] = {}
    for position, label in enumerate(labels.tolist()):
        members.setdefault(label, []).append(position)
    averages = {label: sum(scores[i] for i in found) / len(found) for label, found in members.items()}
    return [members[label] for label in sorted(members, key=lambda label: (-averages[label], members[label][0]))]
