"""The answer to a query, and a cache of the last answers."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from treeline.corpus.function import Function
from treeline.engine.hits import Distinct
from treeline.rerank.candidates import Candidate
from treeline.search.lanes.graph import Exact
from treeline.search.lanes.lane_set import Degradation
from treeline.search.plan import Plan
from treeline.search.query import Query
from treeline.search.spelling import Corrections

NOTHING = Distinct()


class Result(NamedTuple):
    """One result: the function, and the candidate that explains its rank (from 1)."""

    rank: int
    function: Function
    candidate: Candidate


@dataclass(frozen=True, slots=True)
class Answer:
    """One page of results, with the plan and what happened on the way."""

    plan: Plan
    results: tuple[Result, ...]
    total: int
    relaxed: tuple[str, ...]
    degraded: tuple[Degradation, ...]
    timings: Mapping[str, float]  # milliseconds per stage, and `total`
    ranked: Sequence[Candidate] = ()  # the whole list as far as it was ranked; `results` is one page of it
    found: Distinct = NOTHING  # everything that the lanes found
    exact: Exact | None = None  # what the call graph answers to a structural question; its functions lead the list
    no_match: str = ""  # a sentence where no function has any of the words, not even a near spelling of one
    hints: tuple[str, ...] = ()  # what was asked for that is not in the index, and what is near it

    @property
    def query(self) -> Query:
        return self.plan.query

    @property
    def corrections(self) -> Corrections:
        return self.plan.corrections

    @property
    def route(self) -> str:
        """The kind of the query."""
        return self.plan.route.kind

    @property
    def exact_results(self) -> int:
        """How many results at the head of the list are the exact answer to a structural question."""
        return self.exact.functions if self.exact else 0

    @property
    def headings(self) -> Mapping[int, str]:
        """The headings above the results that follow an exact answer, by the rank of the first of them."""
        return self.exact.headings if self.exact else {}


class AnswerCache:
    """The last `size` answers, for paging back, the map beside its list, a popular query; safe in several threads.

    An answer is kept under everything it depends on (generation, query, votes), so it is never stale. It is not kept
    where a lane failed or the spelling was not checked in time. Answers hold on to their generation and go with it.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._answers: OrderedDict[str, Answer] = OrderedDict()
        self._generation = ""
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._answers)

    def get(self, key: str, generation: str, search: Callable[[], Answer], *, explain: bool = True) -> Answer:
        """The kept answer, or what `search` returns. With `explain`, only an explained answer will do."""
        if not self._size:
            return search()
        begin = time.perf_counter()
        with self._lock:
            if generation != self._generation:
                self._answers.clear()
                self._generation = generation
            kept = self._answers.get(key)
            if kept is not None and explain and not kept.query.explain:
                kept = None
            if kept is not None:
                self._answers.move_to_end(key)
        if kept is not None:
            took = (time.perf_counter() - begin) * 1_000
            return replace(kept, timings={"cache": took, "total": took})
        answer = search()
        if not answer.degraded and not answer.corrections.unsure:
            with self._lock:
                if generation == self._generation:
                    self._answers[key] = answer
                while len(self._answers) > self._size:
                    self._answers.popitem(last=False)
        return answer
