"""Structural answers from the call graph: complete lists of who calls, extends, implements or uses a symbol."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from treeline.graph.callgraph import CallGraph, GraphSymbol, Step
from treeline.graph.callgraph.classes import CONSTRUCTORS, last_of
from treeline.graph.references import Relation
from treeline.search.question.structural import EVERYTHING, Direction

MEMBERS = 5  # functions that stand for one class in a list: its constructor and the first methods


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A symbol that a walk reached. `id` is empty for what is no function of the index (a class, a module)."""

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


@dataclass(frozen=True, slots=True)
class Structure:
    """The symbols that a name stands for, and everything that was reached from them, nearest first."""

    seeds: tuple[GraphSymbol, ...]
    neighbours: tuple[Neighbour, ...]


def structure(
    graph: CallGraph,
    name: str,
    relations: Sequence[Relation] = ("calls",),
    direction: Direction = "in",
    depth: int = 1,
    repo: str = "",
) -> Structure:
    """All neighbours of every symbol of that name; of a class, asked what a change to it reaches, its members' too."""
    nodes = graph.named(name, repo)
    steps = graph.walk(seeds_of(graph, nodes, relations), relations, direction, depth)
    return Structure(tuple(map(graph.symbol, nodes)), tuple(neighbours(graph, steps)))


def related(graph: CallGraph, id_: str, relation: Relation, direction: Direction, depth: int = 1) -> list[Neighbour]:
    """The callers or callees (or other relatives) of one function."""
    node = graph.node_of(id_)
    return [] if node is None else list(neighbours(graph, graph.walk([node], (relation,), direction, depth)))


def seeds_of(graph: CallGraph, nodes: Sequence[int], relations: Sequence[Relation]) -> list[int]:
    """Touching a class touches its members; calling or extending it is about the class alone."""
    if set(relations) != set(EVERYTHING):
        return list(nodes)
    return [one for node in nodes for one in (node, *graph.members(node))]


def standing_for(graph: CallGraph, node: int) -> list[str]:
    """A function's own ids, of several definitions the last first: it replaces those before, which may be overloads
    without a body. For a class those of its constructor and of the methods it offers: results are functions."""
    if not graph.is_class(node):
        return graph.ids(node)[::-1]
    owner = last_of(graph.symbol(node).name)

    def comes_later(member: int) -> tuple[bool, bool]:
        name = last_of(graph.symbol(member).name)
        return name not in CONSTRUCTORS and name != owner, name.startswith("_")

    members = sorted(graph.members(node), key=comes_later)[:MEMBERS]
    return [id_ for member in members for id_ in graph.ids(member)]


def neighbours(graph: CallGraph, steps: Iterable[Step]) -> Iterable[Neighbour]:
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
