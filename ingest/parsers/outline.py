"""One sweep over what a language's query caught in a file: functions, symbols, imports, references."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from operator import itemgetter
from time import monotonic

from tree_sitter import Language, Node, Parser, Query, QueryCursor

from treeline.graph.references import Import, Reference, Relation, Symbol, SymbolKind
from treeline.ingest.parsers.grammar import Doc, Grammar, text_of
from treeline.ingest.parsers.names import target

DEFINITIONS: dict[str, SymbolKind] = {
    "function": "function",
    "signature": "function",
    "class": "class",
    "interface": "interface",
}
RELATION_OF: dict[str, Relation] = {
    "call": "calls",
    "bare": "calls",
    "extends": "extends",
    "implements": "implements",
    "uses": "uses",
}
REFERRING = (*RELATION_OF, "local", "import")
BROKEN = "broken"  # what does not parse, in any language
# Captures that a name bound within the same function makes void.
SHADOWED = frozenset({"bare", "uses"})
# Nothing that people write is nested deeper; machine-made input that is would only make names of megabytes.
MAX_DEPTH = 100
# Two megabytes of real code take a second; this leaves room for a busy machine.
PATIENCE_S = 30


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
    broken_at: int  # the first line that does not parse; 0 where all of the file does


class TooTangled(ValueError):
    """Parsing took too long: machine-made nesting, on which tree-sitter needs the square of its depth."""


@cache
def _machine(grammar: Grammar) -> tuple[Parser, QueryCursor, Query]:
    """Parser and query of a language, made once a process (the query must outlive its cursor)."""
    language = Language(grammar.load())
    query = Query(language, f"{grammar.query}\n[(ERROR) (MISSING)] @{BROKEN}")
    with warnings.catch_warnings():
        # Its successor, a callback, crashes the interpreter in this version of the bindings.
        warnings.simplefilter("ignore", DeprecationWarning)
        patience = PATIENCE_S * 1_000_000
        return Parser(language, timeout_micros=patience), QueryCursor(query, timeout_micros=patience), query


def captures_of(grammar: Grammar, source: bytes) -> dict[str, list[Node]]:
    """What the language's query catches, by capture name; `TooTangled` when that takes too long."""
    parser, cursor, _query = _machine(grammar)
    try:
        tree = parser.parse(source)
    except ValueError as error:
        parser.reset()
        raise TooTangled(f"not parsed within {PATIENCE_S} s") from error
    begun = monotonic()
    found = cursor.captures(tree.root_node)
    if monotonic() - begun >= PATIENCE_S:
        # The cursor gives what it had when its time was up, and does not say so.
        raise TooTangled(f"not searched within {PATIENCE_S} s")
    return found


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

    def define(self, capture: str, node: Node, name: str) -> None:
        nested = any(is_function for _, _, is_function in self.scopes)
        if not name or len(self.scopes) >= MAX_DEPTH or (nested and not self.grammar.nested):
            return
        owner = self.grammar.owner_of(node) or self.scope
        name = f"{owner}.{name}" if owner else name
        tail = self.grammar.end_of(node) if capture == "function" else node
        first, last = node.start_point.row + 1, tail.end_point.row + 1
        self.symbols.append(Symbol(name, DEFINITIONS[capture], first, last))
        if capture == "function":
            doc = self.grammar.doc_of(node, self.source)
            self.functions.append(Found(name, first, last, node.start_byte, tail.end_byte, doc))
        self.scopes.append((node.end_byte, name, capture == "function"))

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


def definitions(grammar: Grammar, captures: dict[str, list[Node]]) -> Iterator[tuple[str, Node, str]]:
    """Every definition once: kind, node and name."""
    seen: set[int] = set()
    for kind in DEFINITIONS:
        for captured in captures.get(kind, ()):
            found = grammar.functions_of(captured) if kind == "function" else ((captured, grammar.name_of(captured)),)
            for node, name in found:
                if name and node.id not in seen:
                    seen.add(node.id)
                    yield kind, node, name


def outline(grammar: Grammar, source: bytes) -> Outline:
    """Parse one file and sweep over its definitions and references from top to bottom."""
    captures = captures_of(grammar, source)
    # The wider first where two begin together; what defines before what refers.
    events = [
        (node.start_byte, -node.end_byte, kind not in DEFINITIONS, kind, node, name)
        for kind, node, name in (
            *definitions(grammar, captures),
            *((kind, node, "") for kind in REFERRING for node in captures.get(kind, ())),
        )
    ]
    events.sort(key=itemgetter(0, 1, 2))
    sweep = _Sweep(grammar, source)
    for start, _, _, kind, node, name in events:
        while sweep.scopes and sweep.scopes[-1][0] <= start:
            sweep.scopes.pop()
        if kind in DEFINITIONS:
            sweep.define(kind, node, name)
        elif kind in RELATION_OF:
            sweep.refer(kind, node)
        elif kind == "local":
            sweep.bound.add((sweep.scope, text_of(node)))
        else:
            sweep.imports += grammar.imports_of(node)
    return Outline(
        tuple(sweep.functions),
        tuple(sweep.symbols),
        tuple(sweep.imports),
        tuple(one for one, capture in sweep.references.values() if not sweep.is_shadowed(one, capture)),
        min((node.start_point.row + 1 for node in captures.get(BROKEN, ())), default=0),
    )
