"""JavaScript: declared, assigned and class functions by name, and longer callbacks by the name of what they go to."""

from __future__ import annotations

from collections.abc import Iterator

import tree_sitter_javascript
from tree_sitter import Node

from treeline.graph.references import Import
from treeline.ingest.parsers.comments import comment_above, line_of
from treeline.ingest.parsers.grammar import Doc, Grammar, text_of
from treeline.ingest.parsers.names import MAX_TARGET, UNKNOWN, dotted

QUERY = """
[(function_declaration) (generator_function_declaration) (method_definition)] @function
[(function_expression name: (_)) (generator_function name: (_))] @function
(variable_declarator value: [(function_expression) (generator_function) (arrow_function)]) @function
(assignment_expression right: [(function_expression) (generator_function) (arrow_function)]) @function
(pair value: [(function_expression) (generator_function) (arrow_function)]) @function
(export_statement value: [(function_expression) (arrow_function)]) @function
(call_expression arguments: (arguments [(function_expression) (arrow_function)])) @function
(new_expression arguments: (arguments [(function_expression) (arrow_function)])) @function
(class_declaration) @class
(class name: (_)) @class
(call_expression function: [(identifier) (member_expression)] @call)
(new_expression constructor: [(identifier) (member_expression)] @call)
(jsx_opening_element name: [(identifier) (member_expression)] @uses)
(jsx_self_closing_element name: [(identifier) (member_expression)] @uses)
(arguments [(identifier) (member_expression)] @uses)
(variable_declarator name: (identifier) @local)
(import_statement) @import
((variable_declarator value: (call_expression function: (identifier) @_require)) @import (#eq? @_require "require"))
"""
ONLY_JAVASCRIPT = """
(field_definition value: [(function_expression) (arrow_function)]) @function
(class_heritage [(identifier) (member_expression)] @extends)
(formal_parameters (identifier) @local)
(formal_parameters (assignment_pattern left: (identifier) @local))
"""
# A callback shorter than this says nothing on its own; a longer one is a module's wrapper, and its parts are found.
MIN_CALLBACK, MAX_CALLBACK = 5, 60
# Parts of an assigned name that say where, not what.
EXPORTS = frozenset({"module", "exports", "prototype", "this", "self", "window", "global", "default"})
FUNCTIONS = frozenset({"function_expression", "generator_function", "arrow_function"})
CALLS = frozenset({"call_expression", "new_expression"})
# Which field of a node holds the name that a function is given, and which the function.
GIVEN = {
    "variable_declarator": ("name", "value"),
    "assignment_expression": ("left", "right"),
    "pair": ("key", "value"),
    "field_definition": ("property", "value"),
    "public_field_definition": ("name", "value"),
}


def functions_of(node: Node) -> Iterator[tuple[Node, str]]:
    """A function under its own name, or that of the variable, property or call that it is given to."""
    if node.type in CALLS:
        yield from _callbacks(node)
    elif node.type == "export_statement":
        value = node.child_by_field_name("value")
        if value is not None and value.child_by_field_name("name") is None:
            yield value, "default"
    elif node.type in GIVEN:
        left, right = (node.child_by_field_name(field) for field in GIVEN[node.type])
        if left is not None and right is not None and right.child_by_field_name("name") is None:
            yield right, _given(left)
    else:
        yield node, _plain(text_of(node.child_by_field_name("name")))


def _plain(text: str) -> str:
    return text.strip("'\"`#[] ")[:MAX_TARGET]


def _given(left: Node) -> str:
    if left.end_byte - left.start_byte > MAX_TARGET:
        return ""
    if left.type != "member_expression":
        return _plain(text_of(left)) if left.named_child_count == 0 or left.type == "string" else ""
    parts = [part for part in dotted(text_of(left)).split(".") if part not in EXPORTS and part != UNKNOWN]
    return ".".join(parts) or "exports"


def _callbacks(call: Node) -> Iterator[tuple[Node, str]]:
    """Functions without a name of their own among the arguments of a call, if they are of some length."""
    callee = call.child_by_field_name("function") or call.child_by_field_name("constructor")
    arguments = call.child_by_field_name("arguments")
    if callee is None or arguments is None or call.end_point.row - call.start_point.row + 1 < MIN_CALLBACK:
        return
    end = callee.end_byte - callee.start_byte
    name = dotted((callee.text or b"")[-MAX_TARGET:].decode("utf-8", "replace")).rpartition(".")[2] if end else ""
    for argument in arguments.named_children if name else ():
        if argument.type in FUNCTIONS and argument.child_by_field_name("name") is None:
            lines = argument.end_point.row - argument.start_point.row + 1
            if MIN_CALLBACK <= lines <= MAX_CALLBACK:
                yield argument, f"{name}.callback"


def doc_of(node: Node, source: bytes) -> Doc:
    """The comment above the line where the function begins, or where `const f =` alone gives it its name."""
    start = node.start_byte
    line = line_of(source, start)
    if line and not source[line:start].strip() and source[max(0, line - MAX_TARGET) : line].rstrip().endswith(b"="):
        start = line - 1
    return comment_above(source, start, b"//")


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
        query=QUERY + ONLY_JAVASCRIPT,
        functions_of=functions_of,
        doc_of=doc_of,
        imports_of=imports_of,
        nested=True,
        wrap=(b"(", b"\n)"),
    ),
)
