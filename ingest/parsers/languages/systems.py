"""Systems languages beside C: Rust, Swift, Zig, Nim, D, Odin, Fortran, Pascal, Ada; Verilog and VHDL."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from treeline.graph.references import Import
from treeline.ingest.parsers.comments import DASHES, Comments, Doc, comment_above
from treeline.ingest.parsers.grammar import FOR, Grammar, child_of, descend, field_name, implementation, nth, text_of
from treeline.ingest.parsers.names import call_name, dotted_name
from treeline.ingest.parsers.types import element_of, return_type, type_of, value_of

GENERICS = re.compile(r"<.*>", re.DOTALL)


def plain_type(text: str) -> str:
    """A type's name without its parameters and its path: `&mut fmt::Foo<T>` → `Foo`."""
    bare = dotted_name(GENERICS.sub("", text).strip("&*() ").removeprefix("mut ").removeprefix("dyn "))
    return bare.rpartition(".")[2]


# Rust ------------------------------------------------------------------------------------------------------------

RUST_COMMENTS = Comments(attribute=re.compile(rb"#!?\["))
USED = re.compile(r"\s*(?:pub(?:\([^)]*\))?\s+)?use\s+|;\s*$")


def _rust_name(node: Node) -> str:
    if node.type != "impl_item":
        return field_name(node)
    name = plain_type(text_of(node.child_by_field_name("type")))
    trait = node.child_by_field_name("trait")
    return name if trait is None else f"{GENERICS.sub('', text_of(trait))}{FOR}{name}"


def _rust_bindings(node: Node) -> Iterator[tuple[str, str]]:
    pattern = node.child_by_field_name("pattern") or node.child_by_field_name("name")
    if pattern is None or pattern.type not in ("identifier", "field_identifier", "mut_pattern"):
        return
    name = text_of(pattern).removeprefix("mut ").strip()
    value = node.child_by_field_name("value")
    if node.type == "for_expression":
        yield name, element_of(value)
    elif (kind := node.child_by_field_name("type")) is not None:
        yield name, type_of(kind)
    elif value is not None and value.type == "struct_expression":
        yield name, type_of(value.child_by_field_name("name"))
    else:
        # `f()?` gives what the result holds.
        expression = value_of(value)
        yield (
            name,
            f"{expression}[]" if value is not None and value.type == "try_expression" and expression else expression,
        )


# The head of a macro around items, such as `cfg_rt! {`: the grammar sees tokens alone in it. It ends with the brace
# below its line. One with a syntax of its own (`bitflags!`, `lazy_static!`) stays as it is.
WRAPPING = re.compile(
    rb"^([ \t]*)((?:\w+::)?[a-z]\w*![ \t]*\{)(?=[ \t]*\r?\n(?:\s|//[^\n]*\n|#\[[^\n]*\n)*+"
    rb"(?:pub(?:\([a-z]+\))?\s+)?(?:(?:async|unsafe|const)\s+)*+"
    rb"(?:fn|struct(?!\s+\w+\s*:)|enum|trait|impl|mod|use|type)\b)",
    re.MULTILINE,
)
LONGEST_WRAPPED = 64_000  # bytes


def _rust_unwrap(source: bytes) -> bytes:
    """The text with the names and braces of macros around items blanked."""
    if b"! {" not in source and b"!{" not in source:
        return source
    text = bytearray(source)
    for head in WRAPPING.finditer(source):
        closing = source.find(b"\n" + head[1] + b"}", head.end(), head.end() + LONGEST_WRAPPED) + 1 + len(head[1])
        if closing > head.end():
            text[head.start(2) : head.end(2)] = b" " * len(head[2])
            text[closing : closing + 1] = b" "
    return bytes(text)


def _rust_imports(statement: Node) -> list[Import]:
    return list(_used(USED.sub("", text_of(statement)), ""))


def _used(text: str, prefix: str) -> Iterator[Import]:
    """`a::b::{c, d as e}` → (a.b, c, c) and (a.b, d, e)."""
    head, brace, inner = text.strip().partition("{")
    if brace:
        prefix += head
        for part in _split(inner.rpartition("}")[0]):
            yield from _used(part, prefix)
        return
    path, _, alias = (prefix + head).strip().partition(" as ")
    module, _, name = dotted_name(path.replace("::*", "::STAR")).rpartition(".")
    if name:
        star = name == "STAR"
        yield Import(module, "*" if star else name, "" if star else alias.strip() or name)


def _split(text: str) -> Iterator[str]:
    """At commas outside of braces."""
    depth, start = 0, 0
    for at, sign in enumerate(text):
        depth += (sign == "{") - (sign == "}")
        if sign == "," and depth == 0:
            yield text[start:at]
            start = at + 1
    if text[start:].strip():
        yield text[start:]


# Swift ------------------------------------------------------------------------------------------------------------


def _swift_name(node: Node) -> str:
    kind = node.type
    if kind == "deinit_declaration":
        return "deinit"
    if kind == "subscript_declaration":
        return "subscript"
    if kind == "macro_declaration":
        return text_of(child_of(node, "simple_identifier"))
    name = field_name(node).strip("`")
    if kind == "class_declaration":
        name = plain_type(name)
        is_extension = text_of(node.child_by_field_name("declaration_kind")) == "extension"
        conforms = [
            plain_type(text_of(child)) for child in node.named_children if child.type == "inheritance_specifier"
        ]
        return f"{', '.join(conforms)}{FOR}{name}" if is_extension and conforms else name
    return name


SWIFT_UNREADABLE = re.compile(
    rb"^[ \t]*#(?:if|elseif|else|endif)\b.*$|@unchecked(?= Sendable)|\bsending(?= [@\[(A-Za-z])|@preconcurrency\b"
    rb"|\bnonisolated\(\w+\)|\bconsuming\b(?= \w)|\bborrowing\b(?= \w)",
    re.MULTILINE,
)
SWIFT_VOID = re.compile(rb"(?<=[(:] )\(\)(?=[,)])|(?<=\()\(\)(?=\))")


def _swift_mend(source: bytes) -> bytes:
    return SWIFT_VOID.sub(b"00", SWIFT_UNREADABLE.sub(lambda match: b" " * len(match[0]), source))


# Zig --------------------------------------------------------------------------------------------------------------


def _zig_name(node: Node) -> str:
    if node.type == "TestDecl":
        name = next(iter(node.named_children), None)
        return f"tests.{text_of(name).strip(chr(34))}" if name is not None and name.type != "Block" else ""
    if node.type == "Decl":
        return text_of(child_of(node.named_children[0], "function"))
    # A variable is a type where its value is a container: `const Point = struct { … }`.
    return text_of(node.child_by_field_name("variable_type_function")) if _zig_body(node) else ""


def _zig_body(node: Node) -> int:
    block = next((child for child in node.named_children if child.type == "Block"), None)
    if block is None and node.type == "VarDecl":
        block = descend(node, ("ErrorUnionExpr", "SuffixExpr", "ContainerDecl"))
    return block.start_byte if block is not None else 0


def _zig_constants(node: Node) -> Iterator[tuple[Node, str]]:
    if b"@import(" not in (node.text or b"")[:200]:
        yield node, text_of(node.child_by_field_name("variable_type_function"))


# Nim and others ----------------------------------------------------------------------------------------------------


def _nim_name(node: Node) -> str:
    if node.type == "type_declaration":
        symbol = child_of(node, "type_symbol_declaration")
        return field_name(symbol).strip("*` ") if symbol is not None else ""
    if node.type == "call":
        return call_name(
            text_of(node.child_by_field_name("function")), text_of(nth(child_of(node, "argument_list"), 0))
        )
    if node.type == "variable_declaration":
        return re.split(r"[*:=,\s{]", text_of(node).strip("` "), maxsplit=1)[0]
    return field_name(node).strip("*` ")


def _nim_doc(node: Node, source: bytes) -> Doc:
    """The `##` lines at the start of the body or behind the definition, or the comment above."""
    inner = child_of(node, "object_declaration") or child_of(node, "enum_declaration")
    for part in (node, inner):
        comments = [one for one in part.named_children if one.type == "documentation_comment"] if part else []
        if comments:
            return Doc("\n".join(text_of(one).strip("#[] \n") for one in comments))
    behind = NIM_BEHIND.match(source, node.end_byte)
    if behind:
        return Doc(behind[1].decode("utf-8", "replace").strip())
    return comment_above(source, node.start_byte, NIM_COMMENTS)


NIM_BEHIND = re.compile(rb"[ \t]*##[ \t]*([^\n]*)")


NIM_COMMENTS = Comments((b"#",), (b"#[", b"]#"))


def _d_name(node: Node) -> str:
    if node.type in ("constructor", "destructor"):
        return "this" if node.type == "constructor" else "~this"
    if node.type == "unittest_declaration":
        return "tests.unittest"
    for step in ("alias_initializer", "alias_assignment", "manifest_declarator"):
        if (inner := child_of(node, step)) is not None:
            return text_of(child_of(inner, "identifier")) or text_of(inner).partition("=")[0].strip()
    return text_of(child_of(node, "identifier"))


def _d_constants(node: Node) -> Iterator[tuple[Node, str]]:
    """`enum limit = 3`, and variables that have a value at the start; fields have none to tell."""
    declarator = child_of(node, "declarator")
    if node.type == "manifest_constant":
        yield node, _d_name(node)
    elif declarator is not None and declarator.named_child_count > 1:
        yield node, text_of(child_of(declarator, "identifier"))


# Fixed form: a comment is marked in the first column, a continued line in the sixth.
FREE_FORM = re.compile(rb"^(?![cC*!dD#\d])\S", re.MULTILINE)
FIXED_COMMENT = re.compile(rb"^[cC*dD](?=.)", re.MULTILINE)
FIXED_CONTINUED = re.compile(rb".(\r?\n {5})[^\s0](?=.)")


def _fortran_repair(source: bytes) -> bytes:
    """Fixed form as free form, with text of the same length."""
    if FREE_FORM.search(source):
        return source
    return FIXED_CONTINUED.sub(lambda match: b"&" + match[1] + b"&", FIXED_COMMENT.sub(b"!", source))


BANG = Comments((b"!>", b"!<", b"!", b"C  ", b"c  ", b"*>", b"*  "), None)


def _fortran_name(node: Node) -> str:
    statement = nth(node, 0)
    if statement is None:
        return ""
    if node.type == "variable_declaration":
        declarator = child_of(node, "declarator")
        return text_of(declarator.child_by_field_name("left")) if declarator is not None else ""
    return field_name(statement) or text_of(
        child_of(statement, "type_name")
        or child_of(statement, "name")
        or child_of(statement, "operator")
        or child_of(statement, "assignment")
    )


def _pascal_name(node: Node) -> str:
    header = node.child_by_field_name("header") if node.type == "defProc" else node
    return text_of(header.child_by_field_name("name")) if header is not None else ""


ADA_CONCURRENT = re.compile(r"(?:limited\s+)?(?:task|protected|entry)\s+(?:type\s+|body\s+)?(\w+)", re.IGNORECASE)


def _ada_name(node: Node) -> str:
    if match := ADA_CONCURRENT.match(text_of(node)[:200]):
        return match[1]
    if not node.type.startswith(("subprogram", "expression_function")):
        return field_name(node) or text_of(child_of(node, "identifier"))
    inner = child_of(node, "procedure_specification") or child_of(node, "function_specification")
    return field_name(inner) if inner is not None else ""


# Hardware ---------------------------------------------------------------------------------------------------------

VERILOG_NAMES = {
    "type_declaration": re.compile(r".*?(\w+)\s*(?:\[[^\]]*\]\s*)*;\s*\Z", re.DOTALL),
    "text_macro_definition": re.compile(r"`define\s+(\w+)"),
    "parameter_declaration": re.compile(r"[^=]*?(\w+)\s*="),
    "local_parameter_declaration": re.compile(r"[^=]*?(\w+)\s*="),
    "function_declaration": re.compile(r"[^(;]*?((?:\w+::)?\w+)\s*[(;]"),
    "task_declaration": re.compile(r"[^(;]*?((?:\w+::)?\w+)\s*[(;]"),
    "class_method": re.compile(r"(?!(?:pure|extern)\b)[^(;]*?(\w+)\s*[(;]"),
}
VERILOG_HEAD = re.compile(
    r"(?:\w+\s+)*?(?:module|macromodule|interface|program|package|class)\s+(?:automatic\s+|static\s+)?(\w+)"
)


def _verilog_name(node: Node) -> str:
    match = VERILOG_NAMES.get(node.type, VERILOG_HEAD).match(text_of(node)[:8_000])
    return match[1].replace("::", ".") if match else ""


OF = " of "


def _vhdl_name(node: Node) -> str:
    if node.type == "architecture_body":
        return f"{field_name(node)}{OF}{text_of(node.child_by_field_name('entity'))}"
    name = node.child_by_field_name("designator") or node.child_by_field_name("package") or child_of(node, "label")
    return text_of(name or child_of(node, "name") or child_of(node, "identifier_list")).rstrip(": ")


GRAMMARS = (
    Grammar(name="verilog", name_of=_verilog_name, comments=Comments(attribute=re.compile(rb"\(\*"))),
    Grammar(
        name="vhdl",
        name_of=_vhdl_name,
        scope_of=lambda name: name.rpartition(OF)[2],  # an architecture belongs to its entity
        comments=DASHES,
    ),
    Grammar(name="nim", name_of=_nim_name, doc_of=_nim_doc, comments=NIM_COMMENTS),
    Grammar(
        name="d",
        name_of=_d_name,
        constants_of=_d_constants,
        comments=Comments(attribute=re.compile(rb"@\w")),
    ),
    Grammar(name="odin", name_of=lambda node: text_of(child_of(node, "identifier"))),
    Grammar(name="fortran", name_of=_fortran_name, comments=BANG, repair=_fortran_repair),
    Grammar(name="pascal", name_of=_pascal_name, comments=Comments((b"//",), (b"{", b"}"))),
    Grammar(name="ada", name_of=_ada_name, comments=DASHES),
    Grammar(
        name="rust",
        name_of=_rust_name,
        scope_of=implementation,
        comments=RUST_COMMENTS,
        imports_of=_rust_imports,
        bindings_of=_rust_bindings,
        returns_of=return_type,
        repair=_rust_unwrap,
    ),
    Grammar(
        name="swift",
        name_of=_swift_name,
        scope_of=implementation,
        comments=Comments(attribute=re.compile(rb"@\w")),
        imports_of=lambda node: [Import(text_of(node), "*", "")],
        mend=_swift_mend,
        names={"property_declaration": ("name", "bound_identifier")},
    ),
    Grammar(
        name="zig",
        name_of=_zig_name,
        constants_of=_zig_constants,
        body_of=_zig_body,
        inner_after=40,
    ),
)
