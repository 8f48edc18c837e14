"""A new order for a ranked list, with what every candidate has to say about it."""

from __future__ import annotations

from collections.abc import Sequence

from graph.local_tree import nearest_above
from rerank.candidate import Candidate

DEPTH = 100  # how many candidates a re-ranker looks at; those behind keep their places


def arrange(
    candidates: Sequence[Candidate],
    order: Sequence[int],
    *,
    clusters: Sequence[int] | None = None,
    reasons: Sequence[str] = (),
) -> list[Candidate]:
    """The candidates at `order` first (each position once), then the others as they were, all annotated.

    `clusters` and `reasons` go by position in the old list.
    """
    taken = set(order)
    whole = [*order, *(i for i in range(len(candidates)) if i not in taken)]
    arranged = []
    for place, i in enumerate(whole):
        id_, address, score, contributions, cluster, _, _, _ = candidates[i]
        if clusters is not None and i < len(clusters):
            cluster = int(clusters[i])
        reason = reasons[i] if i < len(reasons) else ""
        arranged.append(Candidate(id_, address, score, contributions, cluster, None, i - place, reason))
    return arranged


def placed_in_the_tree(candidates: Sequence[Candidate], start: int, end: int) -> list[Candidate]:
    """The candidates from `start` to `end`, each with its tree distance to the nearest of all those above it."""
    distances = nearest_above([candidate.address for candidate in candidates[:end]])
    shown = zip(candidates[start:end], distances[start:], strict=True)
    return [candidate._replace(tree_distance=distance) for candidate, distance in shown]
