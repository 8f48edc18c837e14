"""The relatives of a symbol: everything that calls, extends or uses it, or that it calls, extends or uses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from treeline.corpus.frozen import frozen
from treeline.corpus.function import Function
from treeline.engine.hits import Hits
from treeline.engine.protocol import NO_FILTERS, Engine, Filters
from treeline.graph.callgraph import CallGraph, Direction, GraphSymbol, Step
from treeline.graph.references import Relation, last_of
from treeline.search.lanes.graph import StoredGraph, call_name, text_calls_lane
from treeline.search.structural_answer import UnresolvedCalls
from treeline.search.structure import CALLS, NEAR_NAMES, seeds_of

NEAR_BEGINNING, MOST_NEAR = 3, 100  # letters that names near an unknown one share, and how many of those are compared


@frozen
class Neighbour:
    """A symbol that a walk reached. `id` is empty for a class or a module, which has no function id."""

    id: str
    name: str
    kind: str
    repo: str
    path: str
    language: str
    line: int
    relation: Relation
    depth: int
    how: str  # how the name in the source was resolved
    via: str  # the symbol it was reached from


@frozen
class Structure:
    """The symbols of a name, and everything reached from them, nearest first."""

    seeds: tuple[GraphSymbol, ...]
    neighbours: tuple[Neighbour, ...]


class Relatives:
    """Finds relatives of symbols in one open generation; none if the index has no call graph."""

    def __init__(self, engine: Engine, graph: StoredGraph, depth: int) -> None:
        """`graph` loads the call graph on first use; `depth` is how many functions are read for unresolved calls."""
        self._engine, self._graph, self._depth = engine, graph, depth

    def structure(
        self,
        name: str,
        relations: Sequence[Relation] = CALLS,
        direction: Direction = "in",
        depth: int = 1,
        filters: Filters = NO_FILTERS,
    ) -> Structure:
        """Everything that calls, extends, implements or uses symbols of this name; with `out`, the other way round."""
        graph = self._graph()
        if graph is None:
            return Structure((), ())
        nodes = graph.named(name, filters.values("repo").passes)
        steps = graph.walk(seeds_of(graph, nodes, relations), relations, direction, depth)
        return Structure(tuple(map(graph.symbol, nodes)), tuple(self._neighbours(graph, steps)))

    def related(
        self, id_: str, relation: Relation = "calls", direction: Direction = "in", depth: int = 1
    ) -> list[Neighbour]:
        """The relatives of one function."""
        return self.around([id_], (relation,), direction, depth)

    def around(
        self, ids: Iterable[str], relations: Sequence[Relation], direction: Direction, depth: int = 1
    ) -> list[Neighbour]:
        """The relatives of several units, nearest first."""
        graph = self._graph()
        nodes = [] if graph is None else [node for id_ in ids if (node := graph.node_of(id_)) is not None]
        return [] if graph is None else self._neighbours(graph, graph.walk(nodes, relations, direction, depth))

    def callers(self, id_: str, depth: int = 1) -> list[Neighbour]:
        return self.related(id_, "calls", "in", depth)

    def callees(self, id_: str, depth: int = 1) -> list[Neighbour]:
        return self.related(id_, "calls", "out", depth)

    def unresolved_calls(self, function: Function) -> UnresolvedCalls:
        """The number of functions with a call of this name in their code that are not among its callers."""
        symbol = call_name(function.func_name)
        calls = text_calls_lane(self._engine, symbol, self._depth, NO_FILTERS)
        others = set(Hits.of(calls.hits).ids) - self._caller_ids(function.id)
        return UnresolvedCalls(symbol, len(others), calls.complete, in_tests=len(others & calls.tests))

    def _caller_ids(self, id_: str) -> set[str]:
        """The ids of a function's callers, without asking the engine."""
        graph = self._graph()
        node = None if graph is None else graph.node_of(id_)
        if graph is None or node is None:
            return set()
        steps = graph.walk([node], CALLS, "in")
        return {caller for ids in graph.ids_of([step.node for step in steps]) for caller in ids}

    def near(self, name: str) -> list[str]:
        """Names in the graph that are spelt similarly to an unknown one."""
        graph = self._graph.of_names([name])
        if graph is not None:
            return graph.near(name, NEAR_NAMES)
        from difflib import get_close_matches

        last = last_of(name)
        return get_close_matches(last, self._engine.suggest(last[:NEAR_BEGINNING], MOST_NEAR), NEAR_NAMES)

    def _neighbours(self, graph: CallGraph, steps: Iterable[Step]) -> list[Neighbour]:
        """The neighbours, with lines from the functions' addresses: all definitions of a name in a file share a node,
        which only has the first one's line."""
        neighbours = list(_neighbours(graph, steps))
        hits = self._engine.locate([one.id for one in neighbours if one.id])
        first = {hit.id: lines[0] for hit in hits if (lines := hit.address.lines)}
        return [replace(one, line=first.get(one.id, one.line)) for one in neighbours]


def _neighbours(graph: CallGraph, steps: Iterable[Step]) -> Iterator[Neighbour]:
    for step in steps:
        symbol = graph.symbol(step.node)
        for id_ in symbol.ids or ("",):
            yield Neighbour(
                id=id_,
                name=symbol.name or symbol.path,
                kind=symbol.kind,
                repo=symbol.repo,
                path=symbol.path,
                language=symbol.language,
                line=symbol.line,
                relation=step.relation,
                depth=step.depth,
                how=step.how,
                via=graph.symbol(step.via).name,
            )
