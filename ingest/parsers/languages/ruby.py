"""Ruby: `def` and `def self.` under their modules and classes; the comment above is the documentation."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from treeline.graph.references import Import
from treeline.ingest.parsers.comments import HASHES, Doc, comment_above, line_of
from treeline.ingest.parsers.grammar import Grammar, nth, text_of
from treeline.ingest.parsers.names import call_name, dotted_name
from treeline.ingest.parsers.types import value_of

# Not calls of something that could be found: the language's own words in the form of one.
NOT_CALLS = frozenset({"include", "extend", "prepend", "require", "require_relative", "load"})


# `x<<y` and `x <<"y"` look like the start of a here document; without its end the rest of the file would be lost.
HEREDOC = re.compile(rb"(?<!class )(?<!class)<<([-~]?)([\"'`]?)([A-Za-z_]\w*)\2")


def repair(source: bytes) -> bytes:
    if b"<<" not in source:
        return source
    lines = {line.strip() for line in source.split(b"\n")}

    def mend(match: re.Match[bytes]) -> bytes:
        return match[0] if match[3] in lines else b"< " + match[0][2:]

    return HEREDOC.sub(mend, source)


# What describes the task below it.
RAKE_DESC = re.compile(rb"desc[ (]+(['\"])(.*)\1\)?\s*\Z")


def doc_of(node: Node, source: bytes) -> Doc:
    """The comment above, or what Rake's `desc` says."""
    doc = comment_above(source, node.start_byte, HASHES)
    if doc.text or node.type != "call":
        return doc
    line = line_of(source, node.start_byte)
    before = line_of(source, max(0, line - 1))
    match = RAKE_DESC.match(source[before:line].strip())
    return Doc(match[2].decode("utf-8", "replace"), above=before) if match else doc


def name_of(node: Node) -> str:
    if node.type == "call":
        return _block_name(node)
    text = text_of(node.child_by_field_name("left" if node.type == "assignment" else "name"))
    return dotted_name(text) or text


def _block_name(call: Node) -> str:
    """The name of a block: `define_method(:open)` is `open`, `it "opens" do` is `it(opens)`."""
    method, arguments = text_of(call.child_by_field_name("method")), call.child_by_field_name("arguments")
    first = nth(arguments, 0)
    if first is not None and first.type == "pair":
        first = first.child_by_field_name("key")
    argument = text_of(first).strip(":'\"")
    if method.startswith("define_"):
        return argument
    return call_name(method, argument)


def body_of(node: Node) -> int:
    """After the parameters, the superclass or the name: Ruby's bodies have no brace, and may be empty."""
    for name in ("parameters", "superclass", "name"):
        part = node.child_by_field_name(name)
        if part is not None:
            return part.end_byte
    return 0


def target_of(node: Node) -> tuple[int, int]:
    """Of a call, receiver and method, without arguments and block."""
    if node.type != "call":
        return node.start_byte, node.end_byte
    method = node.child_by_field_name("method")
    if method is None or (method.text or b"").decode("utf-8", "replace") in NOT_CALLS:
        return node.start_byte, node.start_byte
    return node.start_byte, method.end_byte


def bindings_of(node: Node) -> Iterator[tuple[str, str]]:
    target = node.child_by_field_name("left")
    name = text_of(target)
    yield f"self.{name}" if name.startswith("@") else name, value_of(node.child_by_field_name("right"))


def imports_of(call: Node) -> list[Import]:
    arguments = call.child_by_field_name("arguments")
    string = nth(arguments, 0)
    if string is None or string.type != "string":
        return []
    path = text_of(string).strip("'\"")
    relative = text_of(call.child_by_field_name("method")) == "require_relative"
    return [Import(f"./{path}" if relative else path, "", "")]


GRAMMARS = (
    Grammar(
        name="ruby",
        name_of=name_of,
        repair=repair,
        doc_of=doc_of,
        body_of=body_of,
        imports_of=imports_of,
        target_of=target_of,
        bindings_of=bindings_of,
        marks_in_names=True,
        calls_no_variables=True,
        comments=HASHES,
    ),
)
