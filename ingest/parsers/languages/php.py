"""PHP: functions, and methods under their class, trait, enum or interface; the doc comment above them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from tree_sitter import Node

from treeline.graph.references import Import
from treeline.ingest.parsers.comments import Comments
from treeline.ingest.parsers.grammar import Grammar, field_name, nth, text_of, up_to_name
from treeline.ingest.parsers.names import call_name
from treeline.ingest.parsers.types import element_of, return_type, type_of, value_of

BLOCKS = frozenset({"function_call_expression", "member_call_expression", "scoped_call_expression"})
# `$text{$at}`, gone from PHP 8 and from the grammar, loses the rest of a file.
VARIABLE = re.compile(rb"(\$\w+(?:->\w+|\[[^\[\]\n]*\])*)\{([^{}\n;]*)\}")


def name_of(node: Node) -> str:
    if node.type == "const_element":
        return text_of(nth(node, 0))
    if node.type == "assignment_expression":
        return text_of(node.child_by_field_name("left")).lstrip("$")
    if node.type in BLOCKS:
        arguments = node.child_by_field_name("arguments")
        first = text_of(nth(arguments, 0)).strip("'\"")
        callee = text_of(node.child_by_field_name("function") or node.child_by_field_name("name"))
        return first if callee == "define" else call_name(callee, first)
    return field_name(node)


def bindings_of(node: Node) -> Iterator[tuple[str, str]]:
    type_name = type_of(node.child_by_field_name("type"))
    if node.type == "property_declaration":
        for element in node.named_children:
            if element.type == "property_element":
                yield text_of(nth(element, 0)).lstrip("$"), type_name
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
        variable, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if variable is not None and variable.type == "variable_name":
            yield text_of(variable), value_of(right)
        elif variable is not None and variable.type == "member_access_expression":
            owner, name = (text_of(variable.child_by_field_name(part)) for part in ("object", "name"))
            if owner == "$this":
                yield f"self.{name}", value_of(right)
    else:
        name = text_of(node.child_by_field_name("name"))
        yield name, f"{type_name}*" if node.type == "variadic_parameter" and type_name else type_name
        if node.type == "property_promotion_parameter":
            yield f"self.{name.lstrip('$')}", type_name


def imports_of(statement: Node) -> list[Import]:
    prefix, imports = "", []
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
        path = (prefix + text_of(names[0])).strip("\\").replace("\\", ".")
        module, _, name = path.rpartition(".")
        imports.append(Import(module, name, text_of(alias_node) or name))
    return imports


GRAMMARS = (
    Grammar(
        name="php",
        name_of=name_of,
        repair=partial(VARIABLE.sub, rb"\1[\2]"),
        opening=re.compile(rb"\s*<\?(?:php)?\s"),
        comments=Comments((b"//", b"#"), (b"/*", b"*/"), re.compile(rb"#\[")),
        imports_of=imports_of,
        target_of=up_to_name("member_call_expression", "nullsafe_member_call_expression", "scoped_call_expression"),
        bindings_of=bindings_of,
        returns_of=return_type,
        wrap=(b"<?php class _ {", b"\n}"),
    ),
)
