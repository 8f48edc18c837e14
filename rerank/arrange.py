"""A new order for a ranked list, with what every candidate has to say about it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from graph.local_tree import distances as tree_distances
from rerank.candidate import Candidate

DEPTH = 100  # how many candidates a re-ranker looks at; those behind keep their places


def arrange(
    candidates: Sequence[Candidate],
    order: Sequence[int],
    *,
    distances: NDArray[np.float64] | None = None,
    clusters: Sequence[int] | None = None,
    reasons: Sequence[str] = (),
) -> list[Candidate]:
    """The candidates at `order` first (each position once), then the others as they were, all annotated.

    `distances`, `clusters` and `reasons` go by position in the old list; distances are of the first ones only.
    """
    taken = set(order)
    whole = [*order, *(i for i in range(len(candidates)) if i not in taken)]
    known = min(len(candidates), DEPTH) if distances is None else len(distances)
    if distances is None:
        distances = tree_distances([candidate.address for candidate in candidates[:known]])
    nearest = _nearest_above(distances, [i for i in whole if i < known])
    arranged = []
    for place, i in enumerate(whole):
        old = candidates[i]
        arranged.append(
            Candidate(
                id=old.id,
                address=old.address,
                score=old.score,
                contributions=old.contributions,
                cluster=int(clusters[i]) if clusters is not None and i < len(clusters) else old.cluster,
                tree_distance=nearest.get(i),
                moved=i - place,
                reason=reasons[i] if i < len(reasons) else "",
            )
        )
    return arranged


def _nearest_above(distances: NDArray[np.float64], order: Sequence[int]) -> dict[int, float]:
    """For every candidate but the first, the tree distance to the nearest of those above it."""
    if len(order) < 2:
        return {}
    rows = np.array(order, dtype=np.intp)
    between = distances[np.ix_(rows, rows)]
    above = np.where(np.tri(len(rows), k=-1, dtype=bool), between, np.inf)
    nearest = above.min(axis=1)
    return {int(i): float(nearest[place]) for place, i in enumerate(order) if place}
