"""A new order for a ranked list, with what every candidate has to say about it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treeline.graph.local_tree import nearest_above
from treeline.rerank.candidate import Candidate
from treeline.rerank.candidates import Candidates, Labels, Places

DEPTH = 100  # how many candidates a re-ranker looks at; those behind keep their places


def arrange(
    candidates: Sequence[Candidate],
    order: Sequence[int] | Places,
    *,
    clusters: Sequence[int] | None = None,
    reasons: Sequence[str] | Labels = (),
) -> Sequence[Candidate]:
    """The candidates at `order` first (each position once), then the others as they were, all annotated.

    `clusters` and `reasons` go by position in the old list.
    """
    whole = np.asarray(order, dtype=np.int64)
    if len(whole) < len(candidates):
        whole = np.concatenate([whole, np.delete(np.arange(len(candidates)), whole)])
    return Candidates.of(candidates).arranged(whole, clusters, np.asarray(reasons, dtype=np.object_))


def placed_in_the_tree(candidates: Sequence[Candidate], start: int, end: int) -> list[Candidate]:
    """The candidates from `start` to `end`, each with its tree distance to the nearest of all those above it."""
    above = list(candidates[:end])
    distances = nearest_above([candidate.address for candidate in above])
    shown = zip(above[start:], distances[start:], strict=True)
    return [Candidate(*one[:5], distance, one.moved, one.reason) for one, distance in shown]
