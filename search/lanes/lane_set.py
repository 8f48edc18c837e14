"""Makes the lanes of a plan, and holds their results before fusion."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from unicodedata import normalize

import numpy as np

from treeline.corpus.analysis import analyse, terms
from treeline.corpus.errors import InputError
from treeline.corpus.frozen import frozen
from treeline.corpus.function import FUNCTION_KINDS, Function
from treeline.corpus.roles import role_of
from treeline.encoder.protocol import Encoder, unit
from treeline.engine.hits import NO_ROWS, Hits, distinct
from treeline.engine.protocol import Engine, Filters
from treeline.graph.callgraph import CallGraph
from treeline.graph.history import History
from treeline.rerank.fusion import KINDS_IN_WORDS, RankedList
from treeline.search.issue import Issue
from treeline.search.lanes.graph import (
    GUESS,
    ExactList,
    StoredGraph,
    TextCallsList,
    graph_lane,
    text_bases_lane,
    text_calls_lane,
)
from treeline.search.lanes.issue import (
    Changes,
    HistoryList,
    definitions_lane,
    history_lane,
    issue_keyword_lane,
    places_lane,
)
from treeline.search.lanes.words import CHUNKS, ENOUGH, KeywordList, PhraseList, exact_lane, keyword_lane
from treeline.search.location import Locations, innermost
from treeline.search.plan import (
    DEFINITIONS,
    DENSE,
    EXACT,
    GRAPH,
    HISTORY,
    KEYWORD,
    PATH,
    PLACES,
    TEXT_CALLS,
    Plan,
)
from treeline.search.structural_answer import Exact
from treeline.search.structure import INHERITS

MEANING = "meaning"  # the last relaxation stage: no unit has any of the words
NO_MATCH = "nothing here contains these words; what follows"
WEAK_MATCH = "weak match: nothing here seems to be about this; what follows is the nearest"
# The best cosine less the usual one, below which nothing is about the question. Chosen on half of 21 repositories; on
# the other half it is noted at 2.6 % of their own questions, 79 % of other repositories' and 99 % of nonsense
# (`python -m benchmarks.weak`). One word alone is too little to judge by: it is there or not.
WEAK_MARGIN, FEWEST_WORDS = -0.15, 2
WITHOUT_IT = "; without the quotes, what has some of its words is found"

# Factor on the depth of a lane whose tests are put after other code, and the roles that are.
BESIDE_TESTS = 2
BEHIND = frozenset({"test", "vendored"})

Lane = Callable[[], RankedList]


class LaneSet:
    """Makes the lanes of a plan over one open index, each a call without arguments."""

    def __init__(
        self,
        engine: Engine,
        encoders: Mapping[str, Encoder],
        graph: StoredGraph,
        locations: Callable[[], Locations | None],
        history: Callable[[], History | None],
    ) -> None:
        self._engine, self._encoders, self._graph, self._locations = engine, encoders, graph, locations
        self._history = history

    def make(self, plan: Plan) -> dict[str, Lane]:
        """The plan's lanes by name; an index with several encoders has a dense lane for each."""
        code_first = plan.code_first and not self._has_functions_alone
        depth = BESIDE_TESTS * plan.depth if code_first else plan.depth
        lanes: dict[str, Lane] = {}
        for name in plan.lanes:
            if name == KEYWORD and plan.issue:
                lanes[name] = partial(issue_keyword_lane, self._engine, plan.issue, depth, plan.filters)
            elif name == DEFINITIONS and plan.issue:
                lanes[name] = partial(definitions_lane, self._engine, plan.issue, plan.filters)
            elif name == PLACES and plan.issue:
                lanes[name] = partial(self._places_lane, plan.issue, plan.filters)
            elif name == HISTORY:
                words = plan.issue.words if plan.issue else terms(plan.text)
                lanes[name] = partial(self._history_lane, words, plan.filters)
            elif name == KEYWORD:
                lanes[name] = partial(
                    keyword_lane,
                    self._engine,
                    plan.language.rest,  # functions do not mention the language they are written in
                    depth,
                    plan.filters,
                    with_feedback=plan.query.expand,
                )
            elif name == DENSE:
                lanes |= self._dense(plan, depth)
            elif name == GRAPH:
                lanes[name] = lambda: graph_lane(
                    self._engine, self._graph_for(plan), plan.route, plan.text, plan.depth, plan.filters
                )
            elif name == PATH:
                lanes[name] = lambda: path_lane(self._engine, self._locations(), plan)
            elif name == EXACT:
                lanes[name] = partial(exact_lane, self._engine, plan)
            elif name == TEXT_CALLS:
                lanes[name] = self._text_calls(plan)
            else:
                raise InputError(f"unknown lane {name!r}", f"choose from: {KEYWORD}, {DENSE}, {GRAPH}")
        if code_first:
            deeper = {name: lane for name, lane in lanes.items() if base(name) in (KEYWORD, DENSE)}
            lanes |= {name: partial(with_code_first, lane, plan.depth) for name, lane in deeper.items()}
        return lanes

    @cached_property
    def _has_functions_alone(self) -> bool:
        """Whether the index is a collection of functions of many repositories: there tests keep their places
        (docs/research/tree-ranking.md)."""
        return self._engine.count(Filters(kind=",".join(sorted(FUNCTION_KINDS)))) == self._engine.count()

    def _graph_for(self, plan: Plan) -> CallGraph | None:
        return self._graph.of_names(plan.route.symbols) if plan.route.alone else self._graph()

    def _places_lane(self, issue: Issue, filters: Filters) -> RankedList:
        return places_lane(self._engine, self._locations(), issue, filters)

    def _history_lane(self, words: Sequence[str], filters: Filters) -> RankedList:
        return history_lane(self._engine, self._history(), words, filters)

    def _text_calls(self, plan: Plan) -> Lane:
        symbol = plan.route.symbols[0]
        if plan.route.relations == INHERITS:
            return lambda: text_bases_lane(self._engine, self._graph(), symbol, plan.depth, plan.filters)
        is_call = not plan.route.asks_for_uses
        return partial(text_calls_lane, self._engine, symbol, plan.depth, plan.filters, is_call=is_call)

    def _dense(self, plan: Plan, depth: int) -> dict[str, Lane]:
        info = self._engine.info
        if not info.encoders:
            raise InputError(f"the index {info.name!r} has no vectors", "use keyword mode, or index it again")
        names = [f"{DENSE}:{spec.name}" if number else DENSE for number, spec in enumerate(info.encoders)]
        return {
            name: partial(
                dense_lane,
                self._engine,
                self._encoders[spec.name],
                plan.issue.texts if plan.issue else [plan.text],
                depth,
                plan.filters,
                index_name=spec.name,
                lane=name,
            )
            for name, spec in zip(names, info.encoders, strict=True)
        }


def with_code_first(lane: Lane, depth: int) -> RankedList:
    """The lane's best `depth` that are neither tests nor vendored, as if there were no others, then as many that are.
    Where little but tests has the words, they keep their places."""
    ranking = lane()
    hits = Hits.of(ranking.hits)
    roles = [role_of(path) in BEHIND for path in hits.table.parts("path", hits.rows)]
    code, behind = (np.flatnonzero(np.equal(roles, side))[:depth] for side in (False, True))
    if len(code) < ENOUGH:
        code, behind = np.arange(min(depth, len(hits))), NO_ROWS
    order = np.concatenate([code, behind])
    scores = hits.scores[order]
    scores[len(code) :] = np.minimum(scores[len(code) :], scores[: len(code)].min(initial=np.inf))
    stages = [ranking.stages[at] for at in order.tolist()] if ranking.stages else ranking.stages
    return replace(ranking, hits=hits.at(order).with_scores(scores), stages=stages)


def path_lane(engine: Engine, locations: Locations | None, plan: Plan) -> RankedList:
    """The units of the file that the query names, the file itself first; for a line, the innermost unit there first."""
    where = plan.route.location
    if where is None or locations is None:
        return RankedList(PATH, [])
    units = locations.units(engine, where, plan.filters)
    if where.line:
        hits = innermost(units, where.line)
        stages = [f"at line {where.line}"] * len(hits)
    else:
        hits = sorted(units, key=lambda hit: hit.address.kind != "file")[: plan.depth]
        stages = ["in this file"] * len(hits)
    return RankedList(PATH, Hits.of(hits).with_scores([1 / (1 + rank) for rank in range(len(hits))]), stages)


def dense_lane(
    engine: Engine,
    encoder: Encoder,
    texts: Sequence[str],
    k: int,
    filters: Filters,
    *,
    index_name: str,
    lane: str = DENSE,
) -> RankedList:
    """The nearest `k` by cosine to the mean of these texts; empty if the encoder knows no word of them."""
    vectors = encoder.encode_queries(texts)
    vector = vectors[0] if len(vectors) == 1 else unit(vectors.sum(axis=0))
    if not vector.any():
        return RankedList(lane, [])
    hits = engine.knn(vector, k, filters, index_name)
    if encoder.usual is None or not len(hits):
        return RankedList(lane, hits)
    return RankedList(lane, hits, margin=hits[0].score - encoder.usual)


@frozen
class Degradation:
    """A lane or a later stage that was left out of an answer, and why."""

    lane: str
    reason: str


@frozen
class Absence:
    """A name that nothing in the index has, and the nearest ones."""

    name: str
    near: tuple[str, ...] = ()
    in_text: bool = False  # whether some unit has it in its text, such as a library's name
    where: str = "here"

    @property
    def sentence(self) -> str:
        text = "; what follows has it in its text" if self.in_text else ""
        near = f"; nearest names: {', '.join(self.near)}" if self.near else ""
        return f"nothing {self.where} is called `{self.name}`{text}{near}"


@dataclass(frozen=True)
class LaneResults:
    """The ranked lists of one plan before fusion, and the lanes that were left out."""

    plan: Plan
    lists: tuple[RankedList, ...]
    degraded: tuple[Degradation, ...] = ()
    timings: Mapping[str, float] = field(default_factory=dict)  # milliseconds per lane
    absence: Absence | None = None  # of the name that the query is
    has_exclusions: bool = False  # whether results were dropped because of an excluded word

    def with_degradation(self, stage: str, error: Exception) -> LaneResults:
        """The results, with a stage after the lanes named as left out."""
        return replace(self, degraded=(*self.degraded, Degradation(stage, str(error))))

    @cached_property
    def exact(self) -> Exact | None:
        """The call graph's answer to a structural question, with the number of unresolved calls."""
        known = next((ranking for ranking in self.lists if isinstance(ranking, ExactList)), None)
        text_calls = next((ranking for ranking in self.lists if isinstance(ranking, TextCallsList)), None)
        if known is None:
            return None
        cut = known.exact.found > known.exact.functions  # those beyond the list would then be counted twice
        if text_calls is None or cut:
            return known.exact
        more = set(Hits.of(text_calls.hits).ids).difference(Hits.of(known.hits).ids)
        return replace(
            known.exact,
            unresolved_calls=len(more),
            unresolved_in_tests=len(more & text_calls.tests),
            all_unresolved_calls=text_calls.complete,
            unresolved_classes=text_calls.classes,
        )

    @property
    def relaxed(self) -> tuple[str, ...]:
        """The relaxation stages after the exact one that were needed, in order. The last is `meaning` if no unit has a
        word of the query and the results are only similar in meaning."""
        stages = {ranking.lane: ranking.stages for ranking in self.lists}.get(KEYWORD)
        if stages is None:
            return ()
        beyond = tuple(stage for stage in dict.fromkeys(stages) if stage != "exact")
        return (*beyond, MEANING) if self._by_meaning and self._pieces is not None else beyond

    @property
    def no_match(self) -> str:
        """A sentence if no unit has the quoted phrase, or any of the words or a near spelling of one; else empty."""
        if self._phrases is not None and self._phrases.is_required and not len(self._phrases.hits):
            missing = self._phrases.missing or (*self.plan.phrases, self.plan.regex and f"/{self.plan.regex}/")
            together = "" if self._phrases.missing else " together"
            unsure = " (as far as could be looked in time)" if self._phrases.timeouts else ""
            hint = WITHOUT_IT if self.plan.phrases else ""
            return f"nothing here contains {_in_quotes(missing)}{together}{unsure}{hint}"
        if self._pieces is None:
            return ""
        if not self._by_meaning:
            return f"{NO_MATCH} has only pieces of them" if self._pieces else ""
        return f"{NO_MATCH} is the nearest by meaning{', or has pieces of them' if self._pieces else ''}"

    @property
    def is_weak(self) -> bool:
        """Whether a question in words is far in meaning from everything here."""
        route = self.plan.route
        in_words = route.kind in KINDS_IN_WORDS and route.words >= FEWEST_WORDS and not self.leading
        has_exact = self._phrases is not None and len(self._phrases.hits) > 0
        return in_words and not has_exact and any(ranking.margin < WEAK_MARGIN for ranking in self.lists)

    @property
    def cut_short(self) -> str:
        """A sentence if the search for a phrase or pattern ran out of time, so there may be more; else empty."""
        if self._phrases is None or not self._phrases.timeouts or not len(self._phrases.hits):
            return ""
        return f"looking for {_in_quotes(self._phrases.timeouts)} took too long: there may be more"

    @property
    def leading(self) -> tuple[str, ...]:
        """The lanes whose results come first whatever their scores: the exact answer to a structural question, the file
        that the query names, or units that contain the query verbatim."""
        if self.exact:
            return (GRAPH, TEXT_CALLS)
        if any(ranking.lane == PATH and len(ranking.hits) for ranking in self.lists):
            return (PATH,)
        verbatim = self._phrases is not None and not self._phrases.is_required and len(self._phrases.hits)
        return (EXACT,) if verbatim else ()

    @property
    def _phrases(self) -> PhraseList | None:
        return next((ranking for ranking in self.lists if isinstance(ranking, PhraseList)), None)

    @property
    def _by_meaning(self) -> bool:
        return any(ranking.hits and base(ranking.lane) == DENSE for ranking in self.lists)

    @property
    def _pieces(self) -> bool | None:
        """Whether only pieces of the words were found. None if whole words were or may have been found, or no lane
        searched for them."""
        others = {base(ranking.lane): ranking for ranking in self.lists if base(ranking.lane) not in (DENSE, EXACT)}
        keyword = others.pop(KEYWORD, None)
        if keyword is None or self.has_exclusions or any(ranking.hits for ranking in others.values()):
            return None
        return bool(keyword.hits) if all(stage == CHUNKS for stage in keyword.stages) else None

    @cached_property
    def hits(self) -> Hits:
        """The distinct functions of all lists."""
        return distinct([ranking.hits for ranking in self.lists])

    @property
    def has_near_name(self) -> bool:
        """Whether a name in another casing or one slip away was found, no mere guess."""
        graph = next((ranking.hits for ranking in self.lists if ranking.lane == GRAPH), ())
        return len(graph) > 0 and graph[0].score > GUESS

    @property
    def changes(self) -> Changes:
        """The votes that each file got from the history, by repository and path."""
        return next((ranking.changes for ranking in self.lists if isinstance(ranking, HistoryList)), {})

    @property
    def files(self) -> Mapping[tuple[str, str], float]:
        """The keyword score of each whole file, by repository and path."""
        return next((ranking.files for ranking in self.lists if isinstance(ranking, KeywordList)), {})

    def only(self, *lanes: str) -> LaneResults:
        """The results of these lanes only; `dense` includes every encoder's."""
        lists = tuple(ranking for ranking in self.lists if ranking.lane in lanes or base(ranking.lane) in lanes)
        return replace(self, lists=lists)


def _in_quotes(phrases: Sequence[str]) -> str:
    return " or ".join(one if one.startswith("/") else f"“{one}”" for one in phrases if one)


def base(lane: str) -> str:
    """The kind of a lane: `dense` for `dense:NAME`."""
    return lane.partition(":")[0]


def exclude(engine: Engine, results: LaneResults) -> LaneResults:
    """The lists without functions that contain an excluded word, in any form, even as part of a name."""
    words = [stems for word in results.plan.excluded if (stems := frozenset(terms(word)))]
    if not words:
        return results
    every = dict.fromkeys(id_ for ranking in results.lists for id_ in Hits.of(ranking.hits).ids)
    dropouts = {function.id for function in engine.fetch(list(every)) if _contains(function, words)}
    lists = tuple(_keep(ranking, dropouts) for ranking in results.lists)
    return replace(results, lists=lists, has_exclusions=bool(dropouts))


def _contains(function: Function, words: Sequence[frozenset[str]]) -> bool:
    # Analysing 5,000 functions takes a second. Every form of a word contains the first letters of its stem, so
    # searching for those rules out most functions.
    text = normalize("NFKC", f"{function.func_name}\n{function.code}\n{function.docstring}").lower()
    likely = [word for word in words if all(stem[: max(2, len(stem) - 1)] in text for stem in word)]
    if not likely:
        return False
    words_of_it = set(analyse(function).split())
    return any(word <= words_of_it for word in likely)


def _keep(ranking: RankedList, dropouts: set[str]) -> RankedList:
    positions = [at for at, id_ in enumerate(Hits.of(ranking.hits).ids) if id_ not in dropouts]
    stages = [ranking.stages[at] for at in positions] if ranking.stages else ranking.stages
    result = replace(ranking, hits=Hits.of(ranking.hits).at(positions), stages=stages)
    if not isinstance(result, ExactList):
        return result
    losses = len(ranking.hits) - len(positions)
    exact = replace(result.exact, found=result.exact.found - losses, functions=len(positions), is_filtered=True)
    return replace(result, exact=exact)
