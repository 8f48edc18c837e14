"""A candidate on its way through fusion and re-ranking, and all it can say about why it is where it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from treeline.corpus.function import Address


class Contribution(NamedTuple):
    """What one lane gave: the rank (from 1) and score there, and its share of the fused score."""

    lane: str
    rank: int
    score: float
    share: float
    stage: str = ""  # keyword lane: exact, fuzzy or chunks; graph lane: the relation


class Candidate(NamedTuple):
    """A fused result. `score` is the sum of the contributions' shares; re-rankers reorder and annotate.

    A search makes two hundred of them, and a tuple with names is made in half the time of a frozen dataclass.
    """

    id: str
    address: Address
    score: float
    contributions: tuple[Contribution, ...] = ()
    cluster: int | None = None
    tree_distance: float | None = None  # to the nearest result above it; the searcher fills it in for what is shown
    moved: int = 0  # places up (positive) or down by re-ranking
    reason: str = ""  # what the re-ranker did to it, in words


@dataclass(frozen=True, slots=True)
class RerankContext:
    """What a re-ranker may ask for beside the list: the question and, when it asks, vectors and texts by id."""

    query: str
    vectors: Callable[[Sequence[str]], NDArray[np.float32]] | None = None
    texts: Callable[[Sequence[str]], Sequence[str]] | None = None
    explain: bool = True  # whether anybody will read the candidates' reasons


class Reranker(Protocol):
    """Takes a ranked list and returns the same candidates in a new order, each saying why."""

    def __call__(self, candidates: Sequence[Candidate], context: RerankContext) -> Sequence[Candidate]: ...
