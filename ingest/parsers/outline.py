"""One sweep over what a language's query caught in a file: functions, symbols, imports, references."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from tree_sitter import Language, Node, Parser, Query, QueryCursor

from graph.references import Import, Reference, Relation, Symbol, SymbolKind
from ingest.parsers.grammar import MAX_TARGET, Doc, Grammar, dotted

DEFINITIONS: dict[str, SymbolKind] = {"function": "function", "class": "class", "interface": "interface"}
RELATIONS: tuple[Relation, ...] = ("calls", "extends", "implements", "uses")
CAPTURE_OF: dict[Relation, str] = {"calls": "call", "extends": "extends", "implements": "implements", "uses": "uses"}


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


@dataclass(slots=True)
class _Scope:
    end: int
    name: str
    is_function: bool


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


def outline(grammar: Grammar, source: bytes) -> Outline:
    """Parse one file (or one function) and sweep over its definitions and references from top to bottom."""
    events: list[tuple[int, int, str, Node]] = []
    for kind, nodes in captures_of(grammar, source).items():
        events += [(node.start_byte, -node.end_byte, kind, node) for node in nodes]
    events.sort(key=_order)
    return _sweep(grammar, events)


def _order(event: tuple[int, int, str, Node]) -> tuple[int, int, str]:
    return event[:3]


def _sweep(grammar: Grammar, events: list[tuple[int, int, str, Node]]) -> Outline:
    functions: list[Found] = []
    symbols: list[Symbol] = []
    imports: list[Import] = []
    references: dict[tuple[Relation, str, str], Reference] = {}
    bound: set[tuple[str, str]] = set()
    scopes: list[_Scope] = []
    relation_of: dict[str, Relation] = {capture: relation for relation, capture in CAPTURE_OF.items()}
    last_definition = (-1, -1)
    for start, negative_end, kind, node in events:
        end = -negative_end
        while scopes and scopes[-1].end <= start:
            scopes.pop()
        scope = scopes[-1].name if scopes else ""
        inside = any(outer.is_function for outer in scopes)
        if kind in DEFINITIONS:
            if (start, end) == last_definition or (inside and not grammar.nested):
                continue
            last_definition = (start, end)
            name = grammar.name_of(node)
            if not name:
                continue
            owner = grammar.owner_of(node) or scope
            name = f"{owner}.{name}" if owner else name
            first, last = node.start_point.row + 1, node.end_point.row + 1
            symbols.append(Symbol(name, DEFINITIONS[kind], first, last))
            if kind == "function":
                functions.append(Found(name, first, last, start, end, grammar.doc_of(node)))
            scopes.append(_Scope(end, name, kind == "function"))
        elif kind == "import":
            imports += grammar.imports_of(node)
        elif kind == "local":
            bound.add((scope, (node.text or b"").decode("utf-8", "replace")))
        elif kind in relation_of:
            relation = relation_of[kind]
            target = dotted((node.text or b"").decode("utf-8", "replace"))
            if target and len(target) <= MAX_TARGET:
                key = (relation, scope, target)
                if key not in references:
                    references[key] = Reference(relation, scope, target, node.start_point.row + 1)
    return Outline(
        tuple(functions),
        tuple(symbols),
        tuple(imports),
        tuple(
            reference
            for reference in references.values()
            if reference.relation != "uses" or (reference.source, reference.target.split(".")[0]) not in bound
        ),
    )
