"""JavaScript and TypeScript: functions by the name they have or are given, longer callbacks by what they go to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from tree_sitter import Node

from treeline.graph.references import Import
from treeline.ingest.parsers.comments import LICENCE, NO_DOC, Comments, Doc, comment_above, line_of
from treeline.ingest.parsers.grammar import FILE_NAME, MIN_PART, Grammar, blank_second, child_of, nth, text_of
from treeline.ingest.parsers.names import ARGUMENT, MAX_ARGUMENT, MAX_TARGET, UNKNOWN, dotted_name
from treeline.ingest.parsers.types import element_of, return_type, type_of, value_of

COMMENTS = Comments(attribute=re.compile(rb"@\w"))
# A line above a function that names it: `exports.f =`, `const f =`.
NAMES_ONLY = re.compile(rb"[^=\n]+=[ \t\r]*\n")
MOST_NAMES = 5
# In a function up to this long, inner functions belong to it; a longer one is a module's wrapper, with parts.
WRAPPER = 60
# Parts of an assigned name that say where, not what.
EXPORTS = frozenset({"module", "exports", "prototype", "this", "self", "window", "global", "default"})
FUNCTIONS = frozenset({"function_expression", "generator_function", "arrow_function"})
CALLS = frozenset({"call_expression", "new_expression"})
ACCESSORS = frozenset({"get", "set", "value"})
DEFINE_PROPERTY = re.compile(rb"(?:Object|Reflect)\.defineProperty$|__defineGetter__$|__defineSetter__$")
# Which field of a node holds the name that a function is given, and which the function.
SIDES = {
    "variable_declarator": ("name", "value"),
    "assignment_expression": ("left", "right"),
    "pair": ("key", "value"),
    "field_definition": ("property", "value"),
    "public_field_definition": ("name", "value"),
}


def functions_of(node: Node) -> Iterator[tuple[Node, str]]:
    """A function under its own name, or that of the variable, property or call that it is given to."""
    if node.type in CALLS:
        yield from _callbacks(node)
    elif node.type == "export_statement":
        value = node.child_by_field_name("value")
        if value is not None and value.child_by_field_name("name") is None:
            yield value, FILE_NAME
    elif node.type in SIDES:
        target, right = (node.child_by_field_name(field) for field in SIDES[node.type])
        if target is None or right is None:
            return
        if right.type in CALLS:
            # `const Type = make("Type", (instance) => { … })`: the constant names the callback.
            if any(_is_long(argument) for argument in _arguments(right)):
                yield node, _target(target)
        elif node.type != "pair" or target.text not in (b"get", b"set"):
            name, own = _target(target), text_of(right.child_by_field_name("name"))
            if own in ("", name.rpartition(".")[2]):  # `res.json = function json() {}` is `res.json`
                yield right, name
    elif node.type == "function_declaration" and node.child_by_field_name("name") is None:
        yield node, FILE_NAME
    else:
        yield node, _plain(text_of(node.child_by_field_name("name")))


def constants_of(declarator: Node) -> Iterator[tuple[Node, str]]:
    """Variables at the top level that hold neither a function nor a module."""
    value = declarator.child_by_field_name("value")
    if value is not None and (value.type in FUNCTIONS or _requires(value)):
        return
    if declarator.type == "assignment_expression":
        target, right = (declarator.child_by_field_name(name) for name in ("left", "right"))
        if target is not None and right is not None and right.type not in FUNCTIONS and not _requires(right):
            name = _target(target)
            yield declarator, "" if name == FILE_NAME else name
        return
    name_node = declarator.child_by_field_name("name")
    if name_node is not None and name_node.type == "identifier":
        yield declarator, text_of(name_node)


def _requires(value: Node) -> bool:
    return value.type == "call_expression" and (value.text or b"")[:8] == b"require("


def _plain(text: str) -> str:
    return text.strip("'\"`#[] ")[:MAX_TARGET]


def _target(node: Node) -> str:
    if node.end_byte - node.start_byte > MAX_TARGET:
        return ""
    if node.type != "member_expression":
        return _plain(text_of(node)) if node.named_child_count == 0 or node.type == "string" else ""
    parts = [part for part in dotted_name(text_of(node)).split(".") if part not in EXPORTS and part != UNKNOWN]
    return ".".join(parts) or FILE_NAME


def _arguments(call: Node) -> list[Node]:
    arguments = call.child_by_field_name("arguments")
    return arguments.named_children if arguments is not None else []


def _is_long(argument: Node) -> bool:
    return argument.type in FUNCTIONS and argument.end_point.row - argument.start_point.row + 1 >= MIN_PART


def _callbacks(call: Node) -> Iterator[tuple[Node, str]]:
    """Functions without a name of their own among the arguments of a call, if they are of some length."""
    callee = call.child_by_field_name("function") or call.child_by_field_name("constructor")
    if callee is None or call.end_point.row - call.start_point.row + 1 < MIN_PART:
        return
    callee_text = (callee.text or b"")[-MAX_TARGET:]
    name = dotted_name(callee_text.decode("utf-8", "replace")).rpartition(".")[2]
    arguments = _arguments(call) if name else []
    string = next((text_of(one) for one in arguments[:2] if one.type in ("string", "template_string")), "")
    string = " ".join(ARGUMENT.sub(" ", string).split())[:MAX_ARGUMENT]
    if DEFINE_PROPERTY.search(callee_text):
        yield from _accessors(arguments, string)
        return
    for argument in arguments:
        if _is_long(argument) and argument.child_by_field_name("name") is None:
            yield argument, f"{name}({string})" if string else f"{name}(callback)"


def _accessors(arguments: list[Node], name: str) -> Iterator[tuple[Node, str]]:
    """The getter and setter of `Object.defineProperty(target, "name", { get: function … })`."""
    for argument in arguments:
        if argument.type in FUNCTIONS:
            yield argument, name
        for pair in argument.named_children if argument.type == "object" else ():
            if pair.type == "method_definition" and text_of(pair.child_by_field_name("name")) in ACCESSORS:
                yield pair, name
                continue
            value = pair.child_by_field_name("value")
            if value is not None and value.type in FUNCTIONS and text_of(pair.child_by_field_name("key")) in ACCESSORS:
                yield value, name


def doc_of(node: Node, source: bytes) -> Doc:
    """The comment above the line where the function begins, or above lines that only name it, such as `a.b =`."""
    line, start = line_of(source, node.start_byte), node.start_byte
    for _ in range(MOST_NAMES):
        previous = line_of(source, line - 1) if line else 0
        if source[line:start].strip()[-1:] not in (b"", b"=") or not NAMES_ONLY.fullmatch(source, previous, line):
            break
        line, start = previous, line - 1
    doc = comment_above(source, start, COMMENTS)
    return doc if doc.text or doc.above or not line else _jsdoc(source, line)


def _jsdoc(source: bytes, line: int) -> Doc:
    """The `/** … */` above an empty line, unless it begins the file, which it then describes."""
    empty_line = line_of(source, line - 1)
    if source[empty_line:line].strip():
        return NO_DOC
    doc = comment_above(source, empty_line, COMMENTS)
    describes_file = not source[: doc.above].strip() or LICENCE.search(doc.text)
    return doc if source.startswith(b"/**", doc.above) and not describes_file else NO_DOC


def bindings_of(node: Node) -> Iterator[tuple[str, str]]:
    """Variables, parameters and fields; what `require` gives is an import."""
    type_name = type_of(node.child_by_field_name("type"))
    if node.type == "for_in_statement":
        target, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if target is not None and target.type == "identifier":
            is_element = text_of(node.child_by_field_name("operator")) == "of"
            yield text_of(target), element_of(right) if is_element else ""
        return
    if node.type == "assignment_expression":
        target, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        name = text_of(target) if target is not None and target.end_byte - target.start_byte < MAX_TARGET else ""
        if target is not None and target.type == "identifier":
            yield name, _expression(right)
        elif name.startswith("this.") and name.count(".") == 1:
            yield f"self.{name[5:]}", _expression(right)
        return
    fields = ("pattern", "name", "property")
    name_node = next((one for part in fields if (one := node.child_by_field_name(part)) is not None), None)
    value = node.child_by_field_name("value")
    if name_node is None or name_node.type not in NAMES or (value is not None and _requires(value)):
        return
    expression = type_name or _expression(value)
    yield text_of(name_node), expression
    if node.type == "required_parameter" and child_of(node, "accessibility_modifier") is not None:
        yield f"self.{text_of(name_node)}", expression


NAMES = frozenset({"identifier", "property_identifier", "private_property_identifier"})


def _expression(value: Node | None) -> str:
    return "" if value is None or value.type in FUNCTIONS else value_of(value)


def imports_of(statement: Node) -> list[Import]:
    if statement.type == "variable_declarator":
        return _require_calls(statement)
    module = text_of(statement.child_by_field_name("source")).strip("'\"")
    imports: list[Import] = []
    if statement.type == "export_statement":  # what a module hands on
        clauses = [child for child in statement.named_children if child.type in ("export_clause", "namespace_export")]
        for clause in clauses:
            if clause.type == "namespace_export":
                return [Import(module, "", text_of(nth(clause, 0)))]
            for one in clause.named_children:
                name = text_of(one.child_by_field_name("name"))
                imports.append(Import(module, name, text_of(one.child_by_field_name("alias")) or name))
        return imports or [Import(module, "*", "")]
    for clause in (child for child in statement.named_children if child.type == "import_clause"):
        for child in clause.named_children:
            if child.type == "identifier":
                imports.append(Import(module, "default", text_of(child)))
            elif child.type == "namespace_import":
                imports.append(Import(module, "", text_of(nth(child, 0))))
            elif child.type == "named_imports":
                for one in child.named_children:
                    name = text_of(one.child_by_field_name("name"))
                    imports.append(Import(module, name, text_of(one.child_by_field_name("alias")) or name))
    return imports or ([Import(module, "", "")] if module else [])


def _require_calls(declarator: Node) -> list[Import]:
    call = declarator.child_by_field_name("value")
    arguments = call.child_by_field_name("arguments") if call is not None else None
    string = nth(arguments, 0)
    name = declarator.child_by_field_name("name")
    if string is None or string.type != "string" or name is None:
        return []
    module = text_of(string).strip("'\"")
    if name.type == "identifier":
        return [Import(module, "", text_of(name))]
    parts = [child for child in name.named_children if child.type == "shorthand_property_identifier_pattern"]
    return [Import(module, text_of(part), text_of(part)) for part in parts]


JAVASCRIPT = Grammar(
    name="javascript",
    functions_of=functions_of,
    constants_of=constants_of,
    comments=COMMENTS,
    doc_of=doc_of,
    imports_of=imports_of,
    bindings_of=bindings_of,
    returns_of=return_type,
    inner_after=WRAPPER,
    wrap=(b"(", b"\n)"),
)


# What the grammar cannot read yet, blanked before parsing: variance annotations and `export type * as`.
VARIANCE = re.compile(rb"(?<=[<,\n])([ \t]*)((?:in|out)(?:[ \t]+out)?)(?=\s+[A-Z]\w*\s*(?:[,>=]|extends))")
TYPE_STAR = re.compile(rb"(?<=export )type(?= +\*)")


def repair(source: bytes) -> bytes:
    source = TYPE_STAR.sub(b"    ", source)
    return VARIANCE.sub(blank_second, source)


TYPESCRIPT = replace(JAVASCRIPT, name="typescript", pack="typescript", repair=repair)

# Vue, Svelte and Astro: the scripts of a component; its markup is top-level code.
SCRIPT, SCRIPT_END = re.compile(rb"<script\b[^<>]{0,500}>|\A---\r?\n"), re.compile(rb"</script>|\n---")
NOT_NEWLINE = re.compile(rb"[^\n]")


def only_scripts(source: bytes) -> bytes:
    """The text of a component with everything but its scripts blanked."""
    pieces, at = [], 0
    while (tag := SCRIPT.search(source, at)) and (last := SCRIPT_END.search(source, tag.end())):
        pieces += [NOT_NEWLINE.sub(b" ", source[at : tag.end()]), source[tag.end() : last.start()]]
        at = last.start()
    return repair(b"".join((*pieces, NOT_NEWLINE.sub(b" ", source[at:]))))


GRAMMARS = (
    *(replace(TYPESCRIPT, name=name, repair=only_scripts) for name in ("vue", "svelte", "astro")),
    JAVASCRIPT,
    TYPESCRIPT,
    replace(TYPESCRIPT, pack="tsx"),
)
