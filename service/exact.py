"""What the call graph answers exactly to a structural question, and the sentence that says so."""

from __future__ import annotations

from dataclasses import dataclass

from corpus.counting import counted
from engine.protocol import Filters
from graph.callgraph import CallGraph, GraphSymbol
from graph.references import Relation
from rerank.candidate import Candidate
from service.routing import Route
from service.structural import INHERITS, Direction
from service.structure import walk_of

GRAPH_LANE = "graph"
NEAR_NAMES = 3  # named when the symbol is unknown
OTHERS_NAMED = 5
BELOW = "by keyword or meaning, not from the call graph"  # what stands below an exact answer
# What is asked → the verb for one and for many.
VERBS = {
    "calls": ("calls", "call"),
    "inherits": ("extends or implements", "extend or implement"),
    "uses": ("uses", "use"),
    "depends": ("depends on", "depend on"),
}
NOUNS = {"calls": "function", "inherits": "class", "uses": "function or class", "depends": "function or class"}


@dataclass(frozen=True, slots=True)
class Exact:
    """The exact answer: how many functions of the list are part of it, and what else is, that is no function (a class,
    a module's top level)."""

    symbol: str
    relations: tuple[Relation, ...]
    direction: Direction
    depth: int
    known: bool  # whether the graph has a symbol of that name
    functions: int
    others: tuple[str, ...]
    near: tuple[str, ...] = ()  # names like an unknown one

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
        """The answer in words: `3 functions call http_backoff`."""
        if not self.known:
            near = f"; near it: {', '.join(self.near)}" if self.near else ""
            return f"no {NOUNS[self.asked]} called {self.symbol} in this index{near}"
        singular, plural = VERBS[self.asked]
        by_class = self.asked == "inherits"
        count = len(self.others) if by_class else self.functions
        noun = "class" if by_class else "function"
        what = counted(count, noun) if count else f"no {noun}"
        answer = f"{what} {singular if count < 2 else plural} {self.symbol}"
        if self.direction == "out":
            answer = f"{self.symbol} {singular} {what}"
        if not self.others:
            return answer
        rest = len(self.others) - OTHERS_NAMED
        names = ", ".join(self.others[:OTHERS_NAMED]) + (f" and {rest:,} more" if rest > 0 else "")
        return f"{answer}: {names}" if by_class else f"{answer}; also {names}"


def exact_answer(graph: CallGraph, way: Route, filters: Filters, functions: int) -> Exact:
    """What the graph says to a structural question; `functions` of it passed the filters and are in the list."""
    symbol = way.symbols[0]
    known = bool(graph.named(symbol, filters.repo))
    reached = [graph.symbol(step.node) for step in walk_of(graph, way, filters)]
    return Exact(
        symbol=symbol,
        relations=way.relations,
        direction=way.direction,
        depth=way.depth,
        known=known,
        functions=functions,
        others=tuple(dict.fromkeys(_told(one) for one in reached if not one.ids and _passes(one, filters))),
        near=() if known else tuple(graph.near(symbol, NEAR_NAMES)),
    )


def _passes(symbol: GraphSymbol, filters: Filters) -> bool:
    return filters.language in ("", symbol.language) and symbol.path.startswith(filters.path_prefix)


def _told(symbol: GraphSymbol) -> str:
    return f"the top level of {symbol.path}" if symbol.kind == "module" else symbol.name


def relation_of(candidate: Candidate) -> str:
    """How the call graph led to a result: `calls`, `called`, `definition`, `uses, 2 edges away`; or nothing."""
    return next((one.stage for one in candidate.contributions if one.lane == GRAPH_LANE), "")
