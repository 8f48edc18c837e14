"""C, C++ and Objective-C: definitions among macros, under pointers and behind qualified names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise

from tree_sitter import Node

from treeline.graph.references import Import
from treeline.ingest.parsers.comments import Comments
from treeline.ingest.parsers.grammar import (
    FOR,
    Grammar,
    blank_second,
    body_at,
    child_of,
    field_name,
    implementation,
    nth,
    text_of,
)
from treeline.ingest.parsers.types import element_of, type_of, value_of

GENERICS = re.compile(r"<.*>", re.DOTALL)

# C and C++ --------------------------------------------------------------------------------------------------------

# Macros that stand where the grammar expects a declaration: alone on a line, or before a type.
MACRO = re.compile(
    rb"^[ \t]*((?:[A-Z][A-Z0-9]{0,40}_[A-Z0-9_]{1,60}|U(?:CLASS|STRUCT|ENUM|INTERFACE|FUNCTION|PROPERTY))"
    rb"(?:\([^()\n]*\))?)(?=[ \t]*$|[ \t]+[a-z])",
    re.MULTILINE,
)
# Calling conventions and linkage between a type and a name: `static DWORD WINAPI run(void* data)`.
CONVENTION = re.compile(
    rb"\b(?:_{0,2}[A-Z][A-Z0-9_]{0,40}(?:API|CALL|CALLBACK|INLINE|EXPORT|IMPORT|EXTERN|CONV|CONSTEXPR|NOEXCEPT|NODISCARD)"
    rb"[A-Z0-9_]{0,40}|WINAPI|CALLBACK|INLINE|__ptr32|__declspec\(\w+\)|__attribute__\(\([^()\n]*(?:\([^()]*\))?\)\)"
    rb"|__init|__exit|__user|__must_check|__always_inline|__weak|__cold|__hot)"
    rb"(?=[ \t\n])"
)
# Between `class` and the name: `class LIB_EXPORT Store {`.
CLASS_MACRO = re.compile(
    rb"(\b(?:class|struct|union|enum)[ \t]{1,9})([A-Z][A-Z0-9_]{1,60}(?:\([^()\n]{0,200}\))?)"
    rb"(?=[ \t]+[A-Za-z_]\w{0,100}\s{0,9}[:{<])"
)
# Behind the parameters: `void Close() LOCKS_EXCLUDED(mutex_) {`; behind a field: `int size GUARDED_BY(mutex_);`.
TRAILING_MACRO = re.compile(
    rb"(?<=\))(\s{1,40}(?:const\s{1,9}|noexcept\s{1,9}|override\s{1,9})*)([A-Z][A-Z0-9]{1,30}_[A-Z0-9_]{1,40}(?:\([^()\n]{0,200}\))?)"
    rb"(?=\s{0,40}(?:[{;:]|const\b|override\b|noexcept\b|=\s{0,3}0))"
)
FIELD_MACRO = re.compile(
    rb"(?<=\w)\s{1,20}(?:[A-Z]{1,20}_)*(?:GUARDED_BY|GUARDED_VAR|ATTRIBUTE_\w{1,40})(?:\([^()\n]{0,200}\))?(?=\s{0,9}[;={])"
)
# Qt's sections of a class.
QT_SECTION = re.compile(
    rb"^([ \t]*(?:(?:public|private|protected)[ \t]+)?)((?:Q_)?(?:slots|signals|SLOTS|SIGNALS))(?=[ \t]*:)",
    re.MULTILINE,
)
# A macro that makes a function of a block: `TEST(Store, Opens) {`, `SYSCALL_DEFINE2(open, …)`, `TEST_CASE("opens") {`.
MACRO_CALL = re.compile(
    rb"^(?P<macro>(?:static[ \t]+)?[A-Z][A-Z0-9_]{2,60}[ \t]?)\("
    rb"(?P<arguments>(?:[^;{}()\"#]{1,400}+|\"(?:[^\"\\\n]|\\.){0,200}+\"|\([^;{}()\"#]{0,100}+\)){1,40}+)\)(?=\s{0,200}+\{)",
    re.MULTILINE,
)
ARGUMENT = re.compile(rb'\s*(?:"((?:[^"\\]|\\.)*)"|(\w+))\s*(?:,|\Z)')
NOT_WORD = re.compile(rb"\W+")
MADE_TYPE = b"_m"  # the type of a function that a macro made
# What may stand above a definition: other lines may belong to it.
LINE_ABOVE = re.compile(
    rb"(?:^|\n)[ \t]*(?:(?://|#|\*)[^\n]*|[^\n]*(?:[;{}>]|\*/|[A-Z]_END)[ \t\r]*(?://[^\n]*)?)?\n\Z"
)
DECLTYPE = re.compile(rb"\bdecltype\((\w+)\)")
NAMED_TYPES = frozenset(
    """identifier field_identifier type_identifier destructor_name operator_name qualified_identifier operator_cast
    template_function""".split()
)
C_COMMENTS = Comments(attribute=re.compile(rb"template\s*<[^{};]*$|\[\[|__attribute__|[A-Z][A-Z0-9_]+(?:\([^()]*\))?$"))


NOT_NEWLINE = re.compile(rb"[^\n]")


def _blank(match: re.Match[bytes]) -> bytes:
    """Spaces of the same length; lines stay lines."""
    return NOT_NEWLINE.sub(b" ", match[0])


def _blank_macros(source: bytes) -> bytes:
    source = MACRO.sub(_blank, one_branch(source))
    source = CONVENTION.sub(_blank, source)
    source = TRAILING_MACRO.sub(blank_second, CLASS_MACRO.sub(blank_second, source))
    source = QT_SECTION.sub(_qt_section, FIELD_MACRO.sub(_blank, source))
    return DECLTYPE.sub(lambda match: b"decltype_" + match[1] + b"_", source)


def _qt_section(match: re.Match[bytes]) -> bytes:
    """`public slots:` is `public:`, and `signals:` a label of the same length."""
    return blank_second(match) if match[1].strip() else match[1] + b"public".ljust(len(match[2]))


CONDITION = re.compile(rb"^[ \t]*#[ \t]*(if|el|endif)\w*\b(?:[^\n\\]|\\\r?\n|\\.)*", re.MULTILINE)
QUOTED_TEXT = re.compile(rb"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL)
OPENING, CLOSING = b"{(", b"})"


def one_branch(source: bytes, *, inside: bool = False, every: bool = False) -> bytes:
    """The text with only the first branch of every `#if` whose branches open or close brackets: both would not nest.

    With `inside`, also of those within a definition; with `every`, of all.
    """
    quiet = bytearray(QUOTED_TEXT.sub(_blank, source))
    result = bytearray(source)
    groups: list[list[tuple[int, int]]] = []
    for match in CONDITION.finditer(bytes(quiet)):
        if match[1] == b"if":
            groups.append([])
        elif not groups:
            continue
        groups[-1].append(match.span())
        if match[1] != b"endif":
            continue
        lines = groups.pop()
        branches = [(start, end) for (_, start), (end, _) in pairwise(lines)]
        nests = not every and all(_is_balanced(quiet[start:end]) for start, end in branches)
        if nests and not (inside and _is_inside(quiet, lines[0][0])):
            continue
        for start, end in (*lines, *branches[1:]):
            for text in (quiet, result):
                text[start:end] = NOT_NEWLINE.sub(b" ", bytes(text[start:end]))
    return bytes(result)


def _is_inside(text: bytearray, at: int) -> bool:
    """Whether the code before this byte is not at an end."""
    before = text[max(0, at - 400) : at].rstrip()
    last = before[before.rfind(b"\n") + 1 :]
    return (
        bool(before) and not last.startswith((b"}", b"#")) and (last[:1].isspace() or not last.endswith((b";", b"}")))
    )


def _is_balanced(text: bytearray) -> bool:
    depth = 0
    for match in re.finditer(rb"[{}()]", text):
        depth += 1 if match[0] in OPENING else -1
        if depth < 0:
            return False
    return depth == 0


def _mend_macros(source: bytes, *, qualifies: bool) -> bytes:
    """The text with macros that make functions as functions, named by the macro's arguments."""

    def function(match: re.Match[bytes]) -> bytes:
        if not LINE_ABOVE.search(source[max(0, match.start() - 300) : match.start()]) and match.start():
            return match[0]
        names = []
        at = match.start("arguments")
        while (argument := ARGUMENT.match(source, at, match.end("arguments"))) and argument.end() > at:
            names.append((argument[2] or NOT_WORD.sub(b"_", argument[1]).strip(b"_"), argument[1] is not None))
            at = argument.end()
        if not names or not names[0][0] or names[0][0][:1].isdigit():
            return match[0]
        parts = [name for name, is_quoted in names if not is_quoted]
        is_pair = len(parts) == 2 and at >= match.end("arguments") and not names[0][1]
        name = (b"::" if qualifies else b"_").join(parts) if is_pair else names[0][0]
        # The same length and the same lines.
        room = len(match["macro"]) + len(match["arguments"]) - len(MADE_TYPE) - len(name) - 1
        if room < 0:
            return match[0]
        lines = match[0].count(b"\n")
        return (
            MADE_TYPE + b" " + name + b"(" + b" " * (room - lines) + b"\n" * lines + b")" if room >= lines else match[0]
        )

    return MACRO_CALL.sub(function, source) if b"(" in source else source


def _declarator_name(node: Node | None) -> Node | None:
    """The name inside a declarator, under pointers, parameters and initial values."""
    while node is not None and node.type not in NAMED_TYPES:
        inner = node.child_by_field_name("declarator")
        if inner is None:
            inner = next((child for child in node.named_children if child.type.endswith("declarator")), None)
            if inner is None:
                inner = next((child for child in node.named_children if child.type in NAMED_TYPES), None)
        node = inner
    return node


def _c_name(node: Node) -> str:
    if node.type in ("function_definition", "declaration", "type_definition"):
        name = _declarator_name(node.child_by_field_name("declarator"))
    elif node.type == "type_identifier" or node.type.endswith("declarator"):
        name = _declarator_name(node)  # the second name of a typedef
    else:
        name = node.child_by_field_name("name")
    if name is None:
        return ""
    if name.type == "operator_cast":
        return f"operator {text_of(name.child_by_field_name('type'))}"
    text = text_of(name)
    if name.type == "qualified_identifier":
        return ".".join(part.strip() for part in GENERICS.sub("", text).split("::") if part.strip())
    return GENERICS.sub("", text) if "operator" not in text else " ".join(text.split())


def _c_functions(node: Node) -> Iterator[tuple[Node, str]]:
    name = _c_name(node)
    # `return x;` or `if (…) {…}` after a macro that the grammar misread.
    if name and name not in ("if", "for", "while", "switch", "return", "defined", "sizeof"):
        yield node, name


def _c_constants(node: Node) -> Iterator[tuple[Node, str]]:
    if node.type != "declaration":
        yield node, field_name(node)
        return
    for declarator in node.children_by_field_name("declarator"):
        if declarator.type in ("init_declarator", "array_declarator"):
            name = _declarator_name(declarator)
            yield node, text_of(name) if name is not None and name.type == "identifier" else ""
            return


VARIABLES = frozenset({"identifier", "field_identifier"})


def _c_bindings(node: Node) -> Iterator[tuple[str, str]]:
    """Variables, parameters and fields; `auto` is what the value is."""
    kind = node.child_by_field_name("type")
    type_name = type_of(kind)
    is_auto = kind is not None and kind.type == "placeholder_type_specifier"
    if kind is not None and kind.type in ("struct_specifier", "union_specifier", "enum_specifier"):
        type_name = type_of(kind.child_by_field_name("name"))
    for declarator in node.children_by_field_name("declarator"):
        name = _declarator_name(declarator)
        if name is None or name.type not in VARIABLES or _is_function(declarator):
            continue
        value = node.child_by_field_name("right") if node.type == "for_range_loop" else None
        if value is not None:
            yield text_of(name), element_of(value) if is_auto else type_name
        elif is_auto:
            yield text_of(name), value_of(declarator.child_by_field_name("value"))
        else:
            yield text_of(name), type_name


def _is_function(declarator: Node) -> bool:
    """Whether a declarator declares a function, and not a pointer to one or a variable."""
    inner: Node | None = declarator
    while inner is not None and inner.type in ("pointer_declarator", "reference_declarator"):
        inner = inner.child_by_field_name("declarator") or nth(inner, 0)
    return inner is not None and inner.type == "function_declarator" and child_of(inner, "identifier") is not None


def _c_returns(node: Node) -> str:
    return "" if _is_made(node) else type_of(node.child_by_field_name("type"))


def _is_made(node: Node) -> bool:
    kind = node.child_by_field_name("type")
    return kind is not None and kind.text == MADE_TYPE


def _is_static(node: Node) -> bool:
    """`static` functions and macros are seen by their file alone, unless it is a header."""
    specifiers = (text_of(child) for child in node.named_children if child.type == "storage_class_specifier")
    # `TEST_IMPL(open) { … }`: a macro makes another name of it.
    if node.type == "preproc_function_def" or "static" in specifiers or _is_made(node):
        return True
    inner = node.child_by_field_name("declarator")
    while inner is not None and inner.type != "function_declarator":
        inner = inner.child_by_field_name("declarator")
    return inner is None


def _includes(statement: Node) -> list[Import]:
    path = text_of(statement.child_by_field_name("path"))
    return [Import(("./" if path.startswith('"') else "") + path.strip('<>"'), "", "")]


# Objective-C --------------------------------------------------------------------------------------


NS_ENUM = re.compile(rb"\bNS_(?:ENUM|OPTIONS|CLOSED_ENUM|ERROR_ENUM)\(\s*\w+\s*,\s*(\w+)\s*\)")


# `API_DEPRECATED("Use open", ios(8.0, 9.0))` behind a method loses the whole protocol.
AVAILABILITY = re.compile(
    rb"\b(?:API|NS|CF|UI)_\w*(?:DEPRECATED|AVAILABLE|SWIFT_)\w*(?:\((?:[^()\n]|\([^()\n]*\)){0,2000}\))?"
)


def _objc_repair(source: bytes) -> bytes:
    """`NS_ENUM(NSInteger, State)` is `enum State`, and availability is left out."""
    source = AVAILABILITY.sub(_blank, source)
    return NS_ENUM.sub(lambda match: b"enum " + match[1] + _blank(match)[len(match[1]) + 5 :], source)


def _objc_name(node: Node) -> str:
    if node.type in ("method_definition", "method_declaration"):
        parts = [text_of(child) for child in node.named_children if child.type == "identifier"]
        takes = any(child.type == "method_parameter" for child in node.named_children)
        return ":".join(parts) + (":" if takes else "")
    if node.type in ("class_interface", "class_implementation", "protocol_declaration"):
        name, category = text_of(child_of(node, "identifier")), text_of(node.child_by_field_name("category"))
        return f"{category}{FOR}{name}" if category else name
    return _c_name(node)


def _objc_functions(node: Node) -> Iterator[tuple[Node, str]]:
    if node.type == "method_definition":
        yield node, _objc_name(node)
    else:
        yield from _c_functions(node)


# A namespace's opening line is a piece of its own, so that what stands in it parses without it.
CPP_CUT = re.compile(
    rb"^(?:\}[^\n]*|(?:inline[ \t]+)?namespace\b[^\n;{}]*\{[ \t\r]*|extern \"C\"[ \t]*\{[ \t\r]*"
    rb"|[^\n]*(?<!\\)(?=\nnamespace\b))\n",
    re.MULTILINE,
)
C_GRAMMAR = Grammar(
    name="c",
    nests=False,
    name_of=_c_name,
    functions_of=_c_functions,
    constants_of=_c_constants,
    comments=C_COMMENTS,
    repair=partial(_mend_macros, qualifies=False),
    mend=_blank_macros,
    simplify=partial(one_branch, inside=True),
    imports_of=_includes,
    bindings_of=_c_bindings,
    returns_of=_c_returns,
    is_private=_is_static,
)
GRAMMARS = (
    C_GRAMMAR,
    replace(C_GRAMMAR, name="cpp", nests=True, repair=partial(_mend_macros, qualifies=True), cut=CPP_CUT),
    replace(
        C_GRAMMAR,
        name="objc",
        nests=True,
        name_of=_objc_name,
        functions_of=_objc_functions,
        body_of=body_at("body", "compound_statement"),
        repair=_objc_repair,
        scope_of=implementation,
    ),
)
