"""A function on its own, as CodeSearchNet stores it: its docstring, and what it refers to under its stored name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from treeline.graph.references import Import, Reference, Relation, Symbol
from treeline.ingest.parsers.comments import NO_DOC, Doc
from treeline.ingest.parsers.grammar import Grammar
from treeline.ingest.parsers.names import target
from treeline.ingest.parsers.outline import RELATION_OF, SHADOWED, captures_of, functions_in


@dataclass(frozen=True, slots=True)
class Single:
    """What parsing one lone function gave; `name` is the parser's, empty when it found no function."""

    name: str
    doc: Doc
    symbol: Symbol
    imports: tuple[Import, ...]
    references: tuple[Reference, ...]


def single(grammar: Grammar, source: bytes, func_name: str, first_line: int = 1) -> Single:
    """`func_name` becomes the source of every reference; lines count from `first_line`."""
    before, after = grammar.wrap
    symbol = Symbol(func_name, "function", first_line, first_line + source.count(b"\n"))
    source = before + source + after if before else source
    captures = captures_of(grammar, source)
    outermost, name = _outermost(grammar, captures.get("function", ()))
    return Single(
        name,
        grammar.doc(outermost, source) if outermost is not None and not before else NO_DOC,
        symbol,
        tuple(found for node in sorted(captures.get("import", ()), key=_start) for found in grammar.imports_of(node)),
        tuple(
            Reference(relation, func_name, written, first_line + node.start_point.row)
            for (relation, written), (_, node) in _first_of_each(grammar, source, captures)
        ),
    )


def _start(node: Node) -> int:
    return node.start_byte


def _outermost(grammar: Grammar, captured: Sequence[Node]) -> tuple[Node | None, str]:
    found = [(node, name) for one in captured for node, name in functions_in(grammar, one) if name]
    return min(found, key=lambda one: (one[0].start_byte, -one[0].end_byte), default=(None, ""))


def _first_of_each(
    grammar: Grammar, source: bytes, captures: Mapping[str, Sequence[Node]]
) -> list[tuple[tuple[Relation, str], tuple[int, Node]]]:
    """Every relation and name once, where it stands first, in the order of the text (the captures have none)."""
    target_of = grammar.target_of
    bound = {node.text.decode("utf-8", "replace") for node in captures.get("local", ()) if node.text}
    first: dict[tuple[Relation, str], tuple[int, Node]] = {}
    for capture, relation in RELATION_OF.items():
        shadowed = capture in SHADOWED
        for node in captures.get(capture, ()):
            start, end = target_of(node)
            written = target(source, start, end)
            if not written or (shadowed and written.partition(".")[0] in bound):
                continue
            key = (relation, written)
            known = first.get(key)
            if known is None or start < known[0]:
                first[key] = (start, node)
    return sorted(first.items(), key=_place)


def _place(found: tuple[tuple[Relation, str], tuple[int, Node]]) -> tuple[int, Relation, str]:
    (relation, written), (start, _) = found
    return start, relation, written
