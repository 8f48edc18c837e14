"""Java: methods and constructors that have a body; Javadoc above them; anonymous classes belong to their method."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from treeline.graph.references import Import
from treeline.ingest.parsers.grammar import Grammar, child_of, text_of, up_to_name
from treeline.ingest.parsers.types import element_of, type_of, value_of


def bindings_of(node: Node) -> Iterator[tuple[str, str]]:
    kind = node.child_by_field_name("type") or child_of(node, "catch_type")
    declarators = node.children_by_field_name("declarator") or [node]
    if node.type == "spread_parameter" and node.named_child_count > 1:  # `Disk... disks`, whose parts have no names
        *_, kind, declarator = node.named_children
        declarators = [declarator]
    type_name = "" if text_of(kind) == "var" else type_of(kind)
    if node.type == "enhanced_for_statement":
        name = text_of(node.child_by_field_name("name"))
        yield name, type_name or element_of(node.child_by_field_name("value"))
        return
    if node.type == "instanceof_expression":
        name = text_of(node.child_by_field_name("name"))
        if name:
            yield name, type_of(node.child_by_field_name("right"))
        return
    for declarator in declarators:
        name = text_of(declarator.child_by_field_name("name"))
        expression = type_name
        if declarator.child_by_field_name("dimensions") is not None or node.type == "spread_parameter":
            expression = f"{type_name}*" if type_name else ""
        elif not type_name:
            expression = value_of(declarator.child_by_field_name("value"))
        if name:
            yield name, expression


def returns_of(node: Node) -> str:
    return type_of(node.child_by_field_name("type"))


def imports_of(statement: Node) -> list[Import]:
    names = [child for child in statement.named_children if child.type in ("scoped_identifier", "identifier")]
    if not names:
        return []
    path = text_of(names[0])
    if any(child.type == "asterisk" for child in statement.named_children):
        return [Import(path, "*", "")]
    module, _, name = path.rpartition(".")
    return [Import(module, name, name)]


GRAMMARS = (
    Grammar(
        name="java",
        names={
            "field_declaration": ("declarator", "name"),
            "constant_declaration": ("declarator", "name"),
        },
        imports_of=imports_of,
        target_of=up_to_name("method_invocation"),
        bindings_of=bindings_of,
        calls_no_variables=True,
        returns_of=returns_of,
        wrap=(b"class _ {", b"\n}"),
    ),
)
