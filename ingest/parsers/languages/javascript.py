"""JavaScript: declared, assigned and class functions by name, and longer callbacks by the name of what they go to."""

from __future__ import annotations

import tree_sitter_javascript
from tree_sitter import Node

from graph.references import Import
from ingest.parsers.comments import MAX_CLIMB, comment_above
from ingest.parsers.grammar import Doc, Grammar, text_of
from ingest.parsers.names import MAX_TARGET, UNKNOWN, dotted

QUERY = """
[(function_declaration) (generator_function_declaration) (function_expression) (generator_function)
 (arrow_function) (method_definition)] @function
[(class_declaration) (class)] @class
(call_expression function: [(identifier) (member_expression)] @call)
(new_expression constructor: [(identifier) (member_expression)] @call)
(jsx_opening_element name: [(identifier) (member_expression)] @uses)
(jsx_self_closing_element name: [(identifier) (member_expression)] @uses)
(arguments [(identifier) (member_expression)] @uses)
(variable_declarator name: (identifier) @local)
(import_statement) @import
((variable_declarator value: (call_expression function: (identifier) @_require)) @import (#eq? @_require "require"))
"""
HERITAGE = """
(class_heritage [(identifier) (member_expression)] @extends)
(formal_parameters (identifier) @local)
(formal_parameters (assignment_pattern left: (identifier) @local))
"""
# A callback shorter than this says nothing on its own; a longer one is a module's wrapper, and its parts are found.
MIN_CALLBACK, MAX_CALLBACK = 5, 60
# Parts of an assigned name that say where, not what.
EXPORTS = frozenset({"module", "exports", "prototype", "this", "self", "window", "global", "default"})
WRAPPERS = frozenset({"parenthesized_expression", "await_expression", "as_expression", "satisfies_expression"})


def name_of(node: Node) -> str:
    """Its own name, or that of the variable, property, or argument that it is given to."""
    own = node.child_by_field_name("name")
    if own is not None:
        return _plain(text_of(own))
    parent = node.parent
    for _ in range(MAX_CLIMB):
        if parent is None or parent.type not in WRAPPERS:
            break
        parent = parent.parent
    if parent is None:
        return ""
    if parent.type == "variable_declarator":
        return text_of(parent.child_by_field_name("name")) if _is_name(parent, "name") else ""
    if parent.type == "assignment_expression":
        return _assigned(parent.child_by_field_name("left"))
    if parent.type == "pair":
        return _plain(text_of(parent.child_by_field_name("key")))
    if parent.type in ("field_definition", "public_field_definition"):
        return _plain(text_of(parent.child_by_field_name("property") or parent.child_by_field_name("name")))
    if parent.type == "export_statement":
        return "default"
    if parent.type == "arguments" and node.type not in ("class", "class_declaration"):
        return _callback(node, parent)
    return ""


def _is_name(node: Node, field: str) -> bool:
    child = node.child_by_field_name(field)
    return child is not None and child.type == "identifier"


def _plain(text: str) -> str:
    return text.strip("'\"`#[] ")[:MAX_TARGET]


def _assigned(left: Node | None) -> str:
    if left is None or left.end_byte - left.start_byte > MAX_TARGET:
        return ""
    parts = [part for part in dotted(text_of(left)).split(".") if part not in EXPORTS and part != UNKNOWN]
    return ".".join(parts) or ("exports" if left.type == "member_expression" else "")


def _callback(node: Node, arguments: Node) -> str:
    lines = node.end_point.row - node.start_point.row + 1
    call = arguments.parent
    if not MIN_CALLBACK <= lines <= MAX_CALLBACK or call is None:
        return ""
    callee = call.child_by_field_name("function") or call.child_by_field_name("constructor")
    if callee is None or callee.end_byte - callee.start_byte > MAX_TARGET:
        return ""
    name = dotted(text_of(callee)).rpartition(".")[2]
    return f"{name}.callback" if name else ""


STATEMENTS = frozenset({"program", "statement_block", "class_body", "object", "switch_case", "export_statement"})


def doc_of(node: Node) -> Doc:
    """The comment above the statement (or property) that the function stands in."""
    anchor = node
    for _ in range(MAX_CLIMB):
        parent = anchor.parent
        if parent is None or parent.type in STATEMENTS or parent.start_point.row != node.start_point.row:
            break
        anchor = parent
    return comment_above(anchor)


def imports_of(statement: Node) -> list[Import]:
    if statement.type == "variable_declarator":
        return _required(statement)
    module = text_of(statement.child_by_field_name("source")).strip("'\"")
    found: list[Import] = []
    for clause in (child for child in statement.named_children if child.type == "import_clause"):
        for child in clause.named_children:
            if child.type == "identifier":
                found.append(Import(module, "default", text_of(child)))
            elif child.type == "namespace_import":
                found.append(Import(module, "", text_of(child.named_child(0))))
            elif child.type == "named_imports":
                for one in child.named_children:
                    name = text_of(one.child_by_field_name("name"))
                    found.append(Import(module, name, text_of(one.child_by_field_name("alias")) or name))
    return found or ([Import(module, "", "")] if module else [])


def _required(declarator: Node) -> list[Import]:
    call = declarator.child_by_field_name("value")
    arguments = call.child_by_field_name("arguments") if call is not None else None
    string = arguments.named_child(0) if arguments is not None else None
    name = declarator.child_by_field_name("name")
    if string is None or string.type != "string" or name is None:
        return []
    module = text_of(string).strip("'\"")
    if name.type == "identifier":
        return [Import(module, "", text_of(name))]
    parts = [child for child in name.named_children if child.type == "shorthand_property_identifier_pattern"]
    return [Import(module, text_of(part), text_of(part)) for part in parts]


GRAMMARS = (
    Grammar(
        name="javascript",
        suffixes=(".js", ".jsx", ".mjs", ".cjs"),
        load=tree_sitter_javascript.language,
        query=QUERY + HERITAGE,
        name_of=name_of,
        doc_of=doc_of,
        imports_of=imports_of,
        nested=True,
        wrap=(b"(", b"\n)"),
    ),
)
