"""PHP: functions, and methods under their class, trait, enum or interface; the doc comment above them."""

from __future__ import annotations

import tree_sitter_php
from tree_sitter import Node

from treeline.graph.references import Import
from treeline.ingest.parsers.comments import slashes_above
from treeline.ingest.parsers.grammar import Grammar, text_of

QUERY = """
(function_definition) @function
(method_declaration body: (_)) @function
(method_declaration !body) @signature
(class_declaration) @class
(trait_declaration) @class
(enum_declaration) @class
(interface_declaration) @interface
(class_declaration (base_clause [(name) (qualified_name)] @extends))
(interface_declaration (base_clause [(name) (qualified_name)] @extends))
(class_interface_clause [(name) (qualified_name)] @implements)
(use_declaration [(name) (qualified_name)] @extends)
(function_call_expression function: [(name) (qualified_name)] @call)
(member_call_expression) @call
(nullsafe_member_call_expression) @call
(scoped_call_expression) @call
(object_creation_expression [(name) (qualified_name)] @call)
(named_type [(name) (qualified_name)] @uses)
(class_constant_access_expression . [(name) (qualified_name)] @uses)
(namespace_use_declaration) @import
"""
CALLS = frozenset({"member_call_expression", "nullsafe_member_call_expression", "scoped_call_expression"})


def target_of(node: Node) -> tuple[int, int]:
    if node.type not in CALLS:
        return node.start_byte, node.end_byte
    name = node.child_by_field_name("name")
    return node.start_byte, name.end_byte if name is not None else node.end_byte


def imports_of(statement: Node) -> list[Import]:
    prefix, found = "", []
    clauses = list(statement.named_children)
    for child in statement.named_children:
        if child.type == "namespace_name":
            prefix = text_of(child) + "\\"
        elif child.type == "namespace_use_group":
            clauses += child.named_children
    for clause in clauses:
        if clause.type != "namespace_use_clause":
            continue
        alias_node = clause.child_by_field_name("alias")
        names = [child for child in clause.named_children if child.type in ("name", "qualified_name")]
        if not names:
            continue
        written = (prefix + text_of(names[0])).strip("\\").replace("\\", ".")
        module, _, name = written.rpartition(".")
        found.append(Import(module, name, text_of(alias_node) or name))
    return found


GRAMMARS = (
    Grammar(
        name="php",
        suffixes=(".php",),
        load=tree_sitter_php.language_php,
        query=QUERY,
        doc_of=slashes_above,
        imports_of=imports_of,
        target_of=target_of,
        wrap=(b"<?php class _ {", b"\n}"),
    ),
)
