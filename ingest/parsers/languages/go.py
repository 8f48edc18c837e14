"""Go: functions, and methods under the type of their receiver; the comment above is the documentation."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from treeline.graph.references import Import
from treeline.ingest.parsers.grammar import Grammar, nth, text_of
from treeline.ingest.parsers.types import element_of, value_of


def owner_of(node: Node) -> str:
    """The receiver's type, without pointer and type parameters: `(q *Queue[T])` gives `Queue`."""
    receiver = node.child_by_field_name("receiver")
    if receiver is None:
        return ""
    text = text_of(receiver).strip("() ").split("[")[0]
    return text.replace("*", " ").split()[-1] if text.strip("* ") else ""


def receiver_of(node: Node) -> str:
    """The receiver's variable: `(q *Queue[T])` gives `q`."""
    receiver = node.child_by_field_name("receiver")
    part = (
        next((one for one in receiver.named_children if one.type == "parameter_declaration"), None)
        if receiver
        else None
    )
    return text_of(part.child_by_field_name("name")) if part is not None else ""


def type_expression(node: Node | None, depth: int = 5) -> str:
    """A type without pointers; `*` behind it for each list, map or channel around it."""
    if node is None or not depth:
        return ""
    if node.type in ("type_identifier", "qualified_type"):
        return f":{text_of(node)}"
    if node.type == "generic_type":
        return type_expression(node.child_by_field_name("type"), depth - 1)
    if node.type in ("pointer_type", "parenthesized_type"):
        return type_expression(nth(node, 0), depth - 1)
    inner = node.child_by_field_name("element" if node.type in ("slice_type", "array_type") else "value")
    element = type_expression(inner, depth - 1)
    return f"{element}*" if element else ""


def value_expression(node: Node | None) -> str:
    if node is None:
        return ""
    if node.type == "unary_expression":
        return value_expression(node.child_by_field_name("operand"))
    if node.type in ("composite_literal", "type_assertion_expression", "type_conversion_expression"):
        return type_expression(node.child_by_field_name("type"))
    if node.type == "call_expression" and text_of(node.child_by_field_name("function")) in ("new", "make"):
        arguments = node.child_by_field_name("arguments")
        return type_expression(nth(arguments, 0))
    return value_of(node)


def bindings_of(node: Node) -> Iterator[tuple[str, str]]:
    if node.type == "type_spec":  # `type Routes []Route`: what indexing one gives
        expression = type_expression(node.child_by_field_name("type"))
        if expression.endswith("*"):
            yield "[]", expression[:-1]
        return
    if node.type == "short_var_declaration":
        target, right = (node.child_by_field_name(side) for side in ("left", "right"))
        names = target.named_children if target is not None else []
        values = right.named_children if right is not None else []
        for at, name in enumerate(names):
            one = at < len(values) and (at == 0 or len(values) == len(names))
            yield text_of(name), value_expression(values[at]) if one else ""
        return
    if node.type == "range_clause":
        target = node.child_by_field_name("left")
        for at, name in enumerate(target.named_children if target is not None else ()):
            yield text_of(name), element_of(node.child_by_field_name("right")) if at else ""
        return
    expression = type_expression(node.child_by_field_name("type"))
    names = node.children_by_field_name("name")
    if node.type == "variadic_parameter_declaration" and expression:
        expression += "*"
    if node.type == "var_spec" and not expression:
        value = node.child_by_field_name("value")
        values = value.named_children if value is not None else []
        for at, name in enumerate(names):
            yield text_of(name), value_expression(values[at]) if at < len(values) else ""
        return
    if node.type == "field_declaration" and not names and expression:  # embedded: its name is the type's
        yield expression.lstrip(":").rpartition(".")[2], expression
    for name in names:
        yield text_of(name), expression


def returns_of(node: Node) -> str:
    """The first of what it gives."""
    result = node.child_by_field_name("result")
    if result is not None and result.type == "parameter_list":
        first = nth(result, 0)
        return type_expression(first.child_by_field_name("type")) if first is not None else ""
    return type_expression(result)


def imports_of(spec: Node) -> list[Import]:
    path = text_of(spec.child_by_field_name("path")).strip('"`')
    alias = text_of(spec.child_by_field_name("name"))
    if alias == ".":
        return [Import(path, "*", "")]
    return [Import(path, "", alias or path.rpartition("/")[2])]


GRAMMARS = (
    Grammar(
        name="go",
        owner_of=owner_of,
        receiver_of=receiver_of,
        bindings_of=bindings_of,
        returns_of=returns_of,
        imports_of=imports_of,
    ),
)
