"""The graph lane: functions that the call graph leads to from a symbol named in the question or found by keyword.

A structural question gets exactly what it asks for, all of it. Otherwise: the definitions of the symbols, then who
calls them, then what they call. Each hit says by which relation it was reached.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from treeline.corpus.analysis import terms
from treeline.engine.hits import ids_of, rescored
from treeline.engine.protocol import Engine, Filters
from treeline.graph.callgraph import CallGraph, Step
from treeline.graph.references import Relation
from treeline.rerank.ranked_list import RankedList
from treeline.search.question.exact import NEAR_NAMES, ExactList, exact_answer
from treeline.search.question.routing import Route
from treeline.search.question.structural import CALLS
from treeline.search.question.structure import seeds_of, standing_for

LANE = "graph"
DEFINITION, NEAR_NAME, BY_WORDS = "definition", "near name", "shares words"
# What a relation is called from its other end: a callee is `called`.
PASSIVE: Mapping[Relation, str] = {
    "calls": "called",
    "extends": "extended",
    "implements": "implemented",
    "uses": "used",
}
NO_WORDS: Mapping[Relation, str] = {}
LISTED = 10_000  # of a structural answer at most: as far as pages reach
# Of what a question names: all of a name, the end of a longer one or a method of a class, those around it. A near name
# is a guess, and so is what is around it.
WHOLE, PART, AROUND, GUESSED = 1.0, 0.75, 0.5, 0.2
SURE = 0.5  # above the usual where the question is a name and nothing else: no other lane then changes its order

Reached = tuple[str, float, str]  # function id, score, stage


def graph_lane(engine: Engine, graph: CallGraph | None, way: Route, text: str, k: int, filters: Filters) -> RankedList:
    """The first `k` functions of the walk; without a call graph, only the definitions."""
    if graph is None:
        hits = [hit for symbol in way.symbols for hit in engine.named(symbol, k, filters)][:k]
        return RankedList(LANE, rescored(hits, [WHOLE] * len(hits)), [DEFINITION] * len(hits))
    if way.relations:
        return _exactly(engine, graph, way, filters)
    seeds, stage = _seeds(engine, graph, way, text, filters)
    found = _first(_located(engine, _around(graph, seeds, stage, way.symbols), filters), k)
    return replace(found, above=SURE if stage == DEFINITION and way.words == 1 else 0.0)


def callees_lane(engine: Engine, graph: CallGraph, ids: Iterable[str], k: int, filters: Filters) -> RankedList:
    """What the given functions call, one edge away, in their order."""
    nodes = [node for id_ in ids if (node := graph.node_of(id_)) is not None]
    found = _located(engine, _functions(graph, graph.walk(nodes, CALLS, "out"), PASSIVE), filters)
    return replace(_first(found, k), lane="callees")


def _exactly(engine: Engine, graph: CallGraph, way: Route, filters: Filters) -> ExactList:
    """What a structural question asks for, and the answer in words."""
    symbols = [node for symbol in way.symbols for node in graph.named(symbol, filters.repo)]
    steps = graph.walk(seeds_of(graph, symbols, way.relations), way.relations, way.direction, way.depth)
    found = _located(engine, _functions(graph, steps, PASSIVE if way.direction == "out" else NO_WORDS), filters)
    listed = _first(found, LISTED)
    exact = exact_answer(graph, way, filters, symbols, steps, found=len(found.hits), listed=len(listed.hits))
    return ExactList(LANE, listed.hits, listed.stages, exact=exact)


def _seeds(engine: Engine, graph: CallGraph, way: Route, text: str, filters: Filters) -> tuple[list[int], str]:
    """The symbols that the question names, else those of a near name; where it names none, the top keyword hit."""
    named = [node for symbol in way.symbols for node in graph.named(symbol, filters.repo)]
    if named:
        return named, DEFINITION
    if way.symbols:
        near = [name for symbol in way.symbols for name in graph.near(symbol, NEAR_NAMES)]
        return [node for name in near for node in graph.named(name, filters.repo)], NEAR_NAME
    words = terms(text)
    top = engine.keyword(words, 1, filters) if words else []
    return [node for hit in top if (node := graph.node_of(hit.id)) is not None], BY_WORDS


def _around(graph: CallGraph, seeds: list[int], stage: str, symbols: Sequence[str]) -> Iterator[Reached]:
    """The definitions, who calls them, what they call."""
    believed = GUESSED if stage == NEAR_NAME else 1.0
    for node in seeds:
        whole = stage != DEFINITION or any(graph.is_whole(node, symbol) for symbol in symbols)
        for place, id_ in enumerate(standing_for(graph, node)):
            yield id_, believed * (WHOLE if whole and not place else PART), stage
    callers, called = graph.walk(seeds, CALLS, "in"), graph.walk(seeds, CALLS, "out")
    for id_, score, word in chain(_functions(graph, callers), _functions(graph, called, PASSIVE)):
        yield id_, believed * AROUND * score, word


def _functions(graph: CallGraph, steps: Sequence[Step], words: Mapping[Relation, str] = NO_WORDS) -> Iterator[Reached]:
    for step, own in zip(steps, graph.ids_of([step.node for step in steps]), strict=True):
        word = words.get(step.relation, step.relation)
        stage = word if step.depth == 1 else f"{word}, {step.depth} edges away"
        # A class that calls or is called is not its methods; its constructor has an edge of its own.
        ids = own if step.relation == "calls" else standing_for(graph, step.node)
        for id_ in ids:
            yield id_, 2 / (1 + step.depth), stage


def _located(engine: Engine, reached: Iterable[Reached], filters: Filters) -> RankedList:
    first: dict[str, Reached] = {}
    for found in reached:
        first.setdefault(found[0], found)
    hits = engine.locate(list(first), filters)
    reasons = [first[id_] for id_ in ids_of(hits)]
    return RankedList(LANE, rescored(hits, [score for _, score, _ in reasons]), [stage for _, _, stage in reasons])


def _first(ranked: RankedList, k: int) -> RankedList:
    return replace(ranked, hits=ranked.hits[:k], stages=ranked.stages[:k])
