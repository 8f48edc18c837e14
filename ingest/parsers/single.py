"""A function on its own, as CodeSearchNet stores it: its docstring, and what it refers to under its stored name."""

from __future__ import annotations

from dataclasses import dataclass

from graph.references import Import, Reference, Relation
from ingest.parsers.grammar import MAX_TARGET, NO_DOC, Doc, Grammar, dotted
from ingest.parsers.outline import CAPTURE_OF, captures_of


@dataclass(frozen=True, slots=True)
class Single:
    """What parsing one lone function gave; `name` is the parser's, empty when it found no function."""

    name: str
    doc: Doc
    imports: tuple[Import, ...]
    references: tuple[Reference, ...]


def single(grammar: Grammar, source: bytes, func_name: str, first_line: int = 1) -> Single:
    """`func_name` becomes the source of every reference; lines count from `first_line`."""
    before, after = grammar.wrap
    captures = captures_of(grammar, before + source + after if before else source)
    definitions = captures.get("function")
    outermost = min(definitions, key=lambda node: node.start_byte) if definitions else None
    bound = {node.text for node in captures.get("local", ())}
    references: dict[tuple[Relation, str], Reference] = {}
    for relation, capture in CAPTURE_OF.items():
        for node in captures.get(capture, ()):
            text = node.text or b""
            if relation == "uses" and (text in bound or text.partition(b".")[0] in bound):
                continue
            target = dotted(text.decode("utf-8", "replace"))
            key = (relation, target)
            if target and key not in references and len(target) <= MAX_TARGET:
                references[key] = Reference(relation, func_name, target, first_line + node.start_point.row)
    return Single(
        grammar.name_of(outermost) if outermost is not None else "",
        grammar.doc_of(outermost) if outermost is not None and not before else NO_DOC,
        tuple(found for node in captures.get("import", ()) for found in grammar.imports_of(node)),
        tuple(references.values()),
    )
