"""The lanes of the call graph.

The graph lane walks from a symbol named in the query (or found by keyword) to its definitions, callers and callees. A
structural question gets a complete and exact answer (`structural_answer.py`).

The `text_calls` lane finds calls by their text (`urlopen(`), wherever the function is defined. The call graph only has
calls that resolve within a repository: it misses calls of library functions, and often methods of a variable of unknown
type. Classes whose base is defined elsewhere are found in the same way.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import chain
from pathlib import Path

from treeline.corpus.analysis import parts, terms
from treeline.corpus.frozen import frozen
from treeline.corpus.function import FUNCTION_KINDS, Function
from treeline.engine.hits import Hit, Hits
from treeline.engine.patterns import exactly, path_test
from treeline.engine.protocol import NO_FILTERS, Engine, Filters
from treeline.graph.callgraph import ARTIFACT, POSSIBLE, CallGraph, GraphSymbol, Step, load
from treeline.graph.references import CONSTRUCTORS, Relation, last_of
from treeline.rerank.candidates import Candidate
from treeline.rerank.fusion import RankedList
from treeline.search.plan import GRAPH, TEXT_CALLS, Route
from treeline.search.structural_answer import Exact
from treeline.search.structure import (
    CALLS,
    EVERYTHING,
    INHERITS,
    MARKS,
    NEAR_NAMES,
    functions_of,
    is_test,
    seeds_of,
    units_of,
)

DEFINITION, NEAR_NAME, BY_WORDS = "definition", "near name", "shares words"
CLASS_KINDS = frozenset({"class", "interface", "type", "enum"})
OUTSIDE = frozenset({"file", "constant"})  # kinds with code that is outside of functions and classes
UNRESOLVED_CALL = "unresolved"  # the relation of a result whose code contains a call that the graph could not resolve
# The names of relations in the other direction: a callee is `called`.
PASSIVE: Mapping[Relation, str] = {
    "calls": "called",
    "extends": "extended",
    "implements": "implemented",
    "uses": "used",
}
NO_WORDS: Mapping[Relation, str] = {}
MOST_LISTED = 10_000  # most units of a structural answer: as far as paging goes
TOP_LEVELS = 20  # modules of a structural answer whose top-level code is looked up
MOST_ALIKE = 1_000  # units of one last name among which a longer name is looked for
TOP_LEVEL_UNITS = 20  # units of a module that are read for it
# Scores of a whole name, of the end of a longer name or a method of a class, and of their neighbours. A similar name
# and its neighbours are guesses.
WHOLE, PART, AROUND, GUESS = 1.0, 0.75, 0.5, 0.2
NEXT = 0.01  # subtracted for each further function of a class, and for each definition that a later one replaces
IN_TEST = 0.02  # for a function in a test, whatever its distance, in place of 2
LATER = 10  # definitions for which that is done
SURE = 0.5  # added if the query is only a name, so that no other lane changes the order

Reach = tuple[str, float, str]  # function id, score, stage


class StoredGraph:
    """The call graph of an open index, loaded or built on the first call; None if the index has none."""

    def __init__(self, engine: Engine, cache: Path | None = None) -> None:
        self._engine, self._cache = engine, cache
        self._graph: CallGraph | None = None
        self._loaded = False
        self._lock = threading.Lock()

    def __call__(self) -> CallGraph | None:
        if not self._loaded:
            with self._lock:
                if not self._loaded:
                    from treeline.search.artifacts import obtain

                    data = obtain(self._engine, ARTIFACT, self._cache)
                    self._graph = load(data) if data else None
                    self._loaded = True
        return self._graph

    def of_names(self, names: Sequence[str]) -> CallGraph | None:
        """The graph; None if it would have to be built, which takes seconds in a large project, and no unit has one of
        these names or one that is spelt nearly so."""
        from treeline.search.artifacts import is_made

        if self._loaded or is_made(self._engine, ARTIFACT, self._cache) or any(map(self._is_near, names)):
            return self()
        return None

    def _is_near(self, name: str) -> bool:
        last = last_of(name)
        return any(self._engine.named(style, 1) for style in (last, *styles(last))) or any(
            functions for word, functions in self._engine.spellings(last.lower()).items() if word != last.lower()
        )


@frozen
class ExactList(RankedList):
    """The functions of an exact answer, with the answer itself."""

    exact: Exact = field(kw_only=True)


@frozen
class TextCallsList(RankedList):
    """The functions found; `complete` if all functions with the words of the call were checked. For a base class,
    `classes` are those that name it, and the functions are their members."""

    complete: bool = field(kw_only=True)
    classes: tuple[str, ...] = field(default=(), kw_only=True)
    tests: frozenset[str] = field(default=frozenset(), kw_only=True)  # ids of functions in tests


def graph_lane(
    engine: Engine, graph: CallGraph | None, route: Route, text: str, k: int, filters: Filters
) -> RankedList:
    """The first `k` units: the definitions of the names, then their neighbours if there is a call graph."""
    if graph is not None and route.relations:
        return _exactly(engine, graph, route, filters)
    names, stage, trust = _names(engine, graph, route.symbols, filters)
    units = [hit for name in names for hit in _of_name(engine, name, k, filters)]
    if graph is None:
        reaches: Iterable[Reach] = _units(units, names, stage)
    else:
        seeds = [node for name in names for node in graph.named(name, filters.values("repo").passes)]
        if not route.symbols:
            seeds, stage = _by_words(engine, graph, text, filters), BY_WORDS
        reaches = chain(_units(units, names, stage), _around(graph, seeds, stage, names, units))
    ranking = _first(_locate(engine, ((id_, trust * score, why) for id_, score, why in reaches), filters), k)
    return replace(ranking, margin=SURE if names and trust == 1.0 and route.words == 1 else 0.0)


def text_calls_lane(engine: Engine, symbol: str, k: int, filters: Filters, *, is_call: bool = True) -> TextCallsList:
    """Of the first `k` functions with the words of the symbol, those where a bracket follows it (if `is_call`); tests
    come last."""
    words = _rarest(symbol)
    hits = Hits.of(engine.keyword(words, k, filters) if words else [])
    ids = list(hits.ids)
    bodies = {function.id: function for function in engine.fetch(ids)}
    count = calls_in if is_call else mentions_in
    times = {one.id: count(one, symbol) for one in bodies.values()}
    holding = {(one.repo, one.path, one.func_name): one.id for one in bodies.values() if times[one.id]}
    own = dict(times)
    for (repo, path, name), id_ in holding.items():  # what an inner function has is not the outer one's
        outer = name.rpartition(".")[0]
        while outer and (repo, path, outer) not in holding:
            outer = outer.rpartition(".")[0]
        if outer:
            own[holding[repo, path, outer]] -= times[id_]
    tests = {one.id for one in bodies.values() if is_test(one.path, one.func_name)}
    positions = sorted((at for at, id_ in enumerate(ids) if own.get(id_, 0) > 0), key=lambda at: ids[at] in tests)
    # All score the same: how often a function has the words does not make it more of a caller.
    callers = hits.at(positions).with_scores([1.0] * len(positions))
    return TextCallsList(TEXT_CALLS, callers, complete=len(hits) < k, tests=frozenset(tests))


def _rarest(symbol: str) -> list[str]:
    """The terms of a name. The whole name is a term too if it has parts, and rarer than they are."""
    words = terms(symbol)
    return [symbol.lower()] if symbol.lower() in words else words


def text_bases_lane(engine: Engine, graph: CallGraph | None, symbol: str, k: int, filters: Filters) -> TextCallsList:
    """The first `k` classes with an unresolved base of this name, or their functions where classes are no units."""
    if graph is None:
        return TextCallsList(TEXT_CALLS, [], complete=True)
    symbols = {node: graph.symbol(node) for node in graph.naming(symbol, filters.values("repo").passes)}
    classes = {node: one for node, one in symbols.items() if _passes(one, filters)}
    ids = dict.fromkeys(id_ for node in classes for id_ in units_of(graph, node))
    hits = Hits.of(engine.locate(list(ids), filters))[:k]
    descriptions = tuple(map(_describe, classes.values()))
    return TextCallsList(TEXT_CALLS, hits.with_scores([1.0] * len(hits)), complete=True, classes=descriptions)


def call_name(name: str) -> str:
    """The name in a call of a function: `send` for `Client.send`, and the class's name for a constructor."""
    outer, _, last = name.rpartition(".")
    return outer.rpartition(".")[2] if outer and last in CONSTRUCTORS else last


def calls_in(function: Function, symbol: str) -> int:
    """The number of calls in the function's code. Its own definition does not count, nor does an outline."""
    if function.kind not in FUNCTION_KINDS:
        return 0
    own = function.func_name.rpartition(".")[2] == symbol
    # Ruby calls `valid?` without brackets, and no variable has such a name.
    after = r"(?!=)" if symbol.endswith(MARKS) else r"\s*\("
    return max(0, len(re.findall(rf"(?<![\w$]){re.escape(symbol)}{after}", function.code)) - own)


def mentions_in(function: Function, symbol: str) -> int:
    """The number of mentions in the function's code; 0 for a definition of that name and an outline."""
    if function.kind not in FUNCTION_KINDS or function.func_name.rpartition(".")[2] == symbol:
        return 0
    return len(re.findall(rf"(?<![\w$]){re.escape(symbol)}(?![\w$])", function.code))


def relation_of(candidate: Candidate) -> str:
    """A result's relation in the call graph: `calls`, `called`, `definition`, `uses, 2 edges away`.

    `unresolved` if only its code has the call, or its class the base; '' for none.
    """
    stages = {one.lane: one.stage for one in candidate.contributions}
    return stages.get(GRAPH, UNRESOLVED_CALL if TEXT_CALLS in stages else "")


def _units_among(graph: CallGraph, nodes: Sequence[int], ids: Sequence[str]) -> int:
    """The number of these units that the nodes stand for."""
    return len({id_ for own in graph.ids_of(nodes) for id_ in own}.intersection(ids)) if nodes else 0


def _possible(graph: CallGraph, steps: Sequence[Step], ids_found: Sequence[str]) -> int:
    """The number of these functions that were reached by an uncertain edge."""
    return _units_among(graph, [step.node for step in steps if step.how == POSSIBLE], ids_found)


def _exactly(engine: Engine, graph: CallGraph, route: Route, filters: Filters) -> ExactList:
    """The exact answer to a structural question."""
    symbols = [node for symbol in route.symbols for node in graph.named(symbol, filters.values("repo").passes)]
    seeds = seeds_of(graph, symbols, route.relations)
    steps = graph.walk(seeds, route.relations, route.direction, route.depth)
    if set(route.relations) == set(EVERYTHING):  # what a class uses of itself is no answer
        steps = [step for step in steps if step.node not in seeds]
    tests = {step.node for step in steps if is_test((symbol := graph.symbol(step.node)).path, symbol.name)}
    steps = [step for step in steps if not route.tests or step.node in tests]
    steps.sort(key=lambda step: step.node in tests)
    words = PASSIVE if route.direction == "out" else NO_WORDS
    top_levels = list(_top_levels(engine, graph, steps, words, filters))
    reaches = chain(_functions(graph, steps, words, tests), top_levels)
    ranking = _locate(engine, reaches, filters)
    ids = list(Hits.of(ranking.hits).ids)
    first = _first(ranking, MOST_LISTED)
    nodes = [step.node for step in steps]
    certain = [step.node for step in steps if step.how != POSSIBLE]
    classes = [node for node in certain if graph.is_class(node) and (route.tests or node not in tests)]
    # A class inside a function has no node, so the function represents it.
    others = nodes if route.relations == INHERITS else graph.without_ids(nodes)
    exact = Exact(
        symbol=route.symbols[0],
        relations=route.relations,
        direction=route.direction,
        depth=route.depth,
        definitions=len(_definitions(graph, symbols, route.relations, has_results=bool(steps))),
        found=len(ids) - len(top_levels),
        possible=_possible(graph, steps, ids),
        functions=len(first.hits),
        others=tuple(_describe(one) for one in map(graph.symbol, others) if _passes(one, filters)),
        classes=len({id_ for node in classes for id_ in graph.ids(node)}.intersection(ids)),
        top_levels=len(top_levels),
        near=() if symbols else tuple(graph.near(route.symbols[0], NEAR_NAMES)),
        is_constant=not symbols and bool(engine.named(route.symbols[0], 1, replace(filters, kind="constant"))),
        where=" or ".join(filters.values("repo").include) or "this index",
        is_filtered=replace(filters, repo="", kind="", partition="") != NO_FILTERS,
        tests=route.tests,
        in_tests=0 if route.tests else _units_among(graph, [node for node in certain if node in tests], ids),
    )
    return ExactList(GRAPH, first.hits, first.stages, exact=exact)


def _top_levels(
    engine: Engine, graph: CallGraph, steps: Sequence[Step], words: Mapping[Relation, str], filters: Filters
) -> Iterator[Reach]:
    """The units that hold what a module does at its top level: the part of the file, or the variable, with the name."""
    modules = [(step, symbol) for step in steps if (symbol := graph.symbol(step.node)).kind == "module"]
    for step, module in modules[:TOP_LEVELS]:
        name = call_name(graph.symbol(step.via).name)
        if not _passes(module, filters) or not name:
            continue
        inside = replace(filters, repo=module.repo, path=exactly(module.path))
        hits = Hits.of(engine.keyword(_rarest(name), TOP_LEVEL_UNITS, inside))
        bodies = [one for one in engine.fetch(hits.ids) if one.path == module.path and one.kind in OUTSIDE]
        mention = re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])(\s*\()?")
        calls = {one.id: {match[1] is not None for match in mention.finditer(one.code)} for one in bodies}
        best = max(bodies, key=lambda one: (True in calls[one.id], len(calls[one.id])), default=None)
        if best is not None and calls[best.id]:
            yield best.id, 2 / (1 + step.depth), _stage(step, words)


def _definitions(
    graph: CallGraph, symbols: Sequence[int], relations: Sequence[Relation], *, has_results: bool
) -> list[int]:
    """The symbols that a user would count as definitions.

    A constructor with its class's name (Java, PHP) belongs to the class. Only classes are extended, or a function that
    represents a class inside it, if the walk found something (`has_results`).
    """
    classes = [node for node in symbols if graph.is_class(node)]
    if relations == INHERITS and (classes or not has_results):
        return classes
    constructors = {member for node in classes for member in graph.members(node) if not graph.is_class(member)}
    return [node for node in symbols if node not in constructors]


def _passes(symbol: GraphSymbol, filters: Filters) -> bool:
    return path_test(filters)(symbol.path) and filters.passes(language=symbol.language, repo=symbol.repo)


def _describe(symbol: GraphSymbol) -> str:
    if symbol.kind == "module":
        return f"the top level of {symbol.path}"
    return f"a class in {symbol.name}" if symbol.kind == "function" else symbol.name


Names = tuple[list[str], str, float]  # the names, how they were found, and the confidence


def _names(engine: Engine, graph: CallGraph | None, symbols: Sequence[str], filters: Filters) -> Names:
    """The names in the index that match the query's symbols: as typed, else in another casing style, else one edit
    away, else similar."""

    def nodes(name: str) -> list[int]:
        return [] if graph is None else graph.named(name, filters.values("repo").passes)

    def known(name: str) -> bool:
        return bool(_of_name(engine, name, 1, filters)) or any(
            graph is not None and last_of(graph.symbol(node).name) == last_of(name) for node in nodes(name)
        )

    names = [symbol for symbol in symbols if known(symbol)]
    names = names or [style for symbol in symbols for style in styles(symbol) if known(style)]
    names = names or [symbol for symbol in symbols if nodes(symbol)]
    if names or graph is None:
        return names, DEFINITION, 1.0
    near = [(symbol, name) for symbol in symbols for name in graph.near(symbol, NEAR_NAMES)]
    slips = [name for symbol, name in near if is_slip(last_of(symbol), name)]
    return (slips, NEAR_NAME, 1.0) if slips else ([name for _, name in near], NEAR_NAME, GUESS)


def _of_name(engine: Engine, name: str, k: int, filters: Filters) -> Sequence[Hit]:
    """The units with this last or whole name, else those whose whole name ends in it."""
    hits = engine.named(name, k, filters)
    if hits or "." not in name:
        return hits
    alike = engine.named(last_of(name), MOST_ALIKE, filters)
    return [hit for hit in alike if hit.address.func_name.endswith(f".{name}")][:k]


def styles(name: str) -> list[str]:
    """The same name in the other styles of casing: `get_backoff_time` for `getBackoffTime`."""
    outer, dot, last = name.rpartition(".")
    prefix = last[: len(last) - len(last.lstrip("_"))]
    words = [part.lower() for part in parts(last)]
    capital = [word.capitalize() for word in words]
    spellings = ("_".join(words), "".join([*words[:1], *capital[1:]]), "".join(capital), "_".join(words).upper())
    return [f"{outer}{dot}{prefix}{style}" for style in dict.fromkeys(spellings) if f"{prefix}{style}" != last]


def is_slip(query_name: str, name: str) -> bool:
    """Whether a name is one edit away: a letter added, missing, replaced, or two swapped; ignores case."""
    query_name, name = query_name.lower(), name.lower()
    at = next((at for at, pair in enumerate(zip(query_name, name, strict=False)) if pair[0] != pair[1]), None)
    if at is None:
        return abs(len(query_name) - len(name)) <= 1
    rest, other = query_name[at:], name[at:]
    is_swap = rest[:2] == other[1::-1] and rest[2:] == other[2:]
    return is_swap or rest[1:] == other or rest == other[1:] or rest[1:] == other[1:]


def _by_words(engine: Engine, graph: CallGraph, text: str, filters: Filters) -> list[int]:
    """The node of the top keyword hit."""
    words = terms(text)
    top = engine.keyword(words, 1, filters) if words else []
    return [node for hit in top if (node := graph.node_of(hit.id)) is not None]


def _units(hits: Sequence[Hit], names: Sequence[str], stage: str) -> Iterator[Reach]:
    """The units with these names: functions, classes, constants, files. A class comes before its methods, a whole name
    before a longer one that ends in it, and of several definitions in one file the last: it replaces the others."""
    same: dict[tuple[str, str, str], list[Hit]] = {}
    for hit in hits:
        same.setdefault((hit.address.repo, hit.address.path, hit.address.func_name), []).append(hit)
    for (_, _, name), definitions in same.items():
        definitions.sort(key=lambda hit: hit.address.lines or (0, 0), reverse=True)
        for position, hit in enumerate(definitions):
            yield hit.id, (WHOLE if name in names else PART) - NEXT * min(position, LATER), stage


def _around(
    graph: CallGraph, seeds: list[int], stage: str, symbols: Sequence[str], units: Sequence[Hit]
) -> Iterator[Reach]:
    """The definitions, their callers and callees. A class that is a unit comes before its constructor."""
    classes = {hit.address.func_name for hit in units if hit.address.kind in CLASS_KINDS}
    for node in seeds:
        whole = stage == BY_WORDS or any(graph.is_whole(node, symbol) for symbol in symbols)
        first = WHOLE if whole and graph.symbol(node).name not in classes else PART
        for position, id_ in enumerate(functions_of(graph, node)):
            yield id_, PART - NEXT * position if position else first, stage
    callers, callees = graph.walk(seeds, CALLS, "in"), graph.walk(seeds, CALLS, "out")
    for id_, score, word in chain(_functions(graph, callers), _functions(graph, callees, PASSIVE)):
        yield id_, AROUND * score, word


def _functions(
    graph: CallGraph,
    steps: Sequence[Step],
    words: Mapping[Relation, str] = NO_WORDS,
    tests: Collection[int] = (),
) -> Iterator[Reach]:
    for step, own in zip(steps, graph.ids_of([step.node for step in steps]), strict=True):
        # A class in a call does not stand for its methods; its constructor has its own edge.
        ids = own if step.relation == "calls" else units_of(graph, step.node)
        for id_ in ids:
            yield id_, (IN_TEST if step.node in tests else 2) / (1 + step.depth), _stage(step, words)


def _stage(step: Step, words: Mapping[Relation, str]) -> str:
    word = words.get(step.relation, step.relation)
    return word if step.depth == 1 else f"{word}, {step.depth} edges away"


def _locate(engine: Engine, reaches: Iterable[Reach], filters: Filters) -> RankedList:
    first: dict[str, Reach] = {}
    for reach in reaches:
        first.setdefault(reach[0], reach)
    hits = Hits.of(engine.locate(list(first), filters))
    reasons = [first[id_] for id_ in hits.ids]
    return RankedList(GRAPH, hits.with_scores([score for _, score, _ in reasons]), [stage for _, _, stage in reasons])


def _first(ranking: RankedList, k: int) -> RankedList:
    return replace(ranking, hits=ranking.hits[:k], stages=ranking.stages[:k])
