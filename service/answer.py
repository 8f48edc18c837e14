"""What is asked of the searcher and what it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from corpus.function import Function
from engine.hits import Distinct
from engine.protocol import NO_FILTERS, Filters
from rerank.candidate import Candidate
from service.feedback.protocol import Votes

if TYPE_CHECKING:
    from service.exact import Exact

MODES = ("keyword", "dense", "tfidf", "graph", "hybrid")
DEFAULT = "default"
NOTHING = Distinct()
MEANING = "meaning"  # the last relaxation: no function has any of the words
ONLY_BY_MEANING = "no function here contains these words; what follows is the nearest by meaning"


@dataclass(frozen=True, slots=True)
class Query:
    """One question with its switches; `default` stands for the method that has earned it."""

    text: str
    k: int = 10
    offset: int = 0
    mode: str = "hybrid"
    fusion: str = DEFAULT
    rerank: str = DEFAULT
    filters: Filters = NO_FILTERS
    expand: bool = False
    callees: bool = False
    # Whether the results are to say why they are where they are, which takes a while to find out. It is the same
    # question either way, so that it is no part of what is told of it.
    explain: bool = field(default=True, repr=False)
    feedback: bool = True  # whether people's thumbs and opens for the same question may lift a result
    votes: tuple[Votes, ...] | None = None  # those thumbs and opens, where they have been read already


@dataclass(frozen=True, slots=True)
class Degradation:
    """A lane that was left out of an answer, and why."""

    lane: str
    reason: str


class Result(NamedTuple):
    """One answer: the function and the candidate that explains its place (rank counts from 1)."""

    rank: int
    function: Function
    candidate: Candidate


@dataclass(frozen=True, slots=True)
class Answer:
    """The results with what happened on the way: the route, what was relaxed, what was left out, the times."""

    query: Query
    results: tuple[Result, ...]
    total: int
    route: str
    relaxed: tuple[str, ...]
    degraded: tuple[Degradation, ...]
    timings: Mapping[str, float]  # milliseconds per stage, and `total`
    ranked: Sequence[Candidate] = ()  # the list in its final order, as far as it was ranked; `results` is one page
    found: Distinct = NOTHING  # all that the list is made of, however far it was ranked
    exact: Exact | None = None  # what the call graph says to a structural question; its functions lead the list

    @property
    def only_by_meaning(self) -> bool:
        """Whether no function has any of the question's words, not even a near spelling of one."""
        return MEANING in self.relaxed

    @property
    def exact_places(self) -> int:
        """How many places at the head of the list are the exact answer to a structural question."""
        return self.exact.functions if self.exact else 0
