"""Languages of the JVM, of .NET and of Dart: C#, Kotlin, Scala, Dart."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from tree_sitter import Node

from treeline.graph.references import Import
from treeline.ingest.parsers.comments import Comments, Doc, comment_above
from treeline.ingest.parsers.grammar import (
    Grammar,
    blank_second,
    body_at,
    child_of,
    descend,
    field_body,
    field_name,
    nth,
    text_of,
)
from treeline.ingest.parsers.languages.c_family import one_branch
from treeline.ingest.parsers.names import call_name
from treeline.ingest.parsers.types import element_of, type_of, value_of

ATTRIBUTES = Comments(attribute=re.compile(rb"[@\[]"))

# C# ---------------------------------------------------------------------------------------------------------------

XML_TAG = re.compile(r"<(?:see|paramref|typeparamref|seealso)\s+\w+=\"([^\"]*)\"\s*/?>|</?[A-Za-z][^<>]*>")


def _csharp_name(node: Node) -> str:
    if node.type == "field_declaration":
        declaration = child_of(node, "variable_declaration")
        declarator = child_of(declaration, "variable_declarator") if declaration is not None else None
        return field_name(declarator) if declarator is not None else ""
    if node.type == "operator_declaration":
        return f"operator {text_of(node.child_by_field_name('operator'))}"
    if node.type == "conversion_operator_declaration":
        return f"operator {text_of(node.child_by_field_name('type'))}"
    if node.type == "indexer_declaration":
        return "this"
    name = field_name(node)
    if name == EXTENSION:
        return ""
    return ("~" if node.type == "destructor_declaration" else "") + name


# `extension(string s) { … }` (C# 14) as a class, because the grammar cannot read it yet. Its members belong to what is
# around it.
EXTENSION = "_"
EXTENSION_BLOCK = re.compile(
    rb"^([ \t]*)(extension\s{0,9}(?:<[^<>(){};]{0,200}>)?\s{0,9}\([^(){};]{1,300}\))(?=\s{0,200}[{w])", re.MULTILINE
)


def _csharp_repair(source: bytes) -> bytes:
    if b"extension" not in source:
        return source
    head = f"class {EXTENSION}".encode()
    return EXTENSION_BLOCK.sub(lambda match: match[1] + head + re.sub(rb"[^\n]", b" ", match[2][len(head) :]), source)


def _csharp_mend(source: bytes) -> bytes:
    """The text with one branch of every `#if`: the grammar cannot read one inside an expression."""
    return one_branch(source, every=True) if b"#if" in source else source


def _csharp_doc(node: Node, source: bytes) -> Doc:
    """The comment above without its XML tags: `<see cref="Foo"/>` becomes `Foo`."""
    doc = comment_above(source, node.start_byte, ATTRIBUTES)
    if "<" not in doc.text:
        return doc
    text = XML_TAG.sub(lambda match: match[1] or "", doc.text)
    return Doc("\n".join(line.strip() for line in text.splitlines() if line.strip()), above=doc.above)


def _csharp_bindings(node: Node) -> Iterator[tuple[str, str]]:
    """Variables, parameters, fields and properties; `var` is what the value is."""
    kind = node.child_by_field_name("type")
    is_var = kind is not None and kind.type == "implicit_type"
    type_name = "" if is_var else type_of(kind)
    if node.type == "foreach_statement":
        target = node.child_by_field_name("left")
        yield text_of(target), element_of(node.child_by_field_name("right")) if is_var else type_name
    elif node.type == "variable_declaration":
        for declarator in node.named_children:
            if declarator.type == "variable_declarator":
                value = nth(declarator, 1) if declarator.named_child_count > 1 else None
                yield field_name(declarator), _csharp_value(value) if is_var else type_name
    elif name := field_name(node):
        yield name, type_name


def _csharp_value(node: Node | None) -> str:
    """The type of a value: an object of the type that is made, or an expression."""
    if node is not None and node.type == "object_creation_expression":
        return type_of(node.child_by_field_name("type"))
    return value_of(node)


def _csharp_returns(node: Node) -> str:
    return type_of(node.child_by_field_name("returns") or node.child_by_field_name("type"))


def _csharp_imports(directive: Node) -> list[Import]:
    names = [text_of(child) for child in directive.named_children if child.type in ("identifier", "qualified_name")]
    alias = text_of(directive.child_by_field_name("name"))
    return [Import(names[-1], "" if alias else "*", alias)] if names else []


# Kotlin -----------------------------------------------------------------------------------------------------------

KOTLIN_NAMES = {
    "function_declaration": ("simple_identifier",),
    "class_declaration": ("type_identifier",),
    "object_declaration": ("type_identifier",),
    "type_alias": ("type_identifier",),
    "property_declaration": ("variable_declaration", "simple_identifier"),
}


def _kotlin_name(node: Node) -> str:
    if node.type == "secondary_constructor":
        return "constructor"
    return text_of(descend(node, KOTLIN_NAMES.get(node.type, ()))).strip("`")


def _kotlin_owner(node: Node) -> str:
    """The type that an extension function extends: `fun String.title()` is `String.title`."""
    is_extension = node.type in ("function_declaration", "property_declaration")
    receiver = text_of(node.child_by_field_name("receiver")) if is_extension else ""
    if "->" in receiver:
        return ""
    return re.sub(r"<.*>", "", receiver, flags=re.DOTALL).strip("()? ").removesuffix(".Companion").rpartition(".")[2]


KOTLIN_TYPES = frozenset({"user_type", "nullable_type"})


def _kotlin_bindings(node: Node) -> Iterator[tuple[str, str]]:
    """Variables, parameters and properties; `it` is not known."""
    if node.type == "lambda_literal":
        yield "it", ""
        return
    holder = child_of(node, "variable_declaration") or node
    name = text_of(child_of(holder, "simple_identifier"))
    kind = next((child for child in holder.named_children if child.type in KOTLIN_TYPES), None)
    children = node.named_children
    if node.type == "for_statement":
        yield name, element_of(children[1]) if len(children) > 1 else ""
        return
    value = ""
    if kind is None and node.type == "property_declaration" and children[-1].type not in ("getter", "setter"):
        value = "" if children[-1] == holder else value_of(children[-1])
    expression = type_of(kind) if kind is not None else value
    if node.type != "class_parameter" or child_of(node, "binding_pattern_kind") is not None:
        yield name, expression


def _kotlin_returns(node: Node) -> str:
    """The declared type, or what an expression body is."""
    children = node.named_children
    after = next((at for at, child in enumerate(children) if child.type == "function_value_parameters"), len(children))
    for child in children[after + 1 :]:
        if child.type in KOTLIN_TYPES:
            return type_of(child)
        if child.type == "function_body" and child.text is not None and child.text.startswith(b"="):
            return value_of(nth(child, 0))
    return ""


def _kotlin_imports(header: Node) -> list[Import]:
    path = text_of(child_of(header, "identifier"))
    module, _, name = path.rpartition(".")
    if any(child.type == "wildcard_import" for child in header.named_children):
        return [Import(path, "*", "")]
    alias = child_of(header, "import_alias")
    return [Import(module, name, text_of(alias).removeprefix("as ").strip() or name)]


# Guards of `when` (Kotlin 2.2), which the grammar cannot read yet.
GUARD = re.compile(rb"(\bis\s+[\w.<>*?]+\s+)(if\b[^{}\n]*?)(?=->)")


# Scala ------------------------------------------------------------------------------------------------------------


STRING = re.compile(r'"([^"]*)"')


def _scala_name(node: Node) -> str:
    if node.type == "call_expression":  # `test("adds") { … }`
        call = node.child_by_field_name("function")
        callee = text_of(call.child_by_field_name("function") if call is not None else None)
        return call_name(callee, text_of(call.child_by_field_name("arguments") if call is not None else None))
    if node.type == "infix_expression":  # `"A store" should "add" in { … }`
        said = STRING.findall(text_of(node.child_by_field_name("left"))[:400])
        return call_name("test", " ".join(said))
    if node.type in ("val_definition", "var_definition"):
        pattern = node.child_by_field_name("pattern")
        return text_of(pattern) if pattern is not None and pattern.type == "identifier" else ""
    if node.type == "extension_definition":
        # `extension (s: String) def shout` is `String.shout`.
        receiver = re.search(r":\s*(\w+)", text_of(node.child_by_field_name("parameters")))
        return receiver[1] if receiver else ""
    if node.type == "given_definition" and not field_name(node):
        return text_of(node.child_by_field_name("return_type"))
    return field_name(node)


def _scala_imports(statement: Node) -> list[Import]:
    text = text_of(statement).removeprefix("import").strip()
    head, brace, inner = text.partition("{")
    if brace:
        module = head.strip(" .")
        names = (part.strip() for part in inner.rstrip("} \n").split(","))
        return [
            Import(module, name.strip(), (alias or name).strip())
            for name, _, alias in (re.sub(r"=>| as ", ",", one).partition(",") for one in names if one)
        ]
    module, _, name = text.rpartition(".")
    return [Import(module, "*", "") if name in ("_", "*") else Import(module, name, name)]


# Dart -------------------------------------------------------------------------------------------------------------

DART_NAMES = {
    "mixin_declaration": ("identifier",),
    "static_final_declaration": ("identifier",),
    "initialized_identifier": ("identifier",),
}


def _dart_name(node: Node) -> str:
    if node.type in ("method_signature", "declaration"):
        inner = next((child for child in node.named_children if child.type.endswith("_signature")), None)
        if inner is None:
            return ""
        if inner.type == "operator_signature":
            return "operator " + re.sub(r".*?\boperator\b\s*|\s*\(.*", "", text_of(inner), flags=re.DOTALL)
        if "constructor" in inner.type:
            # `Point.origin` is the constructor `origin` of `Point`, which stands around it.
            return [text_of(child) for child in inner.named_children if child.type == "identifier"][-1]
        return field_name(inner) or text_of(child_of(inner, "identifier"))
    if node.type == "type_alias":
        # `typedef int Old(int a);` has the type in front of the name.
        names = [child for child in node.named_children if child.type == "type_identifier"]
        return text_of(names[-1] if child_of(node, "formal_parameter_list") is not None else names[0]) if names else ""
    if node.type == "extension_declaration" and not field_name(node):
        return text_of(node.child_by_field_name("class"))
    if node.type == "class_definition" and (alias := child_of(node, "mixin_application_class")) is not None:
        return text_of(child_of(alias, "identifier"))
    return text_of(descend(node, DART_NAMES.get(node.type, ("name",))))


def _dart_end(node: Node) -> Node:
    """The body is the next sibling of the signature."""
    body = node.next_named_sibling
    return body if body is not None and body.type == "function_body" else node


def _dart_body(node: Node) -> int:
    return field_body(node) or (node.end_byte if node.type.endswith("signature") else 0)


def _dart_imports(statement: Node) -> list[Import]:
    """An import or export has all names of a library, unless it says `show` or `as`. The parts of a library share its
    names."""
    text = text_of(statement)
    path = re.search(r"['\"]([^'\"]+)['\"]", text)
    if path is None:
        return []
    if alias := re.search(r"\bas\s+(\w+)", text[path.end() :]):
        return [Import(path[1], "", alias[1])]
    if names := re.search(r"\bshow\s+([\w\s,$]+)", text[path.end() :]):
        return [Import(path[1], name, name) for name in re.findall(r"[\w$]+", names[1]) if name != "hide"]
    return [Import(path[1], "*", "")]


GRAMMARS = (
    Grammar(
        name="dart",
        name_of=_dart_name,
        end_of=_dart_end,
        body_of=_dart_body,
        imports_of=_dart_imports,
        comments=ATTRIBUTES,
    ),
    Grammar(
        name="csharp",
        name_of=_csharp_name,
        doc_of=_csharp_doc,
        body_of=body_at("body", "accessors", "value"),
        imports_of=_csharp_imports,
        bindings_of=_csharp_bindings,
        returns_of=_csharp_returns,
        repair=_csharp_repair,
        mend=_csharp_mend,
        comments=ATTRIBUTES,
    ),
    Grammar(
        name="kotlin",
        name_of=_kotlin_name,
        owner_of=_kotlin_owner,
        body_of=body_at("function_body", "class_body", "enum_class_body", "getter"),
        imports_of=_kotlin_imports,
        bindings_of=_kotlin_bindings,
        returns_of=_kotlin_returns,
        mend=partial(GUARD.sub, blank_second),
        comments=ATTRIBUTES,
    ),
    Grammar(
        name="scala",
        name_of=_scala_name,
        imports_of=_scala_imports,
        comments=ATTRIBUTES,
    ),
)
