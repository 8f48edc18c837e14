"""One sweep over what a language's query caught in a file: functions, symbols, imports, references."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

from tree_sitter import Language, Node, Parser, Query, QueryCursor

from graph.references import Import, Reference, Relation, Symbol, SymbolKind
from ingest.parsers.grammar import Doc, Grammar, text_of
from ingest.parsers.names import target

DEFINITIONS: dict[str, SymbolKind] = {"function": "function", "class": "class", "interface": "interface"}
RELATION_OF: dict[str, Relation] = {
    "call": "calls",
    "bare": "calls",
    "extends": "extends",
    "implements": "implements",
    "uses": "uses",
}
# Captures that a name bound within the same function makes void.
SHADOWED = frozenset({"bare", "uses"})
# Nothing that people write is nested deeper; machine-made input that is would only make names of megabytes.
MAX_DEPTH = 100


@dataclass(frozen=True, slots=True)
class Found:
    """A function in a file: qualified name, lines, bytes, docstring."""

    name: str
    first_line: int
    last_line: int
    start: int
    end: int
    doc: Doc


@dataclass(frozen=True, slots=True)
class Outline:
    """Everything that was found in one file, in the order of the file."""

    functions: tuple[Found, ...]
    symbols: tuple[Symbol, ...]
    imports: tuple[Import, ...]
    references: tuple[Reference, ...]


@cache
def _machine(grammar: Grammar) -> tuple[Parser, QueryCursor, Query]:
    """Parser and query of a language, made once a process (the query must outlive its cursor)."""
    language = Language(grammar.load())
    query = Query(language, grammar.query)
    return Parser(language), QueryCursor(query), query


def captures_of(grammar: Grammar, source: bytes) -> dict[str, list[Node]]:
    """What the language's query catches, by capture name."""
    parser, cursor, _query = _machine(grammar)
    return cursor.captures(parser.parse(source).root_node)


@dataclass(slots=True)
class _Sweep:
    """The state of the sweep: what is open around the current position, and what was found so far."""

    grammar: Grammar
    source: bytes
    # End, qualified name and whether it is a function, of every definition around this place.
    scopes: list[tuple[int, str, bool]] = field(default_factory=list)
    functions: list[Found] = field(default_factory=list)
    symbols: list[Symbol] = field(default_factory=list)
    imports: list[Import] = field(default_factory=list)
    references: dict[tuple[Relation, str, str], tuple[Reference, str]] = field(default_factory=dict)
    bound: set[tuple[str, str]] = field(default_factory=set)
    last: tuple[int, int] = (-1, -1)

    def define(self, start: int, end: int, kind: SymbolKind, node: Node) -> None:
        nested = any(is_function for _, _, is_function in self.scopes)
        if (start, end) == self.last or len(self.scopes) >= MAX_DEPTH or (nested and not self.grammar.nested):
            return
        self.last = (start, end)
        name = self.grammar.name_of(node)
        if not name:
            return
        owner = self.grammar.owner_of(node) or self.scope
        name = f"{owner}.{name}" if owner else name
        tail = self.grammar.end_of(node) if kind == "function" else node
        first, last = node.start_point.row + 1, tail.end_point.row + 1
        self.symbols.append(Symbol(name, kind, first, last))
        if kind == "function":
            self.functions.append(Found(name, first, last, start, tail.end_byte, self.grammar.doc_of(node)))
        self.scopes.append((end, name, kind == "function"))

    def refer(self, capture: str, node: Node) -> None:
        relation = RELATION_OF[capture]
        start, end = self.grammar.target_of(node)
        name = target(self.source, start, end)
        key = (relation, self.scope, name)
        if name and key not in self.references:
            reference = Reference(relation, self.scope, name, node.start_point.row + 1)
            self.references[key] = (reference, capture)

    @property
    def scope(self) -> str:
        return self.scopes[-1][1] if self.scopes else ""

    def is_shadowed(self, reference: Reference, capture: str) -> bool:
        return capture in SHADOWED and (reference.source, reference.target.partition(".")[0]) in self.bound


def outline(grammar: Grammar, source: bytes) -> Outline:
    """Parse one file and sweep over its definitions and references from top to bottom."""
    events: list[tuple[int, int, str, Node]] = []
    for capture, nodes in captures_of(grammar, source).items():
        events += [(node.start_byte, -node.end_byte, capture, node) for node in nodes]
    events.sort(key=lambda event: event[:3])
    sweep = _Sweep(grammar, source)
    for start, negative_end, capture, node in events:
        while sweep.scopes and sweep.scopes[-1][0] <= start:
            sweep.scopes.pop()
        if capture in DEFINITIONS:
            sweep.define(start, -negative_end, DEFINITIONS[capture], node)
        elif capture in RELATION_OF:
            sweep.refer(capture, node)
        elif capture == "local":
            sweep.bound.add((sweep.scope, text_of(node)))
        elif capture == "import":
            sweep.imports += grammar.imports_of(node)
    return Outline(
        tuple(sweep.functions),
        tuple(sweep.symbols),
        tuple(sweep.imports),
        tuple(one for one, capture in sweep.references.values() if not sweep.is_shadowed(one, capture)),
    )
