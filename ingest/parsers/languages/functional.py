"""Functional languages: Elixir, Haskell, OCaml, F#, Erlang and Gleam."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from treeline.graph.references import Import
from treeline.ingest.parsers.comments import (
    HASHES,
    NO_DOC,
    Comments,
    Doc,
    above_signature,
    comment_above,
)
from treeline.ingest.parsers.grammar import (
    Grammar,
    body_at,
    child_of,
    descend,
    field_body,
    field_name,
    implementation,
    nth,
    text_of,
)
from treeline.ingest.parsers.names import call_name

# Elixir -----------------------------------------------------------------------------------------------------------

# What stands between a documentation attribute and its function.
DEFINES = re.compile(rb"^[ \t]*def\w*\b", re.MULTILINE)
ATTRIBUTE_DOC = re.compile(rb'@(?:doc|typedoc)[ \t]+(?:~[sS])?("""(.*?)"""|"((?:[^"\\]|\\.)*)")', re.DOTALL)
MODULE_DOC = re.compile(rb'@moduledoc[ \t]+(?:~[sS])?("""(.*?)"""|"((?:[^"\\]|\\.)*)")', re.DOTALL)
NEAR = 12_000  # bytes; the longest documentation of a function in Elixir's own library has nine thousand
SPECIAL = frozenset(
    """def defp defmacro defmacrop defguard defguardp defdelegate defmodule defimpl defprotocol defstruct defexception
    alias import require use test describe if unless case cond for with quote unquote raise fn try receive""".split()
)


# Module attributes that the language gives a meaning; all others are constants.
ATTRIBUTES = frozenset(
    """type typep opaque callback macrocallback doc moduledoc typedoc spec impl deprecated behaviour derive dialyzer
    enforce_keys external_resource before_compile after_compile on_definition compile optional_callbacks since tag
    moduletag vsn on_load""".split()
)


def _first_argument(call: Node) -> Node | None:
    arguments = next((child for child in call.named_children if child.type == "arguments"), None)
    return nth(arguments, 0) if arguments is not None and arguments.named_child_count else None


def _elixir_name(node: Node) -> str:
    if node.type == "unary_operator":
        operand = node.child_by_field_name("operand")
        return _elixir_name(operand) if operand is not None else ""
    target, first = text_of(node.child_by_field_name("target")), _first_argument(node)
    if first is None:
        return ""
    if target in ("defmodule", "defprotocol"):
        return text_of(first)
    if target == "defimpl":
        whole = text_of(node)[:300]
        protocol = re.search(r"for:\s*([\w.]+)", whole)
        return f"{text_of(first)} for {protocol[1]}" if protocol else text_of(first)
    if target in ("test", "property"):
        return f"{target} " + text_of(first).strip('"')
    if node.type == "call" and target not in SPECIAL and first.type != "binary_operator":
        return target  # an attribute: `@timeout 5`
    if first.type == "binary_operator" and text_of(first.child_by_field_name("operator")) in ("when", "::"):
        first = first.child_by_field_name("left") or first
    if target in SPECIAL and first.type == "binary_operator":
        return text_of(first.child_by_field_name("operator"))  # `def a + b`
    while first is not None and first.type == "binary_operator":
        first = first.child_by_field_name("left")
    if first is not None and first.type == "call":
        first = first.child_by_field_name("target")
    name = text_of(first)
    return name if target in SPECIAL or re.fullmatch(r"\w+[?!]?", name) else target


def _elixir_arity(node: Node) -> str:
    first = _first_argument(node)
    if first is not None and first.type == "binary_operator":
        first = first.child_by_field_name("left")
    arguments = child_of(first, "arguments") if first is not None else None
    return str(arguments.named_child_count if arguments is not None else 0)


def _elixir_constants(node: Node) -> Iterator[tuple[Node, str]]:
    operand = node.child_by_field_name("operand")
    name = text_of(operand.child_by_field_name("target")) if operand is not None else ""
    if name not in ATTRIBUTES:
        yield node, name


def _elixir_doc(node: Node, source: bytes) -> Doc:
    target = text_of(node.child_by_field_name("target"))
    if target in ("defmodule", "defprotocol", "defimpl"):
        match = MODULE_DOC.search(source, node.start_byte, min(node.end_byte, node.start_byte + NEAR))
        if match is None or DEFINES.search(source, node.start_byte + 3, match.start()):
            return NO_DOC
        return Doc(_dedent(match[2] or match[3] or b""), match.start(), match.end())
    floor = max(0, node.start_byte - NEAR)
    at = source.rfind(b"@doc ", floor, node.start_byte)
    if source.startswith(b"@doc since:", at):  # a second attribute
        at = source.rfind(b"@doc ", floor, at)
    match = ATTRIBUTE_DOC.match(source, at, node.start_byte) if at >= 0 else None
    if match is None or DEFINES.search(source, match.end(), node.start_byte):
        return comment_above(source, node.start_byte, ELIXIR_COMMENTS)
    return Doc(_dedent(match[2] or match[3] or b""), above=at)


def _dedent(text: bytes) -> str:
    lines = text.decode("utf-8", "replace").strip("\n").splitlines()
    indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return "\n".join(line[indent:].rstrip() for line in lines).strip()


ALIAS = re.compile(r",\s*as:\s*(\w+)")


def _elixir_imports(call: Node) -> list[Import]:
    """`alias Shop.{Cart, Order}` names two modules, `alias Shop.Cart, as: Basket` one by another name."""
    module = text_of(_first_argument(call))
    if text_of(call.child_by_field_name("target")) != "alias":
        return [Import(module, "*", "")] if module else []
    common, _, several = module.partition("{")
    modules = [common + one.strip() for one in several.rstrip("}").split(",")] if several else [module]
    alias = ALIAS.search(text_of(call))
    return [Import(one, "", alias[1] if alias else one.rpartition(".")[2]) for one in modules if one]


def _elixir_target(node: Node) -> tuple[int, int]:
    end = node.start_byte if text_of(node) in SPECIAL else node.end_byte
    return node.start_byte, end


ELIXIR_COMMENTS = Comments((b"#",), None, re.compile(rb"@(?:spec|impl|since|deprecated|dialyzer|doc\b)"))

# Haskell ----------------------------------------------------------------------------------------------------------


TYPE_APPLICATION = re.compile(r"\(([A-Z][\w.']*)(?:\s[^()]*)?\)")  # `(Maybe a)`


def _haskell_name(node: Node) -> str:
    if node.type == "instance":
        patterns = text_of(node.child_by_field_name("patterns"))
        match = TYPE_APPLICATION.fullmatch(patterns)
        patterns = match[1] if match else patterns
        return f"{field_name(node)} for {patterns}" if patterns else field_name(node)
    name = field_name(node)
    if not name:
        infix = next((child for child in node.named_children if child.type == "infix"), None)
        names = node.child_by_field_name("names")
        if infix is not None:
            name = text_of(infix.child_by_field_name("operator")).strip("`")
        elif names is not None:
            name = text_of(nth(names, 0))
    return name.strip("()") or name


def _haskell_body(node: Node) -> int:
    return node.end_byte if node.type == "signature" else HASKELL_BODY(node)


HASKELL_BODY = body_at("declarations", "match", "constructors")


def _haskell_imports(statement: Node) -> list[Import]:
    module = text_of(statement.child_by_field_name("module"))
    alias = text_of(statement.child_by_field_name("alias"))
    return [Import(module, "" if alias else "*", alias)]


# OCaml ------------------------------------------------------------------------------------------------------------

OCAML_NAMES = {
    "external": ("value_name",),
    "method_definition": ("method_name",),
    "module_binding": ("module_name",),
    "class_binding": ("class_name",),
    "class_type_binding": ("class_type_name",),
    "module_type_definition": ("module_type_name",),
    "exception_definition": ("constructor_declaration", "constructor_name"),
}
OCAML_COMMENTS = Comments((), (b"(*", b"*)"))
OCAML_BOUND = frozenset({"value_name", "parenthesized_operator"})
# What is bound to one of these is not a function.
OCAML_LITERALS = frozenset(
    """number string quoted_string character boolean signed_number list_expression array_expression record_expression
    tuple_expression constructor_path unit""".split()
)
OCAML_DOC_BELOW = re.compile(
    rb"[ \t]*\n?[ \t]*\(\*\*(?!\*)((?:[^*]|\*(?!\)))*)\*\)[ \t]*(?:\n[ \t]*(?:\n|end\b)|\n?\Z)"
)
# A comment right below something else may be about that.
OCAML_ATTACHED = re.compile(rb"[^\n \t][ \t]*\n[ \t]*\Z(?<!sig\n)(?<!struct\n)")


def _ocaml_name(node: Node) -> str:
    if node.type == "value_specification":
        return _ocaml_plain(next(iter(node.named_children), None))
    if node.type == "type_binding":
        return text_of(node.child_by_field_name("name"))
    return text_of(descend(node, OCAML_NAMES.get(node.type, ("name",))))


def _ocaml_plain(name: Node | None) -> str:
    """An operator without its parentheses: `( let* )` → `let*`."""
    return text_of(name).strip("() ") or text_of(name)


def _ocaml_bindings(node: Node, *, literal: bool) -> Iterator[tuple[Node, str]]:
    """The bindings of `let … and …`: one alone with its `let`, several each for itself."""
    bindings = [child for child in node.named_children if child.type == "let_binding"]
    for binding in bindings:
        pattern, body = binding.child_by_field_name("pattern"), binding.child_by_field_name("body")
        is_literal = child_of(binding, "parameter") is None and body is not None and body.type in OCAML_LITERALS
        name = _ocaml_test(node, pattern) or (
            _ocaml_plain(pattern) if pattern is not None and pattern.type in OCAML_BOUND else ""
        )
        if name.strip("_") and is_literal == literal:
            yield node if len(bindings) == 1 else binding, name


OCAML_TEST = re.compile(r"let%(\w+)")


def _ocaml_test(node: Node, pattern: Node | None) -> str:
    """`let%test "adds" = …` is `test(adds)`."""
    match = OCAML_TEST.match((node.text or b"")[:40].decode("utf-8", "replace"))
    return call_name(match[1], text_of(pattern)) if match and pattern is not None and pattern.type == "string" else ""


def _ocaml_functions(node: Node) -> Iterator[tuple[Node, str]]:
    if node.type == "value_definition":
        yield from _ocaml_bindings(node, literal=False)
    else:
        yield node, _ocaml_name(node)


def _ocaml_constants(node: Node) -> Iterator[tuple[Node, str]]:
    return _ocaml_bindings(node, literal=True)


def _ocaml_body(node: Node) -> int:
    binding = child_of(node, "let_binding") if node.type == "value_definition" else node
    return field_body(binding) if binding is not None else 0


def _ocaml_doc(node: Node, source: bytes) -> Doc:
    """The comment above; or the one below, as the standard library has it, unless that belongs to what follows."""
    doc = comment_above(source, node.start_byte, OCAML_COMMENTS)
    if doc.text and not OCAML_ATTACHED.search(source[max(0, doc.above - 200) : doc.above]):
        return doc
    match = OCAML_DOC_BELOW.match(source, node.end_byte, min(len(source), node.end_byte + NEAR))
    if match is None:
        return doc
    return Doc("\n".join(line.strip() for line in match[1].decode("utf-8", "replace").strip().splitlines()))


# F# ---------------------------------------------------------------------------------------------------------------

FSHARP_NAME = re.compile(
    r"(?:\[<.*?>\]\s*)*(?:and|let|exception|rec|inline|private|internal|public|mutable|static|member|override|default|abstract|type"
    r"|module|val|new|\s)*((?:``[^`]+``|\w+)(?:\.(?:``[^`]+``|\w+))*)", re.DOTALL
)  # fmt: skip


# `let (>>=) m f`, `let (|Even|Odd|) n`
FSHARP_OPERATOR = re.compile(r"[\w\s.]*?\(([^)]+)\)")


# A value of one of these is not a function.
FSHARP_LITERALS = frozenset(
    "const list_expression array_expression tuple_expression brace_expression literal_expression".split()
)
FSHARP_LEFT = frozenset({"function_declaration_left", "value_declaration_left"})


def _fsharp_functions(node: Node) -> Iterator[tuple[Node, str]]:
    """Functions: one alone with its `let`, several of `let rec … and …` each for itself."""
    definition = child_of(node, "function_or_value_defn") if node.type == "declaration_expression" else None
    children = definition.named_children if definition is not None else []
    heads = [child for child in children if child.type in FSHARP_LEFT]
    if len(heads) > 1:
        yield from ((one, _fsharp_name(one)) for one in heads)
    elif not _is_fsharp_literal(definition):
        yield node, _fsharp_name(node)


def _fsharp_constants(node: Node) -> Iterator[tuple[Node, str]]:
    if _is_fsharp_literal(child_of(node, "function_or_value_defn")):
        yield node, _fsharp_name(node)


def _is_fsharp_literal(definition: Node | None) -> bool:
    if definition is None or child_of(definition, "value_declaration_left") is None:
        return False
    body = definition.child_by_field_name("body")
    return body is not None and body.type in FSHARP_LITERALS


def _fsharp_end(node: Node) -> Node:
    """The body is the next sibling of the name and its parameters."""
    return (node.next_named_sibling or node) if node.type in FSHARP_LEFT else node


def _fsharp_name(node: Node) -> str:
    match = FSHARP_NAME.match((node.text or b"")[:400].decode("utf-8", "replace"))
    if match is None or match[1] in ("let", "and", "member"):
        operator = FSHARP_OPERATOR.match((node.text or b"")[:400].decode("utf-8", "replace"))
        return operator[1].strip() if operator else ""
    # `member this.Name`: the instance is no part of the name.
    name = match[1].rpartition(".")[2] if node.type == "method_or_prop_defn" else match[1]
    return name.strip("`")


# Erlang -----------------------------------------------------------------------------------------------------------

ERLANG_NAMES = {
    "fun_decl": ("clause", "name"),
    "type_alias": ("name", "name"),
    "opaque": ("name", "name"),
    "callback": ("fun",),
    "pp_define": ("lhs", "name"),
}

ERLANG_SPEC = re.compile(rb"-(?:spec|dialyzer|compile|if|ifdef|ifndef|else|endif)\b")
ERLANG_DOC = re.compile(rb'-doc\s*\(?\s*(?:~[bBsS]?)?("""(.*?)"""|"((?:[^"\\]|\\.)*)")\s*\)?\.\s*$', re.DOTALL)
ERLANG_COMMENTS = Comments((b"%",), None)


def _erlang_doc(node: Node, source: bytes) -> Doc:
    """The attribute `-doc`, or the comment above, past `-spec`."""
    start = above_signature(source, node.start_byte, ERLANG_SPEC)
    floor = max(0, start - NEAR)
    at = source.rfind(b"\n-doc", floor, start)
    match = ERLANG_DOC.match(source, at + 1, start) if at >= 0 else None
    if match is not None:
        return Doc(_dedent(match[2] or match[3] or b""), above=at + 1)
    doc = comment_above(source, start, ERLANG_COMMENTS)
    return doc._replace(text=ERLANG_TAGS.sub("", doc.text).strip())


ERLANG_TAGS = re.compile(r"^@doc\s+|^@end\b.*\n?|^-{4,}\n?", re.MULTILINE)


def _erlang_arity(node: Node) -> str:
    clause = node.child_by_field_name("clause")
    arguments = clause.child_by_field_name("args") if clause is not None else None
    return str(arguments.named_child_count) if arguments is not None else ""


# Gleam ------------------------------------------------------------------------------------------------------------

GLEAM_NAMES = {"type_definition": ("type_name", "name"), "type_alias": ("type_name", "name")}

GRAMMARS = (
    Grammar(name="gleam", names=GLEAM_NAMES, comments=Comments(attribute=re.compile(rb"@\w"))),
    Grammar(
        name="ocaml",
        name_of=_ocaml_name,
        functions_of=_ocaml_functions,
        constants_of=_ocaml_constants,
        body_of=_ocaml_body,
        doc_of=_ocaml_doc,
        comments=OCAML_COMMENTS,
    ),
    Grammar(
        name="ocaml",
        pack="ocaml_interface",
        name_of=_ocaml_name,
        doc_of=_ocaml_doc,
        comments=OCAML_COMMENTS,
    ),
    Grammar(
        name="fsharp",
        name_of=_fsharp_name,
        functions_of=_fsharp_functions,
        constants_of=_fsharp_constants,
        end_of=_fsharp_end,
        comments=Comments(attribute=re.compile(rb"\[<")),
        cut=re.compile(rb"\n(?=(?:let|type|module|and|open|///|\[<|#)\b|\[<|///)"),
    ),
    Grammar(
        name="erlang",
        names=ERLANG_NAMES,
        doc_of=_erlang_doc,
        comments=ERLANG_COMMENTS,
        merges=True,
        clause_of=_erlang_arity,
    ),
    Grammar(
        name="elixir",
        name_of=_elixir_name,
        constants_of=_elixir_constants,
        scope_of=implementation,
        doc_of=_elixir_doc,
        body_of=body_at("do_block"),
        imports_of=_elixir_imports,
        target_of=_elixir_target,
        comments=HASHES,
        merges=True,
        clause_of=_elixir_arity,
    ),
    Grammar(
        name="haskell",
        name_of=_haskell_name,
        scope_of=implementation,
        body_of=_haskell_body,
        imports_of=_haskell_imports,
        comments=Comments((b"--",), (b"{-", b"-}"), re.compile(rb"\{-#")),
        merges=True,
    ),
)
