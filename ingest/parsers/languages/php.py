"""PHP: functions, and methods under their class, trait, enum or interface; the doc comment above them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from treeline.graph.references import Import
from treeline.ingest.parsers.comments import Comments
from treeline.ingest.parsers.grammar import Grammar, field_name, nth, text_of
from treeline.ingest.parsers.names import called
from treeline.ingest.parsers.types import element_of, type_of, value_of

# A name in the global namespace (`\DateTime`) is PHP's own; a qualified name that is called has a part before the last.
QUERY = r"""
(function_definition) @function
((function_call_expression function: (name) @_block
  arguments: (arguments . (argument (string)) (argument [(anonymous_function) (arrow_function)]))) @function
  (#any-of? @_block "it" "test" "describe"))
((member_call_expression name: (name) @_route
  arguments: (arguments . (argument (string)) (argument [(anonymous_function) (arrow_function)]))) @function
  (#any-of? @_route "get" "post" "put" "patch" "delete" "any" "map" "group"))
((scoped_call_expression name: (name) @_route
  arguments: (arguments . (argument (string)) (argument [(anonymous_function) (arrow_function)]))) @function
  (#any-of? @_route "get" "post" "put" "patch" "delete" "any" "command"))
(method_declaration body: (_)) @function
(method_declaration !body) @signature
(class_declaration) @class
(trait_declaration) @class
(enum_declaration) @enum
(interface_declaration) @interface
(const_declaration (const_element) @constant)
(program (expression_statement (assignment_expression left: (variable_name)) @constant))
((function_call_expression function: (name) @_define) @constant (#eq? @_define "define"))
(class_declaration (base_clause [(name) (qualified_name)] @extends))
(interface_declaration (base_clause [(name) (qualified_name)] @extends))
(class_interface_clause [(name) (qualified_name)] @implements)
(use_declaration [(name) (qualified_name)] @extends)
(function_call_expression function: (name) @call)
((function_call_expression function: (qualified_name) @call) (#match? @call "[^\\\\]\\\\"))
(member_call_expression) @call
(nullsafe_member_call_expression) @call
(scoped_call_expression) @call
(object_creation_expression (name) @call)
((object_creation_expression (qualified_name) @call) (#match? @call "[^\\\\]\\\\"))
(named_type [(name) (qualified_name)] @uses)
(class_constant_access_expression . [(name) (qualified_name)] @uses)
(namespace_use_declaration) @import
[(simple_parameter) (variadic_parameter) (property_promotion_parameter) (property_declaration)] @bind
[(assignment_expression) (catch_clause) (foreach_statement)] @bind
"""
BLOCKS = frozenset({"function_call_expression", "member_call_expression", "scoped_call_expression"})
CALLS = frozenset({"member_call_expression", "nullsafe_member_call_expression", "scoped_call_expression"})


def target_of(node: Node) -> tuple[int, int]:
    if node.type not in CALLS:
        return node.start_byte, node.end_byte
    name = node.child_by_field_name("name")
    return node.start_byte, name.end_byte if name is not None else node.end_byte


# `$text{$at}`, gone from PHP 8 and from the grammar, loses the rest of a file.
VARIABLE = re.compile(rb"(\$\w+(?:->\w+|\[[^\[\]\n]*\])*)\{([^{}\n;]*)\}")


def repair(source: bytes) -> bytes:
    return VARIABLE.sub(rb"\1[\2]", source)


def name_of(node: Node) -> str:
    if node.type == "const_element":
        return text_of(nth(node, 0))
    if node.type == "assignment_expression":
        return text_of(node.child_by_field_name("left")).lstrip("$")
    if node.type in BLOCKS:
        arguments = node.child_by_field_name("arguments")
        first = text_of(nth(arguments, 0)).strip("'\"")
        callee = text_of(node.child_by_field_name("function") or node.child_by_field_name("name"))
        return first if callee == "define" else called(callee, first)
    return field_name(node)


def bindings_of(node: Node) -> Iterator[tuple[str, str]]:
    declared = type_of(node.child_by_field_name("type"))
    if node.type == "property_declaration":
        for element in node.named_children:
            if element.type == "property_element":
                yield text_of(nth(element, 0)).lstrip("$"), declared
    elif node.type == "foreach_statement":
        collection, target = node.named_children[:2]
        *keys, value = target.named_children if target.type == "pair" else [target]
        for key in keys:
            yield text_of(key), ""
        if value.type == "by_ref":
            value = nth(value, 0) or value
        if value.type == "variable_name":
            yield text_of(value), element_of(collection)
    elif node.type == "assignment_expression":
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is not None and left.type == "variable_name":
            yield text_of(left), value_of(right)
        elif left is not None and left.type == "member_access_expression":
            owner, name = (text_of(left.child_by_field_name(part)) for part in ("object", "name"))
            if owner == "$this":
                yield f"self.{name}", value_of(right)
    else:
        name = text_of(node.child_by_field_name("name"))
        yield name, f"{declared}*" if node.type == "variadic_parameter" and declared else declared
        if node.type == "property_promotion_parameter":
            yield f"self.{name.lstrip('$')}", declared


def returns_of(node: Node) -> str:
    return type_of(node.child_by_field_name("return_type"))


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
        query=QUERY,
        name_of=name_of,
        repair=repair,
        opening=re.compile(rb"\s*<\?(?:php)?\s"),
        comments=Comments((b"//", b"#"), (b"/*", b"*/"), re.compile(rb"#\[")),
        imports_of=imports_of,
        target_of=target_of,
        bindings_of=bindings_of,
        returns_of=returns_of,
        wrap=(b"<?php class _ {", b"\n}"),
    ),
)
