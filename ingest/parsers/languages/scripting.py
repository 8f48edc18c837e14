"""Scripting languages: Lua, Bash, R, Julia, PowerShell, Vim script, MATLAB, Tcl."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from treeline.graph.references import Import
from treeline.ingest.parsers.comments import Comments, Doc, comment_above
from treeline.ingest.parsers.grammar import Grammar, child_of, field_name, nth, text_of
from treeline.ingest.parsers.names import call_name, dotted_name

HASH_LINES = Comments((b"#",), None)

# Lua --------------------------------------------------------------------------------------------------------------


def _lua_name(node: Node) -> str:
    if node.type == "function_call":
        return call_name(field_name(node), text_of(nth(node.child_by_field_name("arguments"), 0)))
    if node.type == "assignment_statement":
        names = child_of(node, "variable_list")
        return dotted_name(text_of(nth(names, 0)).replace(":", ".")) if names is not None else ""
    return dotted_name(field_name(node).replace(":", "."))


def _lua_constants(node: Node) -> Iterator[tuple[Node, str]]:
    values = child_of(node, "expression_list")
    value = nth(values, 0)
    if value is None or value.type == "function_definition":
        return
    if value.type == "function_call" and field_name(value) == "require":
        return
    yield node, _lua_name(node)


def _lua_imports(call: Node) -> list[Import]:
    module = text_of(call.child_by_field_name("arguments")).strip("()'\" ")
    return [Import(module, "", "")]


# Bash -------------------------------------------------------------------------------------------------------------


# `@test "adds one" {` of Bats, as a function.
BATS = re.compile(rb"^@test[ \t]+([\"'])([^\n]{1,200})\1(?=[ \t]*\{)", re.MULTILINE)


def _bash_repair(source: bytes) -> bytes:
    return BATS.sub(_bats, source) if b"@test" in source else source


def _bats(match: re.Match[bytes]) -> bytes:
    name = re.sub(rb"\W+", b"_", match[2]).strip(b"_")
    return (name + b"()").ljust(len(match[0])) if name else match[0]


# R ----------------------------------------------------------------------------------------------------------------

ROXYGEN = Comments((b"#'", b"#"), None)
ASSIGNS = frozenset({"<-", "=", "<<-"})


# Arguments that take a callback; any other named function is a method of an R6 class, or one of a list.
CALLBACKS = frozenset("FUN f fn fun error warning finally callback predicate .f".split())


R_CLASSES = frozenset("setClass setRefClass R6Class R6::R6Class new_class ggproto".split())
R_NAMED = re.compile(
    r"\(\s*(?:\w+\s*=\s*)?[\"']([^\"']+)[\"']\s*(?:,\s*(?:signature\s*=\s*)?(?:(?:signature|c)\(\s*)?"
    r"(?:\w+\s*=\s*)?[\"']([\w.]+)[\"'])?"
)


def _r_name(node: Node) -> str:
    if node.type == "argument":
        name = field_name(node)
        return "" if name in CALLBACKS else name
    if node.type == "call":
        arguments = node.child_by_field_name("arguments")
        first = R_NAMED.match(text_of(arguments)[:400])
        if first is None:
            return ""
        if (test := text_of(node.child_by_field_name("function"))) in ("test_that", "it"):
            return call_name(test, first[1])
        # `setMethod("area", "Circle", …)` is `Circle.area`.
        is_method = text_of(node.child_by_field_name("function")) in ("setMethod", "setReplaceMethod")
        return f"{first[2]}.{first[1]}" if is_method and first[2] else first[1]
    if text_of(node.child_by_field_name("operator")) not in ASSIGNS:
        return ""
    return text_of(node.child_by_field_name("lhs")).strip("\"'`")


def _r_constants(node: Node) -> Iterator[tuple[Node, str]]:
    """Variables; what holds a class is found as that class."""
    value = node.child_by_field_name("rhs")
    if value is None or value.type != "call" or text_of(value.child_by_field_name("function")) not in R_CLASSES:
        yield node, _r_name(node)


def _r_body(node: Node) -> int:
    function = node.child_by_field_name("rhs") or node.child_by_field_name("value")
    body = function.child_by_field_name("body") if function is not None else None
    return body.start_byte if body is not None else 0


def _first_argument(call: Node) -> list[Import]:
    return [Import(text_of(call.child_by_field_name("arguments")).strip("()'\" "), "*", "")]


# Julia ------------------------------------------------------------------------------------------------------------

JULIA_NAME = re.compile(r"(?:function|macro|struct|mutable\s+struct|abstract\s+type|primitive\s+type|const|global)\s+")


def _julia_name(node: Node) -> str:
    """The first name after the keyword, up to its parameters or types."""
    text = (node.text or b"")[:300].decode("utf-8", "replace")
    if text.startswith("@testset"):
        return call_name("testset", text.partition('"')[2].partition('"')[0])
    if node.type == "assignment" and (head := nth(node, 0)) is not None and head.type == "binary_expression":
        return text_of(child_of(head, "operator"))  # `a ⊗ b = …`
    if node.type == "macrocall_expression":
        return (re.match(r"@enum\s*\(?\s*(\w*)", text) or ("", ""))[1]
    text = JULIA_NAME.sub("", text, count=1)
    # `function (p::Point)(x)`: calling a value of the type.
    if functor := re.match(r"\(\s*\w*\s*::\s*([\w.]+)[^()]*\)\s*\(", text):
        return functor[1]
    text = re.sub(r"^([\w.]+\.):\(?([^\w\s()]+)\)?(?=\()", r"\1\2", text)
    match = re.match(r"\(?((?:\w|[!.∘+*/<>=^\\-]|[^\s\x00-\x7f])+?)(?=[({\s=:;]|$|\))", text)
    return match[1].strip(".") if match else ""


def _julia_doc(node: Node, source: bytes) -> Doc:
    """The string or comment above."""
    line = source.rfind(b"\n", max(0, node.start_byte - 1_000), node.start_byte) + 1
    before = source[max(0, line - 8_000) : line].rstrip()
    for quote in (b'"""', b'"'):
        if before.endswith(quote):
            begin = before.rfind(quote, 0, -len(quote))
            if begin >= 0 and not before[before.rfind(b"\n", 0, begin) + 1 : begin].strip():
                text = before[begin + len(quote) : -len(quote)].decode("utf-8", "replace").strip()
                return Doc(text, above=max(0, line - 8_000) + begin)
    return comment_above(source, node.start_byte, HASH_LINES)


# PowerShell and Vim script ----------------------------------------------------------------------------------------

POWERSHELL_NAMES = {
    "function_statement": ("function_name",),
    "class_method_definition": ("simple_name",),
    "class_statement": ("simple_name",),
    "enum_statement": ("simple_name",),
}
POWERSHELL_COMMENTS = Comments((b"#",), (b"<#", b"#>"))
PESTER = re.compile(r"(\w+)\s+(?:-Name\s+)?(['\"])(.*?)\2")
HELP = re.compile(rb"[^{]*\{\s*<#(.*?)#>", re.DOTALL)
HELP_KEYWORD = re.compile(r"^[ \t]*\.(?:PARAMETER|[A-Z]+[ \t]*$)[ \t]*", re.MULTILINE)
NEAR = 8_000  # bytes


def _powershell_name(node: Node) -> str:
    if node.type == "command":
        match = PESTER.match((node.text or b"")[:400].decode("utf-8", "replace"))
        return call_name(match[1], match[3]) if match else ""
    return text_of(child_of(node, POWERSHELL_NAMES[node.type][0]))


def _powershell_doc(node: Node, source: bytes) -> Doc:
    """The help at the start of the body, or the comment above, without keywords such as `.SYNOPSIS`."""
    match = HELP.match(source, node.start_byte, min(node.end_byte, node.start_byte + NEAR))
    doc = comment_above(source, node.start_byte, POWERSHELL_COMMENTS)
    text = match[1].decode("utf-8", "replace") if match and node.type == "function_statement" else doc.text
    lines = (line.strip() for line in HELP_KEYWORD.sub("", text).splitlines())
    return Doc("\n".join(filter(None, lines)), above=doc.above)


def _vim_name(node: Node) -> str:
    if node.type == "let_statement":
        return text_of(nth(node, 0))
    declaration = child_of(node, "function_declaration") if node.type == "function_definition" else node
    return field_name(declaration) if declaration is not None else ""


# MATLAB and Tcl ---------------------------------------------------------------------------------------------------

PERCENTS = Comments((b"%",), None)


def _matlab_doc(node: Node, source: bytes) -> Doc:
    """The comment behind the first line, or the one above."""
    comment = next((child for child in node.named_children if child.type in ("comment", "block")), None)
    if comment is None or comment.type != "comment":
        return comment_above(source, node.start_byte, PERCENTS)
    lines = (line.strip().lstrip("%").strip() for line in text_of(comment).splitlines())
    return Doc("\n".join(lines).strip(), comment.start_byte, comment.end_byte)


def _matlab_body(node: Node) -> int:
    return next((child.start_byte for child in node.named_children if child.type in ("comment", "block")), 0)


TCL_NAME = re.compile(r"(?:constructor|destructor)\b|\S+\s+(?:eval\s+|create\s+)?([^\s{}]+)")


def _tcl_name(node: Node) -> str:
    match = TCL_NAME.match(text_of(node)[:400])
    if match is None or text_of(node).startswith(("namespace export", "namespace import", "namespace ensemble")):
        return ""
    return (match[1] or match[0]).strip(":").replace("::", ".")


GRAMMARS = (
    Grammar(
        name="matlab",
        doc_of=_matlab_doc,
        body_of=_matlab_body,
        comments=PERCENTS,
    ),
    Grammar(name="tcl", name_of=_tcl_name, comments=HASH_LINES),
    Grammar(
        name="lua",
        name_of=_lua_name,
        constants_of=_lua_constants,
        imports_of=_lua_imports,
        comments=Comments((b"--",), (b"--[[", b"]]")),
        inner_after=60,
    ),
    Grammar(
        name="bash",
        repair=_bash_repair,
        comments=HASH_LINES,
        imports_of=lambda word: [Import(re.sub(r"^.*/", "./", text_of(word)), "", "")],
    ),
    Grammar(
        name="r",
        name_of=_r_name,
        constants_of=_r_constants,
        body_of=_r_body,
        imports_of=_first_argument,
        comments=ROXYGEN,
    ),
    Grammar(name="julia", name_of=_julia_name, doc_of=_julia_doc, comments=Comments((b"#",), (b"#=", b"=#"))),
    Grammar(
        name="powershell",
        name_of=_powershell_name,
        doc_of=_powershell_doc,
        comments=POWERSHELL_COMMENTS,
    ),
    Grammar(name="vim", name_of=_vim_name, comments=Comments((b'"',), None)),
)
