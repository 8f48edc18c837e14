"""The written lane: functions whose code has the call written out (`urlopen(`), whoever defines what is called, and
those of classes that name a base as it is written.

The call graph leads from a call to its definition in the same repository. A library's function has none there, and a
method of a variable whose type is not known often none that is certain: those calls are found by how they are written.
So are classes whose base is from elsewhere.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from treeline.corpus.analysis import terms
from treeline.corpus.function import Function
from treeline.engine.hits import chosen, ids_of, rescored
from treeline.engine.protocol import Engine, Filters
from treeline.graph.callgraph import CallGraph
from treeline.graph.callgraph.classes import CONSTRUCTORS
from treeline.rerank.ranked_list import RankedList
from treeline.search.question.exact import passes, told
from treeline.search.question.structure import standing_for

LANE = "written"


@dataclass(frozen=True, slots=True)
class WrittenList(RankedList):
    """The functions found; `complete` when all that have the words of the call were looked at. Where a base was asked
    for, the `classes` that name it, which the functions are of."""

    complete: bool = field(kw_only=True)
    classes: tuple[str, ...] = field(default=(), kw_only=True)


def written_lane(engine: Engine, symbol: str, k: int, filters: Filters) -> WrittenList:
    """Of the first `k` that have the words of the symbol, those that have it with an opening bracket behind it."""
    words = terms(symbol)
    if symbol.lower() in words:  # the whole name is a term beside its parts, which many more have
        words = [symbol.lower()]
    hits = engine.keyword(words, k, filters) if words else []
    ids = ids_of(hits)
    bodies = {function.id: function for function in engine.fetch(ids)}
    places = [place for place, id_ in enumerate(ids) if id_ in bodies and calls(bodies[id_], symbol)]
    # All of them alike: how often the words are in a function says nothing about whether it calls.
    found = rescored(chosen(hits, places), [1.0] * len(places))
    return WrittenList(LANE, found, complete=len(hits) < k)


def base_lane(engine: Engine, graph: CallGraph | None, symbol: str, k: int, filters: Filters) -> WrittenList:
    """The first `k` functions of the classes that name this as a base which was not resolved."""
    if graph is None:
        return WrittenList(LANE, [], complete=True)
    symbols = {node: graph.symbol(node) for node in graph.naming(symbol, filters.repo)}
    classes = {node: one for node, one in symbols.items() if passes(one, filters)}
    ids = dict.fromkeys(id_ for node in classes for id_ in standing_for(graph, node))
    hits = engine.locate(list(ids), filters)[:k]
    named = tuple(map(told, classes.values()))
    return WrittenList(LANE, rescored(hits, [1.0] * len(hits)), complete=True, classes=named)


def called_as(name: str) -> str:
    """How a call of a function is written, whatever it is called on: `send` for `Client.send`, and the name of its
    class for a constructor."""
    outer, _, last = name.rpartition(".")
    return outer.rpartition(".")[2] if outer and last in CONSTRUCTORS else last


def calls(function: Function, symbol: str) -> bool:
    """Whether the call is written in the function; its own name above its body is not one."""
    own = function.func_name.rpartition(".")[2] == symbol
    return len(re.findall(rf"(?<![\w$]){re.escape(symbol)}\s*\(", function.code)) > own
