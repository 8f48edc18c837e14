"""What the call graph answers exactly to a structural question, and the sentence that says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from treeline.corpus.counting import counted
from treeline.engine.protocol import Filters
from treeline.graph.callgraph import CallGraph, GraphSymbol, Step
from treeline.graph.references import Relation
from treeline.rerank.candidates import Candidate
from treeline.rerank.ranked_list import RankedList
from treeline.search.question.routing import Route
from treeline.search.question.structural import INHERITS, Direction

GRAPH_LANE, WRITTEN_LANE = "graph", "written"
NEAR_NAMES = 3  # named when the symbol is unknown
OTHERS_NAMED = 5
BELOW = "by keyword or meaning, not from the call graph"  # what stands below the answer, and what is written
# What is asked → what those who are the answer do.
VERBS = {"calls": "call", "inherits": "extend or implement", "uses": "use", "depends": "depend on"}
NOUNS = {"calls": "function", "inherits": "class", "uses": "function or class", "depends": "function or class"}


@dataclass(frozen=True, slots=True)
class Written:
    """How many functions have a call in their code that the graph does not know: of something else, or not resolved."""

    symbol: str  # as the call is written
    functions: int
    all: bool = True  # whether those were all counted

    def told(self, *, more: bool) -> str:
        """`28 more functions have rmtree( in the code`; nothing for none."""
        if not self.functions:
            return ""
        verb, least = "has" if self.functions == 1 else "have", "" if self.all else "at least "
        what = counted(self.functions, "more function" if more else "function")
        return f"{least}{what} {verb} {self.symbol}( in the code"


@dataclass(frozen=True, slots=True)
class Exact:
    """What the graph knows: the functions that are part of the answer, and what else is, that is no function (a class,
    a module's top level)."""

    symbol: str
    relations: tuple[Relation, ...]
    direction: Direction
    depth: int
    definitions: int  # symbols of that name in the graph
    found: int  # functions, of which the list has the first
    functions: int  # in the list
    others: tuple[str, ...]
    near: tuple[str, ...] = ()  # names like an unknown one
    written: int = 0  # functions more that have the call in their code: of something else, or not resolved
    written_classes: tuple[str, ...] = ()  # whose base is called so and was not resolved; the functions are theirs
    all_written: bool = True  # whether those were all counted
    where: str = "this index"  # or the repository that was asked for
    narrowed: bool = False  # by language or path, so that there may be others

    @property
    def known(self) -> bool:
        """Whether the graph has a symbol of that name."""
        return self.definitions > 0

    @property
    def asked(self) -> str:
        """What is asked: `calls`, `inherits`, `uses` or `depends`."""
        if self.relations == INHERITS:
            return "inherits"
        if len(self.relations) == 1:
            return self.relations[0]
        return "uses" if self.depth == 1 else "depends"

    @property
    def sentence(self) -> str:
        """The answer in words: `3 functions are known to call the http_backoff defined in this index`.

        Names are resolved within a repository, so that is what is known: who calls a library's function of the same
        name is not among them.
        """
        written = "".join(f"; {told}" for told in [self._written] if told)
        if not self.known:
            near = f"; near it: {', '.join(self.near)}" if self.near else ""
            return f"no {NOUNS[self.asked]} called {self.symbol} in {self.where}{near}{written}"
        by_class = self.asked == "inherits"
        answer = self._counted(len(self.others) if by_class else self.found, "class" if by_class else "function")
        if self.others:
            named = first_named(self.others)
            answer += f": {named}" if by_class else f"; also {named}"
        if self.found > self.functions:
            answer += f"; the first {self.functions:,} are listed"
        return answer + written

    @property
    def headings(self) -> dict[int, str]:
        """What stands above those results that are not the exact answer, by the rank of the first of them."""
        first = self.functions + 1
        by_class = self.asked == "inherits"
        having = f"of classes that name a base {self.symbol}" if by_class else f"with {self.symbol}( in the code"
        written = {first: f"{having}, not resolved by the call graph"} if self.written else {}
        return written | {first + self.written: BELOW}

    @property
    def _written(self) -> str:
        if self.asked == "inherits":
            count = len(self.written_classes)
            what, verb = counted(count, "more class" if self.others else "class"), "names" if count == 1 else "name"
            return f"{what} {verb} a base of that name: {first_named(self.written_classes)}" if count else ""
        return Written(self.symbol, self.written, self.all_written).told(more=bool(self.found))

    def _counted(self, count: int, noun: str) -> str:
        what = counted(count, noun) if count else f"no {noun}"
        if self.narrowed:
            what += f" that {'passes' if count < 2 else 'pass'} the filters"
        if self.direction == "out":
            return f"{self.symbol} is known to {VERBS[self.asked]} {what} of {self.where}"
        which = f"the {self.symbol}"
        if self.definitions > 1:
            which = f"{'one' if count else 'any'} of the {self.definitions:,} {self.symbol}"
        return f"{what} {'is' if count < 2 else 'are'} known to {VERBS[self.asked]} {which} defined in {self.where}"


def first_named(names: Sequence[str]) -> str:
    """`the top level of main.py, Fence and 3 more`, each once."""
    distinct = list(dict.fromkeys(names))
    rest = len(distinct) - OTHERS_NAMED
    return ", ".join(distinct[:OTHERS_NAMED]) + (f" and {rest:,} more" if rest > 0 else "")


@dataclass(frozen=True, slots=True)
class ExactList(RankedList):
    """The functions of an exact answer, with the answer itself."""

    exact: Exact = field(kw_only=True)


def exact_answer(
    graph: CallGraph,
    way: Route,
    filters: Filters,
    symbols: Sequence[int],
    steps: Sequence[Step],
    found: int,
    listed: int,
) -> Exact:
    """What the steps from the symbols asked for say; `found` functions passed the filters, `listed` are in the list."""
    reached = [step.node for step in steps]
    # A class inside a function has no node of its own: the function stands for it.
    named = reached if way.relations == INHERITS else graph.without_ids(reached)
    return Exact(
        symbol=way.symbols[0],
        relations=way.relations,
        direction=way.direction,
        depth=way.depth,
        definitions=len(_definitions(graph, symbols, way.relations, led=bool(steps))),
        found=found,
        functions=listed,
        others=tuple(told(one) for one in map(graph.symbol, named) if passes(one, filters)),
        near=() if symbols else tuple(graph.near(way.symbols[0], NEAR_NAMES)),
        where=filters.repo or "this index",
        narrowed=bool(filters.language or filters.path_prefix),
    )


def _definitions(graph: CallGraph, symbols: Sequence[int], relations: Sequence[Relation], *, led: bool) -> list[int]:
    """The symbols that a person would count: a constructor that has its class's name (Java, PHP) is of the class, and
    what is extended is a class, or a function that stands for one in it where that `led` somewhere."""
    classes = [node for node in symbols if graph.is_class(node)]
    if relations == INHERITS and (classes or not led):
        return classes
    constructors = {member for node in classes for member in graph.members(node) if not graph.is_class(member)}
    return [node for node in symbols if node not in constructors]


def passes(symbol: GraphSymbol, filters: Filters) -> bool:
    return filters.language in ("", symbol.language) and symbol.path.startswith(filters.path_prefix)


def told(symbol: GraphSymbol) -> str:
    if symbol.kind == "module":
        return f"the top level of {symbol.path}"
    return f"a class in {symbol.name}" if symbol.kind == "function" else symbol.name


def relation_of(candidate: Candidate) -> str:
    """How the call graph led to a result: `calls`, `called`, `definition`, `uses, 2 edges away`; `written` where it did
    not, and the code has the call, or its class the base; or nothing."""
    stages = {one.lane: one.stage for one in candidate.contributions}
    return stages.get(GRAPH_LANE, WRITTEN_LANE if WRITTEN_LANE in stages else "")
