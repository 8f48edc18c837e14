"""What the searcher answers: the results, with what happened on the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from treeline.corpus.function import Function
from treeline.engine.hits import Distinct
from treeline.rerank.candidates import Candidate
from treeline.search.lanes.results import Degradation
from treeline.search.query import Query
from treeline.search.question.exact import Exact
from treeline.search.question.spelling import Spelt

NOTHING = Distinct()


class Result(NamedTuple):
    """One answer: the function and the candidate that explains its place (rank counts from 1)."""

    rank: int
    function: Function
    candidate: Candidate


@dataclass(frozen=True, slots=True)
class Answer:
    """The results with what happened on the way: what was looked for, the route, what was relaxed or left out, the
    times."""

    query: Query
    spelt: Spelt
    results: tuple[Result, ...]
    total: int
    route: str
    relaxed: tuple[str, ...]
    degraded: tuple[Degradation, ...]
    timings: Mapping[str, float]  # milliseconds per stage, and `total`
    ranked: Sequence[Candidate] = ()  # the list in its final order, as far as it was ranked; `results` is one page
    found: Distinct = NOTHING  # all that the list is made of, however far it was ranked
    exact: Exact | None = None  # what the call graph says to a structural question; its functions lead the list
    unfound: str = ""  # that no function has any of the words, not even a near spelling of one, in a sentence
    hints: tuple[str, ...] = ()  # what was asked for and is not in the index, and what is near it

    @property
    def exact_places(self) -> int:
        """How many places at the head of the list are the exact answer to a structural question."""
        return self.exact.functions if self.exact else 0

    @property
    def headings(self) -> Mapping[int, str]:
        """What stands above the results that follow an exact answer, by the rank of the first of them."""
        return self.exact.headings if self.exact else {}
