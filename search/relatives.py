"""What the call graph of an open index says of a symbol: who calls, extends or uses it, and what it does itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from treeline.corpus.function import Function
from treeline.engine.hits import ids_of
from treeline.engine.protocol import NO_FILTERS, Engine, Filters
from treeline.graph.callgraph import CallGraph
from treeline.graph.references import Relation
from treeline.search.lanes.written import called_as, written_lane
from treeline.search.question.exact import NEAR_NAMES, Written
from treeline.search.question.structural import CALLS, Direction
from treeline.search.question.structure import Neighbour, Structure, related, structure


class Relatives:
    """Over one open generation; all is empty where the index was made without a call graph."""

    def __init__(self, engine: Engine, graph: Callable[[], CallGraph | None], depth: int) -> None:
        """`graph` loads it when it is first needed; `depth` is how many functions are looked at for a call in their
        code."""
        self.engine = engine
        self._graph, self._depth = graph, depth

    def structure(
        self,
        name: str,
        relations: Sequence[Relation] = CALLS,
        direction: Direction = "in",
        depth: int = 1,
        filters: Filters = NO_FILTERS,
    ) -> Structure:
        """What calls, extends, implements or uses the symbols of that name (`out`: what they do)."""
        graph = self._graph()
        if graph is None:
            return Structure((), ())
        found = structure(graph, name, relations, direction, depth, filters.repo)
        return replace(found, neighbours=tuple(self._each_at_its_line(found.neighbours)))

    def related(
        self, id_: str, relation: Relation = "calls", direction: Direction = "in", depth: int = 1
    ) -> list[Neighbour]:
        """The relatives of one function."""
        graph = self._graph()
        return [] if graph is None else self._each_at_its_line(related(graph, id_, relation, direction, depth))

    def callers(self, id_: str, depth: int = 1) -> list[Neighbour]:
        return self.related(id_, "calls", "in", depth)

    def callees(self, id_: str, depth: int = 1) -> list[Neighbour]:
        return self.related(id_, "calls", "out", depth)

    def near(self, name: str) -> list[str]:
        """Names of the graph like one that is not there."""
        graph = self._graph()
        return [] if graph is None else graph.near(name, NEAR_NAMES)

    def written(self, function: Function) -> Written:
        """How many functions have a call of this name in their code that are not among its callers."""
        symbol = called_as(function.func_name)
        found = written_lane(self.engine, symbol, self._depth, NO_FILTERS)
        return Written(symbol, len(set(ids_of(found.hits)) - self._ids_of_callers(function.id)), found.complete)

    def _ids_of_callers(self, id_: str) -> set[str]:
        """The ids alone, which the graph knows without asking the engine."""
        graph = self._graph()
        node = None if graph is None else graph.node_of(id_)
        if graph is None or node is None:
            return set()
        steps = graph.walk([node], CALLS, "in")
        return {caller for ids in graph.ids_of([step.node for step in steps]) for caller in ids}

    def _each_at_its_line(self, found: Sequence[Neighbour]) -> list[Neighbour]:
        """Definitions of one name in a file are one node of the graph, which has the first one's line: the functions'
        own are in their addresses."""
        hits = self.engine.locate([one.id for one in found if one.id])
        first = {hit.id: lines[0] for hit in hits if (lines := hit.address.lines)}
        return [replace(one, line=first.get(one.id, one.line)) for one in found]
