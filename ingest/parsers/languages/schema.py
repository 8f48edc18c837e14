"""Languages that describe data and interfaces: Protobuf, GraphQL, Thrift, HCL, Nix, Solidity, Elm."""

from __future__ import annotations

import re

from tree_sitter import Node

from treeline.ingest.parsers.comments import Comments, Doc, above_signature, comment_above
from treeline.ingest.parsers.grammar import Grammar, child_of, nth, text_of

HASH_LINES = Comments((b"#",), (b"/*", b"*/"))
PROTO_NAMES = {
    "message": ("message_name",),
    "service": ("service_name",),
    "enum": ("enum_name",),
    "rpc": ("rpc_name",),
}
GRAPHQL_DOC = re.compile(r'\s*(?:"""(.*?)"""|"([^"\n]*)")', re.DOTALL)


def _graphql_name(node: Node) -> str:
    return text_of(child_of(node, "name") or child_of(node, "fragment_name"))


def _graphql_doc(node: Node, source: bytes) -> Doc:
    match = GRAPHQL_DOC.match(text_of(child_of(node, "description")))
    if match:
        return Doc((match[1] or match[2] or "").strip())
    return comment_above(source, node.start_byte, HASH_LINES)


def _hcl_name(block: Node) -> str:
    """The type and the labels of a block: `resource.aws_instance.web`."""
    words = []
    for child in block.named_children:
        if child.type not in ("identifier", "string_lit"):
            break
        words.append(text_of(child).strip('"'))
    return ".".join(words)


def _solidity_name(node: Node) -> str:
    if node.type == "constructor_definition":
        return "constructor"
    if node.type == "fallback_receive_definition":
        return text_of(node).partition("(")[0].strip()
    return text_of(node.child_by_field_name("name"))


def _thrift_name(node: Node) -> str:
    return text_of(child_of(node, "identifier"))


def _elm_name(node: Node) -> str:
    if node.type == "value_declaration":
        head = child_of(node, "function_declaration_left")
        return text_of(nth(head, 0))
    return text_of(node.child_by_field_name("name") or child_of(node, "upper_case_identifier"))


def _elm_doc(node: Node, source: bytes) -> Doc:
    """The comment above, or above the type annotation."""
    start = node.start_byte
    if node.type == "value_declaration":
        start = above_signature(source, start, re.compile(re.escape(_elm_name(node)).encode() + rb"\s*:"))
    return comment_above(source, start, ELM_COMMENTS)


ELM_COMMENTS = Comments((b"--",), (b"{-", b"-}"))
GRAMMARS = (
    Grammar(name="proto", names=PROTO_NAMES),
    Grammar(name="graphql", name_of=_graphql_name, doc_of=_graphql_doc, comments=HASH_LINES),
    Grammar(name="hcl", name_of=_hcl_name, comments=Comments((b"#", b"//"), (b"/*", b"*/"))),
    Grammar(name="solidity", name_of=_solidity_name),
    Grammar(name="thrift", name_of=_thrift_name, comments=Comments((b"//", b"#"), (b"/*", b"*/"))),
    Grammar(name="nix", names={"binding": ("attrpath",)}, comments=HASH_LINES),
    Grammar(name="elm", name_of=_elm_name, doc_of=_elm_doc, comments=ELM_COMMENTS),
)
