"""A function on its own, as CodeSearchNet stores it: its docstring, and what it refers to under its stored name."""

from __future__ import annotations

from dataclasses import dataclass

from graph.references import Import, Reference, Relation
from ingest.parsers.grammar import NO_DOC, Doc, Grammar
from ingest.parsers.names import target
from ingest.parsers.outline import RELATION_OF, SHADOWED, captures_of, definitions


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
    source = before + source + after if before else source
    captures = captures_of(grammar, source)
    found = ((node, name) for kind, node, name in definitions(grammar, captures) if kind == "function")
    outermost, name = min(found, key=lambda one: one[0].start_byte, default=(None, ""))
    bound = {node.text.decode("utf-8", "replace") for node in captures.get("local", ()) if node.text}
    references: dict[tuple[Relation, str], Reference] = {}
    for capture, relation in RELATION_OF.items():
        shadowed = capture in SHADOWED
        for node in captures.get(capture, ()):
            written = target(source, *grammar.target_of(node))
            key = (relation, written)
            if not written or key in references or (shadowed and written.partition(".")[0] in bound):
                continue
            references[key] = Reference(relation, func_name, written, first_line + node.start_point.row)
    return Single(
        name,
        grammar.doc_of(outermost, source) if outermost is not None and not before else NO_DOC,
        tuple(found for node in captures.get("import", ()) for found in grammar.imports_of(node)),
        tuple(references.values()),
    )
