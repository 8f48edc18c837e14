"""C, C++ and Objective-C: definitions among macros, under pointers and behind qualified names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from tree_sitter import Node

from treeline.graph.references import Import
from treeline.ingest.parsers.comments import Comments
from treeline.ingest.parsers.grammar import FOR, Grammar, child_of, field_body, field_name, implemented, nth, text_of
from treeline.ingest.parsers.types import element_of, type_of, value_of

GENERICS = re.compile(r"<.*>", re.DOTALL)

# C and C++ --------------------------------------------------------------------------------------------------------

C = """
(function_definition declarator: (_)) @function
(preproc_function_def) @function
(struct_specifier name: (_) body: (_)) @class
(union_specifier name: (_) body: (_)) @class
(enum_specifier name: (_) body: (_)) @enum
(type_definition type: (struct_specifier !name body: (_))) @class
(type_definition type: (union_specifier !name body: (_))) @class
(type_definition type: (enum_specifier !name body: (_))) @enum
(type_definition) @type
(type_definition declarator: (_) "," declarator: (_) @type)
(preproc_def value: (_)) @constant
(declaration declarator: [(init_declarator) (array_declarator)]) @constant
(call_expression function: [(identifier) (field_expression)] @call)
(parameter_declaration type: (type_identifier) @uses)
[(parameter_declaration) (declaration) (field_declaration)] @bind
(preproc_include) @import
"""
CPP = (
    C
    + """
(class_specifier name: (_) body: (_)) @class
(alias_declaration) @type
(concept_definition) @type
(call_expression function: (qualified_identifier) @call)
(call_expression function: (template_function name: (_) @call))
(base_class_clause [(type_identifier) (qualified_identifier)] @extends)
(base_class_clause (template_type name: (type_identifier) @extends))
(new_expression type: (type_identifier) @call)
[(optional_parameter_declaration) (for_range_loop)] @bind
"""
)
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
MADE = re.compile(
    rb"^(?P<macro>(?:static[ \t]+)?[A-Z][A-Z0-9_]{2,60}[ \t]?)\("
    rb"(?P<arguments>(?:[^;{}()\"#]{1,400}+|\"(?:[^\"\\\n]|\\.){0,200}+\"|\([^;{}()\"#]{0,100}+\)){1,40}+)\)(?=\s{0,200}+\{)",
    re.MULTILINE,
)
ARGUMENT = re.compile(rb'\s*(?:"((?:[^"\\]|\\.)*)"|(\w+))\s*(?:,|\Z)')
NOT_WORD = re.compile(rb"\W+")
MADE_TYPE = b"_m"  # the type of a function that a macro made
# What may stand above a definition: other lines may belong to it.
ABOVE = re.compile(rb"(?:^|\n)[ \t]*(?:(?://|#|\*)[^\n]*|[^\n]*(?:[;{}>]|\*/|[A-Z]_END)[ \t\r]*(?://[^\n]*)?)?\n\Z")
DECLTYPE = re.compile(rb"\bdecltype\((\w+)\)")
NAMED = frozenset(
    """identifier field_identifier type_identifier destructor_name operator_name qualified_identifier operator_cast
    template_function""".split()
)
C_COMMENTS = Comments(attribute=re.compile(rb"template\s*<[^{};]*$|\[\[|__attribute__|[A-Z][A-Z0-9_]+(?:\([^()]*\))?$"))
C_FUNCTIONS = ("function_definition", "preproc_function_def")


NOT_NEWLINE = re.compile(rb"[^\n]")


def _blank(found: re.Match[bytes]) -> bytes:
    """Spaces of the same length; lines stay lines."""
    return NOT_NEWLINE.sub(b" ", found[0])


def _blank_macros(source: bytes) -> bytes:
    source = MACRO.sub(_blank, one_branch(source))
    source = CONVENTION.sub(_blank, source)
    source = CLASS_MACRO.sub(lambda found: found[1] + b" " * len(found[2]), source)
    source = TRAILING_MACRO.sub(lambda found: found[1] + b" " * len(found[2]), source)
    source = QT_SECTION.sub(_qt_section, FIELD_MACRO.sub(_blank, source))
    return DECLTYPE.sub(lambda found: b"decltype_" + found[1] + b"_", source)


def _qt_section(found: re.Match[bytes]) -> bytes:
    """`public slots:` is `public:`, and `signals:` a label of the same length."""
    return found[1] + b" " * len(found[2]) if found[1].strip() else found[1] + b"public".ljust(len(found[2]))


CONDITION = re.compile(rb"^[ \t]*#[ \t]*(if|el|endif)\w*\b(?:[^\n\\]|\\\r?\n|\\.)*", re.MULTILINE)
QUOTED = re.compile(rb"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL)
OPENING, CLOSING = b"{(", b"})"


def one_branch(source: bytes, *, inside: bool = False, every: bool = False) -> bytes:
    """The text with only the first branch of every `#if` whose branches open or close brackets: both would not nest.

    With `inside`, also of those within a definition; with `every`, of all.
    """
    quiet = bytearray(QUOTED.sub(_blank, source))
    kept = bytearray(source)
    groups: list[list[tuple[int, int]]] = []
    for found in CONDITION.finditer(bytes(quiet)):
        if found[1] == b"if":
            groups.append([])
        elif not groups:
            continue
        groups[-1].append(found.span())
        if found[1] != b"endif":
            continue
        lines = groups.pop()
        branches = [(start, end) for (_, start), (end, _) in pairwise(lines)]
        nests = not every and all(_is_balanced(quiet[start:end]) for start, end in branches)
        if nests and not (inside and _is_inside(quiet, lines[0][0])):
            continue
        for start, end in (*lines, *branches[1:]):
            for text in (quiet, kept):
                text[start:end] = NOT_NEWLINE.sub(b" ", bytes(text[start:end]))
    return bytes(kept)


def _is_inside(text: bytearray, at: int) -> bool:
    """Whether the code before this byte is not at an end."""
    before = text[max(0, at - 400) : at].rstrip()
    last = before[before.rfind(b"\n") + 1 :]
    return (
        bool(before) and not last.startswith((b"}", b"#")) and (last[:1].isspace() or not last.endswith((b";", b"}")))
    )


def _outermost_branches(source: bytes) -> bytes:
    return one_branch(source, inside=True)


def _is_balanced(text: bytearray) -> bool:
    depth = 0
    for found in re.finditer(rb"[{}()]", text):
        depth += 1 if found[0] in OPENING else -1
        if depth < 0:
            return False
    return depth == 0


def _made(source: bytes, *, qualifies: bool) -> bytes:
    """The text with macros that make functions as functions, named by the macro's arguments."""

    def function(found: re.Match[bytes]) -> bytes:
        if not ABOVE.search(source[max(0, found.start() - 300) : found.start()]) and found.start():
            return found[0]
        names = []
        at = found.start("arguments")
        while (argument := ARGUMENT.match(source, at, found.end("arguments"))) and argument.end() > at:
            names.append((argument[2] or NOT_WORD.sub(b"_", argument[1]).strip(b"_"), argument[1] is not None))
            at = argument.end()
        if not names or not names[0][0] or names[0][0][:1].isdigit():
            return found[0]
        parts = [name for name, quoted in names if not quoted]
        is_pair = len(parts) == 2 and at >= found.end("arguments") and not names[0][1]
        name = (b"::" if qualifies else b"_").join(parts) if is_pair else names[0][0]
        # The same length and the same lines.
        room = len(found["macro"]) + len(found["arguments"]) - len(MADE_TYPE) - len(name) - 1
        if room < 0:
            return found[0]
        lines = found[0].count(b"\n")
        return (
            MADE_TYPE + b" " + name + b"(" + b" " * (room - lines) + b"\n" * lines + b")" if room >= lines else found[0]
        )

    return MADE.sub(function, source) if b"(" in source else source


def _c_repair(source: bytes) -> bytes:
    return _made(source, qualifies=False)


def _cpp_repair(source: bytes) -> bytes:
    return _made(source, qualifies=True)


def _declared(node: Node | None) -> Node | None:
    """The name inside a declarator, under pointers, parameters and initial values."""
    while node is not None and node.type not in NAMED:
        inner = node.child_by_field_name("declarator")
        if inner is None:
            inner = next((child for child in node.named_children if child.type.endswith("declarator")), None)
            if inner is None:
                inner = next((child for child in node.named_children if child.type in NAMED), None)
        node = inner
    return node


def _c_name(node: Node) -> str:
    if node.type in ("function_definition", "declaration", "type_definition"):
        found = _declared(node.child_by_field_name("declarator"))
    elif node.type == "type_identifier" or node.type.endswith("declarator"):
        found = _declared(node)  # the second name of a typedef
    else:
        found = node.child_by_field_name("name")
    if found is None:
        return ""
    if found.type == "operator_cast":
        return f"operator {text_of(found.child_by_field_name('type'))}"
    text = text_of(found)
    if found.type == "qualified_identifier":
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
            name = _declared(declarator)
            yield node, text_of(name) if name is not None and name.type == "identifier" else ""
            return


VARIABLES = frozenset({"identifier", "field_identifier"})


def _c_bindings(node: Node) -> Iterator[tuple[str, str]]:
    """Variables, parameters and fields; `auto` is what the value is."""
    kind = node.child_by_field_name("type")
    declared = type_of(kind)
    is_auto = kind is not None and kind.type == "placeholder_type_specifier"
    if kind is not None and kind.type in ("struct_specifier", "union_specifier", "enum_specifier"):
        declared = type_of(kind.child_by_field_name("name"))
    for declarator in node.children_by_field_name("declarator"):
        name = _declared(declarator)
        if name is None or name.type not in VARIABLES or _is_function(declarator):
            continue
        value = node.child_by_field_name("right") if node.type == "for_range_loop" else None
        if value is not None:
            yield text_of(name), element_of(value) if is_auto else declared
        elif is_auto:
            yield text_of(name), value_of(declarator.child_by_field_name("value"))
        else:
            yield text_of(name), declared


def _is_function(declarator: Node) -> bool:
    """Whether a declarator declares a function, and not a pointer to one or a variable."""
    found: Node | None = declarator
    while found is not None and found.type in ("pointer_declarator", "reference_declarator"):
        found = found.child_by_field_name("declarator") or nth(found, 0)
    return found is not None and found.type == "function_declarator" and child_of(found, "identifier") is not None


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
    found = node.child_by_field_name("declarator")
    while found is not None and found.type != "function_declarator":
        found = found.child_by_field_name("declarator")
    return found is None


def _included(statement: Node) -> list[Import]:
    path = text_of(statement.child_by_field_name("path"))
    return [Import(("./" if path.startswith('"') else "") + path.strip('<>"'), "", "")]


# Objective-C --------------------------------------------------------------------------------------

OBJECTIVE_C = (
    C
    + """
(method_definition) @function
(method_declaration) @signature
[(class_interface) (class_implementation)] @class
(protocol_declaration) @interface
(message_expression method: (identifier) @call)
"""
)


NS_ENUM = re.compile(rb"\bNS_(?:ENUM|OPTIONS|CLOSED_ENUM|ERROR_ENUM)\(\s*\w+\s*,\s*(\w+)\s*\)")


# `API_DEPRECATED("Use open", ios(8.0, 9.0))` behind a method loses the whole protocol.
AVAILABILITY = re.compile(
    rb"\b(?:API|NS|CF|UI)_\w*(?:DEPRECATED|AVAILABLE|SWIFT_)\w*(?:\((?:[^()\n]|\([^()\n]*\)){0,2000}\))?"
)


def _objc_repair(source: bytes) -> bytes:
    """`NS_ENUM(NSInteger, State)` is `enum State`, and availability is left out."""
    source = AVAILABILITY.sub(_blank, source)
    return NS_ENUM.sub(lambda found: b"enum " + found[1] + _blank(found)[len(found[1]) + 5 :], source)


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


def _objc_body(node: Node) -> int:
    body = child_of(node, "compound_statement") if node.type == "method_definition" else None
    return body.start_byte if body is not None else field_body(node)


# A namespace's opening line is a piece of its own, so that what stands in it parses without it.
CPP_CUT = re.compile(
    rb"^(?:\}[^\n]*|(?:inline[ \t]+)?namespace\b[^\n;{}]*\{[ \t\r]*|extern \"C\"[ \t]*\{[ \t\r]*"
    rb"|[^\n]*(?<!\\)(?=\nnamespace\b))\n",
    re.MULTILINE,
)
C_GRAMMAR = Grammar(
    name="c",
    query=C,
    nests=False,
    name_of=_c_name,
    functions_of=_c_functions,
    constants_of=_c_constants,
    comments=C_COMMENTS,
    repair=_c_repair,
    mend=_blank_macros,
    simplify=_outermost_branches,
    imports_of=_included,
    bindings_of=_c_bindings,
    returns_of=_c_returns,
    is_private=_is_static,
)
GRAMMARS = (
    C_GRAMMAR,
    replace(C_GRAMMAR, name="cpp", query=CPP, nests=True, repair=_cpp_repair, cut=CPP_CUT),
    Grammar(
        name="objc",
        query=OBJECTIVE_C,
        name_of=_objc_name,
        functions_of=_objc_functions,
        constants_of=_c_constants,
        body_of=_objc_body,
        repair=_objc_repair,
        scope_of=implemented,
        comments=C_COMMENTS,
        mend=_blank_macros,
        simplify=_outermost_branches,
        imports_of=_included,
        bindings_of=_c_bindings,
        returns_of=_c_returns,
        is_private=_is_static,
    ),
)
