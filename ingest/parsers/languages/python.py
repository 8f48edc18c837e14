"""Python: functions and methods with their docstrings; functions inside functions belong to the outer one."""

from __future__ import annotations

import codecs
import re
import tokenize
from collections.abc import Iterator
from io import BytesIO

from tree_sitter import Node

from treeline.graph.references import Import
from treeline.ingest.parsers.comments import HASHES, NO_DOC, Doc, comment_above
from treeline.ingest.parsers.grammar import Grammar, nth, text_of
from treeline.ingest.parsers.types import element_of, return_type, type_of, value_of

BLOCKS = frozenset(
    """block function_definition class_definition decorated_definition if_statement elif_clause else_clause
    for_statement while_statement try_statement except_clause except_group_clause finally_clause with_statement
    match_statement case_clause""".split()
)
STRING = re.compile(r"""[uUrR]{0,2}(\"\"\"|'''|"|')(.*)\1""", re.DOTALL)


# No file is written in them, and they take the square of its length.
FOR_DOMAIN_NAMES = frozenset({"punycode", "idna"})


def encoding_of(source: bytes) -> str:
    """The encoding that the file's first lines name (PEP 263), if Python knows it."""
    try:
        encoding, _ = tokenize.detect_encoding(BytesIO(source).readline)
    except SyntaxError:
        return "utf-8"
    return "utf-8" if codecs.lookup(encoding).name in FOR_DOMAIN_NAMES else encoding


def doc_of(definition: Node, source: bytes) -> Doc:
    if definition.type == "assignment":
        return comment_above(source, definition.start_byte, HASHES)
    return _doc_in(definition.child_by_field_name("body"))


def file_doc_of(module: Node, _source: bytes) -> Doc:
    return _doc_in(module)


def _doc_in(body: Node | None) -> Doc:
    """The string that is a body's first statement."""
    string = _first_statement(body) if body is not None else None
    if string is None or string.type not in ("string", "concatenated_string"):
        return NO_DOC
    strings = [string] if string.type == "string" else string.named_children
    matches = [STRING.fullmatch(text_of(part)) for part in strings if part.type == "string"]
    text = "".join(part[2] for part in matches if part)
    return Doc(text.strip(), string.start_byte, string.end_byte) if text else NO_DOC


def _first_statement(body: Node) -> Node | None:
    first = nth(body, 0) if body.named_child_count else None
    if first is None or first.type != "comment":
        return first
    return next((child for child in body.named_children if child.type != "comment"), None)


def _last_statement(body: Node) -> Node | None:
    last = body.named_child(body.named_child_count - 1) if body.named_child_count else None
    if last is None or last.type != "comment":
        return last
    return next((child for child in reversed(body.named_children) if child.type != "comment"), None)


def end_of(function: Node) -> Node:
    """Its last statement: comments that only happen to be indented behind it are not part of it."""
    end: Node = function
    while end.type in BLOCKS and (last := _last_statement(end)) is not None:
        end = last
    return end


def bindings_of(node: Node) -> Iterator[tuple[str, str]]:
    if node.type in ("typed_parameter", "typed_default_parameter"):
        parameter = node.child_by_field_name("name") or nth(node, 0)
        if parameter is not None and parameter.type == "identifier":
            yield text_of(parameter), type_of(node.child_by_field_name("type"))
        return
    target, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if node.type == "named_expression":
        target, right = node.child_by_field_name("name"), node.child_by_field_name("value")
    if target is None or (node.type == "assignment" and right is None and node.child_by_field_name("type") is None):
        return
    if target.type in ("pattern_list", "tuple_pattern", "list_pattern"):
        for one in target.named_children:
            if one.type == "identifier":
                yield text_of(one), ""
        return
    name = text_of(target)
    if target.type == "attribute" and text_of(target.child_by_field_name("object")) != "self":
        return
    if target.type in ("identifier", "attribute"):
        expression = type_of(node.child_by_field_name("type"))
        value = element_of(right) if node.type.startswith("for") else value_of(right)
        yield name, expression or value


def imports_of(statement: Node) -> list[Import]:
    module_node = statement.child_by_field_name("module_name")
    module = text_of(module_node) if module_node is not None else ""
    imports = []
    for node in statement.children_by_field_name("name"):
        name, alias = node, ""
        if node.type == "aliased_import":
            name = node.child_by_field_name("name") or node
            alias_node = node.child_by_field_name("alias")
            alias = text_of(alias_node) if alias_node is not None else ""
        text = text_of(name)
        if module_node is not None:
            imports.append(Import(module, text, alias or text))
        else:
            imports.append(Import(text, "", alias or text))
    if module_node is not None and not imports:
        imports.append(Import(module, "*", ""))
    return imports


GRAMMARS = (
    Grammar(
        name="python",
        encoding_of=encoding_of,
        names={"assignment": ("left",), "type_alias_statement": ("left",)},
        doc_of=doc_of,
        file_doc_of=file_doc_of,
        end_of=end_of,
        imports_of=imports_of,
        bindings_of=bindings_of,
        returns_of=return_type,
        comments=HASHES,
    ),
)
