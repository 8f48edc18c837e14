"""Go: functions, and methods under the type of their receiver; the comment above is the documentation."""

from __future__ import annotations

from tree_sitter import Node

from treeline.graph.references import Import
from treeline.ingest.parsers.grammar import Grammar, text_of

QUERY = """
(function_declaration body: (_)) @function
(method_declaration body: (_)) @function
(interface_type (method_elem) @signature)
(type_spec type: (interface_type)) @interface
(type_spec type: (struct_type)) @class
(type_spec) @type
(type_alias) @type
(source_file (const_declaration (const_spec) @constant))
(source_file (var_declaration (var_spec) @constant))
(source_file (var_declaration (var_spec_list (var_spec) @constant)))
(field_declaration !name type: [(type_identifier) (qualified_type)] @extends)
(interface_type (type_elem . [(type_identifier) (qualified_type)] @extends .))
(call_expression function: [(identifier) (selector_expression)] @call)
(call_expression function: (type_instantiation_expression type: (type_identifier) @call))
(composite_literal type: [(type_identifier) (qualified_type)] @uses)
(parameter_declaration type: [(type_identifier) (qualified_type)] @uses)
(parameter_declaration type: (pointer_type [(type_identifier) (qualified_type)] @uses))
(pointer_type [(type_identifier) (qualified_type)] @uses)
(method_declaration result: [(type_identifier) (qualified_type)] @uses)
(function_declaration result: [(type_identifier) (qualified_type)] @uses)
(argument_list [(identifier) (selector_expression)] @uses)
(parameter_declaration name: (identifier) @local)
(short_var_declaration left: (expression_list (identifier) @local))
(range_clause left: (expression_list (identifier) @local))
(var_spec name: (identifier) @local)
(import_spec) @import
"""


def owner_of(node: Node) -> str:
    """The receiver's type, without pointer and type parameters: `(q *Queue[T])` gives `Queue`."""
    receiver = node.child_by_field_name("receiver")
    if receiver is None:
        return ""
    written = text_of(receiver).strip("() ").split("[")[0]
    return written.replace("*", " ").split()[-1] if written.strip("* ") else ""


def receiver_of(node: Node) -> str:
    """The receiver's variable: `(q *Queue[T])` gives `q`."""
    receiver = node.child_by_field_name("receiver")
    found = (
        next((one for one in receiver.named_children if one.type == "parameter_declaration"), None)
        if receiver
        else None
    )
    return text_of(found.child_by_field_name("name")) if found is not None else ""


def imports_of(spec: Node) -> list[Import]:
    path = text_of(spec.child_by_field_name("path")).strip('"`')
    alias = text_of(spec.child_by_field_name("name"))
    if alias == ".":
        return [Import(path, "*", "")]
    return [Import(path, "", alias or path.rpartition("/")[2])]


GRAMMARS = (
    Grammar(
        name="go",
        query=QUERY,
        owner_of=owner_of,
        receiver_of=receiver_of,
        imports_of=imports_of,
    ),
)
