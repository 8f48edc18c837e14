"""Makes the lanes of a plan, and holds their results before fusion."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from unicodedata import normalize

from treeline.corpus.analysis import analyse, terms
from treeline.corpus.errors import InputError
from treeline.corpus.frozen import frozen
from treeline.corpus.function import Function
from treeline.encoder.protocol import Encoder
from treeline.engine.hits import Hits, distinct
from treeline.engine.protocol import Engine, Filters
from treeline.rerank.ranked_list import RankedList
from treeline.search.lanes.graph import (
    ExactList,
    StoredGraph,
    TextCallsList,
    graph_lane,
    text_bases_lane,
    text_calls_lane,
)
from treeline.search.lanes.keyword import CHUNKS, keyword_lane
from treeline.search.lanes.phrase import PhraseList, exact_lane
from treeline.search.lanes.tfidf import Progress, TfidfLane, no_progress
from treeline.search.location import Locations, innermost
from treeline.search.plan import DENSE, EXACT, GRAPH, KEYWORD, PATH, TEXT_CALLS, TFIDF, Plan
from treeline.search.structural_answer import Exact
from treeline.search.structure import INHERITS

MEANING = "meaning"  # the last relaxation stage: no unit has any of the words
NO_MATCH = "nothing here contains these words; what follows"
WITHOUT_IT = "; what follows has some of its words or is near it in meaning"

Lane = Callable[[], RankedList]


class LaneSet:
    """Makes the lanes of a plan over one open index, each a call without arguments."""

    def __init__(
        self,
        engine: Engine,
        encoders: Mapping[str, Encoder],
        graph: StoredGraph,
        locations: Callable[[], Locations | None],
        *,
        cache: Path | None = None,
    ) -> None:
        self._engine, self._encoders, self._graph, self._locations = engine, encoders, graph, locations
        self._tfidf = TfidfLane(engine, cache)

    def make(self, plan: Plan) -> dict[str, Lane]:
        """The plan's lanes by name; an index with several encoders has a dense lane for each."""
        made: dict[str, Lane] = {}
        for name in plan.lanes:
            if name == KEYWORD:
                made[name] = partial(
                    keyword_lane,
                    self._engine,
                    plan.language.rest,  # functions do not mention the language they are written in
                    plan.depth,
                    plan.filters,
                    expanded=plan.query.expand,
                )
            elif name == DENSE:
                made |= self._dense(plan)
            elif name == GRAPH:
                made[name] = lambda: graph_lane(
                    self._engine, self._graph(), plan.route, plan.text, plan.depth, plan.filters
                )
            elif name == PATH:
                made[name] = lambda: path_lane(self._engine, self._locations(), plan)
            elif name == EXACT:
                made[name] = partial(exact_lane, self._engine, plan)
            elif name == TEXT_CALLS:
                made[name] = self._text_calls(plan)
            elif name == TFIDF:
                made[name] = partial(self._tfidf, plan.text, plan.depth, plan.filters)
            else:
                raise InputError(f"unknown lane {name!r}", f"choose from: {KEYWORD}, {DENSE}, {TFIDF}, {GRAPH}")
        return made

    def prepare(self, name: str, progress: Progress = no_progress) -> None:
        """Load or build now what the lane needs, instead of at its first query."""
        if name == TFIDF:
            self._tfidf.prepare(progress)
        elif name == GRAPH:
            self._graph()

    def _text_calls(self, plan: Plan) -> Lane:
        symbol = plan.route.symbols[0]
        if plan.route.relations == INHERITS:
            return lambda: text_bases_lane(self._engine, self._graph(), symbol, plan.depth, plan.filters)
        called = not plan.route.asks_for_uses
        return partial(text_calls_lane, self._engine, symbol, plan.depth, plan.filters, called=called)

    def _dense(self, plan: Plan) -> dict[str, Lane]:
        info = self._engine.info
        if not info.encoders:
            raise InputError(f"the index {info.name!r} has no vectors", "use keyword mode, or index it again")
        names = [f"{DENSE}:{spec.name}" if number else DENSE for number, spec in enumerate(info.encoders)]
        return {
            name: partial(
                dense_lane,
                self._engine,
                self._encoders[spec.name],
                plan.text,
                plan.depth,
                plan.filters,
                index_name=spec.name,
                lane=name,
            )
            for name, spec in zip(names, info.encoders, strict=True)
        }


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
    engine: Engine, encoder: Encoder, text: str, k: int, filters: Filters, *, index_name: str, lane: str = DENSE
) -> RankedList:
    """The nearest `k` by cosine; empty if the encoder knows no word of the query."""
    vector = encoder.encode_queries([text])[0]
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


@dataclass(frozen=True)
class LaneResults:
    """The ranked lists of one plan before fusion, and the lanes that were left out."""

    plan: Plan
    lists: tuple[RankedList, ...]
    degraded: tuple[Degradation, ...] = ()
    timings: Mapping[str, float] = field(default_factory=dict)  # milliseconds per lane
    excluded: bool = False  # whether results were dropped because of an excluded word

    def without(self, stage: str, error: Exception) -> LaneResults:
        """The results, with a stage after the lanes named as left out."""
        return replace(self, degraded=(*self.degraded, Degradation(stage, str(error))))

    @cached_property
    def exact(self) -> Exact | None:
        """The call graph's answer to a structural question, with the number of unresolved calls."""
        known = next((ranked for ranked in self.lists if isinstance(ranked, ExactList)), None)
        text_calls = next((ranked for ranked in self.lists if isinstance(ranked, TextCallsList)), None)
        if known is None:
            return None
        cut = known.exact.found > known.exact.functions  # those beyond the list would then be counted twice
        if text_calls is None or cut:
            return known.exact
        return replace(
            known.exact,
            unresolved_calls=len(distinct([known.hits, text_calls.hits])) - len(known.hits),
            all_unresolved_calls=text_calls.complete,
            unresolved_classes=text_calls.classes,
        )

    @property
    def relaxed(self) -> tuple[str, ...]:
        """The relaxation stages after the exact one that were needed, in order. The last is `meaning` if no unit has a
        word of the query and the results are only similar in meaning."""
        stages = {ranked.lane: ranked.stages for ranked in self.lists}.get(KEYWORD)
        if stages is None:
            return ()
        beyond = tuple(stage for stage in dict.fromkeys(stages) if stage != "exact")
        return (*beyond, MEANING) if self._by_meaning and self._pieces is not None else beyond

    @property
    def no_match(self) -> str:
        """A sentence if no unit has the quoted phrase, or any of the words or a near spelling of one; else empty."""
        if self._phrases is not None and self._phrases.required and not len(self._phrases.hits):
            missing = self._phrases.missing or (*self.plan.phrases, self.plan.regex and f"/{self.plan.regex}/")
            together = "" if self._phrases.missing else " together"
            unsure = " (as far as could be looked in time)" if self._phrases.stopped else ""
            return f"nothing here contains {_quoted(missing)}{together}{unsure}" + (WITHOUT_IT if self.found else "")
        if self._pieces is None:
            return ""
        if not self._by_meaning:
            return f"{NO_MATCH} has only pieces of them" if self._pieces else ""
        return f"{NO_MATCH} is the nearest by meaning{', or has pieces of them' if self._pieces else ''}"

    @property
    def cut_short(self) -> str:
        """A sentence if the search for a phrase or pattern ran out of time, so there may be more; else empty."""
        if self._phrases is None or not self._phrases.stopped or not len(self._phrases.hits):
            return ""
        return f"looking for {_quoted(self._phrases.stopped)} took too long: there may be more"

    @property
    def leading(self) -> tuple[str, ...]:
        """The lanes whose results come first whatever their scores: the exact answer to a structural question, the file
        that the query names, or units that contain the query verbatim."""
        if self.exact:
            return (GRAPH, TEXT_CALLS)
        if any(ranked.lane == PATH and len(ranked.hits) for ranked in self.lists):
            return (PATH,)
        verbatim = self._phrases is not None and not self._phrases.required and len(self._phrases.hits)
        return (EXACT,) if verbatim else ()

    @property
    def _phrases(self) -> PhraseList | None:
        return next((ranked for ranked in self.lists if isinstance(ranked, PhraseList)), None)

    @property
    def _by_meaning(self) -> bool:
        return any(ranked.hits and base(ranked.lane) == DENSE for ranked in self.lists)

    @property
    def _pieces(self) -> bool | None:
        """Whether only pieces of the words were found. None if whole words were or may have been found, or no lane
        searched for them."""
        found = {base(ranked.lane): ranked for ranked in self.lists if base(ranked.lane) not in (DENSE, EXACT)}
        keyword = found.pop(KEYWORD, None)
        if keyword is None or self.excluded or any(ranked.hits for ranked in found.values()):
            return None
        return bool(keyword.hits) if all(stage == CHUNKS for stage in keyword.stages) else None

    @cached_property
    def found(self) -> Hits:
        """The distinct functions of all lists."""
        return distinct([ranked.hits for ranked in self.lists])

    def only(self, *lanes: str) -> LaneResults:
        """The results of these lanes only; `dense` includes every encoder's."""
        kept = tuple(ranked for ranked in self.lists if ranked.lane in lanes or base(ranked.lane) in lanes)
        return replace(self, lists=kept)


def _quoted(phrases: Sequence[str]) -> str:
    return " or ".join(one if one.startswith("/") else f"“{one}”" for one in phrases if one)


def base(lane: str) -> str:
    """The kind of a lane: `dense` for `dense:NAME`."""
    return lane.partition(":")[0]


def exclude(engine: Engine, results: LaneResults) -> LaneResults:
    """The lists without functions that contain an excluded word, in any form, even as part of a name."""
    words = [found for word in results.plan.excluded if (found := frozenset(terms(word)))]
    if not words:
        return results
    every = dict.fromkeys(id_ for ranked in results.lists for id_ in Hits.of(ranked.hits).ids)
    dropped = {function.id for function in engine.fetch(list(every)) if _contains(function, words)}
    lists = tuple(_keep(ranked, dropped) for ranked in results.lists)
    return replace(results, lists=lists, excluded=bool(dropped))


def _contains(function: Function, words: Sequence[frozenset[str]]) -> bool:
    # Analysing 5,000 functions takes a second. Every form of a word contains the first letters of its stem, so
    # searching for those rules out most functions.
    text = normalize("NFKC", f"{function.func_name}\n{function.code}\n{function.docstring}").lower()
    likely = [word for word in words if all(stem[: max(2, len(stem) - 1)] in text for stem in word)]
    if not likely:
        return False
    contained = set(analyse(function).split())
    return any(word <= contained for word in likely)


def _keep(ranked: RankedList, dropped: set[str]) -> RankedList:
    positions = [at for at, id_ in enumerate(Hits.of(ranked.hits).ids) if id_ not in dropped]
    stages = [ranked.stages[at] for at in positions] if ranked.stages else ranked.stages
    kept = replace(ranked, hits=Hits.of(ranked.hits).at(positions), stages=stages)
    if not isinstance(kept, ExactList):
        return kept
    gone = len(ranked.hits) - len(positions)
    exact = replace(kept.exact, found=kept.exact.found - gone, functions=len(positions), narrowed=True)
    return replace(kept, exact=exact)
