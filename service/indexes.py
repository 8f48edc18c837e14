"""Several indexes in one service: which are served, which a request means, and their answers as one.

`TREELINE_INDEXES` names the indexes that are served beside the default one. `index=NAME` asks one of them, `index=a,b`
or `index=all` asks several at once.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import replace
from math import log
from typing import TYPE_CHECKING

from treeline.corpus.analysis import terms
from treeline.corpus.errors import InputError, TreelineError
from treeline.engine.hits import Part
from treeline.engine.protocol import IndexInfo
from treeline.search.answer import Answer, HitCounts, Result
from treeline.search.lanes.lane_set import WEAK_MATCH, Degradation
from treeline.search.live import LiveSearcher, open_searcher
from treeline.search.query import Query
from treeline.search.settings import Settings, open_store, split_commas

if TYPE_CHECKING:
    from treeline.search.searcher import Reorder

ALL = "all"
EVERY = "*"  # in the setting: whatever is in the store
AT_ONCE = 4  # indexes that are asked side by side
# The larger, the less a rank within its list counts beside the list's evidence; 1 to 10 differ by .02 of NDCG.
RANK_OFFSET = 3


Ask = Callable[[Query, "Reorder | None"], Answer]  # the search of one index


class Indexes:
    """The indexes of one service, each opened when it is first asked."""

    def __init__(self, settings: Settings, default: Callable[[], LiveSearcher] | None = None) -> None:
        self._settings = settings
        self._default = default
        self._open: dict[str, LiveSearcher] = {}
        self._lock = threading.Lock()

    @property
    def names(self) -> list[str]:
        """The default one, then the others that are served."""
        others = split_commas(self._settings.indexes)
        if EVERY in others:
            others = sorted(open_store(self._settings).names())
        return list(dict.fromkeys([self._settings.index, *others]))

    def choose(self, index: str) -> list[str]:
        """The names that a request means; the default one where it names none."""
        selection = split_commas(index)
        if not selection:
            return [self._settings.index]
        names = self.names
        if selection == [ALL]:
            return names
        unknown = [name for name in selection if name not in names]
        if unknown:
            raise InputError(f"no index {unknown[0]!r} is served here", f"choose from: {', '.join(names)}, or {ALL}")
        return list(dict.fromkeys(selection))

    def open(self, name: str) -> LiveSearcher:
        if name == self._settings.index and self._default is not None:
            return self._default()
        with self._lock:
            if name not in self._open:
                settings = replace(self._settings, index=name)
                self._open[name] = open_searcher(settings, without_encoder=True)
            return self._open[name]

    def functions(self, names: Sequence[str]) -> int:
        """The number of units in all these indexes; one that cannot be opened has none."""
        total = 0
        for name in names:
            try:
                total += self.open(name).info.functions
            except TreelineError:
                continue
        return total

    def infos(self) -> list[IndexInfo]:
        """The records of the indexes that are there; none is opened."""
        store = open_store(self._settings)
        there = set(store.names())
        return [store.info(name) for name in self.names if name in there]

    def holding(self, function_id: str = "", path: str = "") -> str:
        """The first index that has a function, or the repository that a path begins with; else the default one."""
        for name in self.names:
            try:
                searcher = self.open(name)
                repositories = searcher.engine.facets().get("repo", {}) if path else {}
                if any(f"{path}/".startswith(f"{repo}/") for repo in repositories):
                    return name
                if function_id and searcher.function(function_id) is not None:
                    return name
            except TreelineError:
                continue  # what cannot be opened holds nothing that could be shown
        return self._settings.index

    def identity(self, names: Sequence[str]) -> str:
        """A text that changes when one of the indexes does; of several, one that cannot be opened is left out."""
        if len(names) == 1:
            return self.open(names[0]).info.identity
        return " ".join(self._identity(name) for name in names)

    def opened_identity(self, names: Sequence[str]) -> str:
        """The same of all that are open and of these, so that answers of different indexes are kept side by side."""
        if len(self.names) == 1:
            return self.identity(names)
        return " ".join(self._identity(name) for name in sorted({self._settings.index, *self._open, *names}))

    def _identity(self, name: str) -> str:
        try:
            return self.open(name).info.identity
        except TreelineError:
            return ""

    def search(self, names: Sequence[str], query: Query, reorder: Reorder | None = None) -> Answer:
        """One answer of these indexes."""
        if len(names) == 1:
            return self.open(names[0]).search(query, reorder)
        return search_several(names, query, lambda name: nullcontext(self.open(name).search), reorder)

    def close(self) -> None:
        with self._lock:
            for searcher in self._open.values():
                searcher.close()
            self._open.clear()


def search_several(
    names: Sequence[str],
    query: Query,
    open_index: Callable[[str], AbstractContextManager[Ask]],
    reorder: Reorder | None = None,
) -> Answer:
    """One answer of several indexes, each opened for its search. One that fails is named, unless all do."""
    deep = for_merging(query)

    def ask(name: str) -> Answer | TreelineError:
        with ExitStack() as stack:
            try:
                search = stack.enter_context(open_index(name))
            except TreelineError as error:
                return error
            try:
                return search(deep, reorder)
            except InputError:  # of the query, so the same everywhere
                raise
            except TreelineError as error:
                return error

    with ThreadPoolExecutor(AT_ONCE) as threads:
        outcomes = dict(zip(names, threads.map(ask, names), strict=True))
    answers = {name: one for name, one in outcomes.items() if isinstance(one, Answer)}
    failures = {name: one for name, one in outcomes.items() if isinstance(one, TreelineError)}
    if not answers:
        raise next(iter(failures.values()))
    answer = merge(answers, query)
    left_out = (Degradation(f"index {name}", error.message) for name, error in failures.items())
    return replace(answer, degraded=(*answer.degraded, *left_out))


def for_merging(query: Query) -> Query:
    """The query for each index from which `merge` makes the page: everything up to it, with explanations."""
    return replace(query, k=query.offset + query.k, offset=0, explain=True)


def merge(answers: Mapping[str, Answer], query: Query) -> Answer:
    """One answer of several indexes' answers to `for_merging(query)`, renumbered: the page that the query asks for.

    Scores of different indexes do not compare: each is relative to its own list. What does compare is how near the best
    of a list is in meaning, and how many of the query's words a result has. A word counts the more, the fewer of the
    lists have it. Both decide how much a list's ranks are worth (measured in docs/research/agents.md).
    """
    first = next(iter(answers.values()))
    words = frozenset(terms(first.plan.text))
    lists = [[(result, words.intersection(_terms(result))) for result in one.results] for one in answers.values()]
    weights = _weights(words, [frozenset().union(*(has for _, has in one)) for one in lists])
    nearest = [max((_cosine(result) for result, _ in one), default=0.0) for one in lists]
    top = max(nearest, default=0.0) or 1.0
    rows = sorted(
        (
            (-(near / top + sum(weights[word] for word in has)) / (RANK_OFFSET + position), number, result)
            for number, (one, near) in enumerate(zip(lists, nearest, strict=True))
            for position, (result, has) in enumerate(one)
        ),
        key=lambda row: row[:2],
    )
    results = [result for *_, result in rows][query.offset : query.offset + query.k]
    every = answers.values()
    return replace(
        first,
        plan=replace(first.plan, query=query),
        results=tuple(result._replace(rank=rank) for rank, result in enumerate(results, query.offset + 1)),
        candidates=[result.candidate for *_, result in rows],
        total=sum(answer.total for answer in every),
        hits=_AllHits([answer.hits for answer in every]),
        degraded=tuple(dict.fromkeys(lane for answer in every for lane in answer.degraded)),
        absence=None if results else first.absence,
        is_weak=all(answer.is_weak for answer in every),
        hints=(WEAK_MATCH,) if results and all(answer.is_weak for answer in every) else () if results else first.hints,
        no_match="" if any(not answer.no_match for answer in every) else first.no_match,
        exact=max((answer.exact for answer in every), key=lambda exact: exact.found if exact else -1),
        timings={"total": max(answer.timings.get("total", 0.0) for answer in every)},
        indexes={result.function.id: name for name, answer in answers.items() for result in answer.results},
    )


class _AllHits:
    """Everything that the lanes of several indexes found."""

    def __init__(self, parts: Sequence[HitCounts]) -> None:
        self._parts = parts

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def most(self, part: Part, limit: int) -> dict[str, int]:
        counts = Counter[str]()
        for one in self._parts:
            counts.update(one.most(part, len(one) or 1))
        return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:limit])


def _terms(result: Result) -> list[str]:
    unit = result.function
    inside = (member.signature for member in result.members)
    return terms(" ".join((unit.repo, unit.path, unit.func_name, unit.docstring, unit.original_string, *inside)))


def _weights(words: frozenset[str], lists: Sequence[frozenset[str]]) -> dict[str, float]:
    """The weight of each word, all together 1: the rarer it is among the lists, the more."""
    rarity = {word: log(1 + len(lists) / (0.5 + sum(word in has for has in lists))) for word in words}
    whole = sum(rarity.values()) or 1.0
    return {word: value / whole for word, value in rarity.items()}


def _cosine(result: Result) -> float:
    """The cosine of a result in the dense lane; 0 if that lane does not have it."""
    return max((one.score for one in result.candidate.contributions if one.lane.startswith("dense")), default=0.0)
