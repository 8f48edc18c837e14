"""The classes of a text's parts, from the parse trees that the index is made with; the process that makes them.

One table of node types serves every grammar. A grammar is C code that a hostile text can crash, fill the memory with or
keep busy within a single step, so `tokenizer.py` lets it run in a process of its own, which ends at a limit.
"""

from __future__ import annotations

import itertools
import re
import resource
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from typing import NamedTuple

import orjson
from tree_sitter import Language, Parser, Tree, TreeCursor
from tree_sitter_language_pack import get_language

from treeline.ingest.parsers.grammar import Grammar
from treeline.ingest.parsers.registry import dialects
from treeline.service.present.tokenizer import LENGTH_BYTES, PLAIN

COMMENT, STRING, NUMBER, KEYWORD, FUNCTION, TYPE, DECORATOR = "c", "s", "n", "k", "f", "b", "a"
SECONDS = 0.2  # of processor time for a text; with the rest of a page it stays below .5
MEMORY = 1 << 29  # bytes; all grammars take 140 MB, and C# 3 GB for 6,400 times `<a `
SIMPLE_FORMATS = frozenset({"json", "toml", "css"})

# The first expression that a node's type matches gives its class: a keyword, an operator and a bracket are anonymous
# nodes whose type is their text.
WORD = re.compile(r"[#@$]?[A-Za-z_][\w-]+[!?]?")
CLASSES = (
    (re.compile(r"comment|shebang|hash_bang|^haddock", re.IGNORECASE), COMMENT),
    (re.compile(r"type|^(constant|class_name|constructor|module_name|property_name|attribute_name)$"), TYPE),
    (
        re.compile(
            r"string|char|regex|heredoc|rune|quoted|escape_sequence|template_literal|^str_lit$|^literal$", re.IGNORECASE
        ),
        STRING,
    ),
    (re.compile(r"number|integer|float|numeric|decimal|real_literal|num_lit|int_literal", re.IGNORECASE), NUMBER),
    (
        re.compile(
            r"^(true|false|null|nil|none|undefined|this|self|super|bool\w*|\w+_null|null_\w+|nil_\w+|\w*keyword\w*)$",
            re.IGNORECASE,
        ),
        KEYWORD,
    ),
    (re.compile(r"tag_?name", re.IGNORECASE), KEYWORD),
)
TINTS = frozenset({STRING, NUMBER})  # a node's leaves and gaps take these over
DEFINITION = re.compile(
    r"(func|method|class|struct|interface|trait|enum|module|namespace|constructor|macro|record|contract|subroutine"
    r"|service|message|rpc|procedure|protocol|defun|implementation|object_de|type_spec|type_alias|type_de)"
    r"(?!.*(call|invocation|param|argument|body|type$))",
    re.IGNORECASE,
)
TYPE_NODES = frozenset({"type", "generic_type"})  # nodes around an identifier that is a type
CALL = re.compile(r"call|invocation|^command$|creation_expression|^new_expression$|apply_expression", re.IGNORECASE)
DECORATION = re.compile(r"decorator|annotation(?<!type_annotation)|attribute_item|attribute_list", re.IGNORECASE)
IDENTIFIER = re.compile(r"identifier|^(\w*name|word|variable|symbol|sym_lit|atom|command_name)$|Identifier|IDENTIFIER")
NAME_FIELDS = frozenset({"name", "declarator", "function", "method", "macro", "constructor", "target"})
MEMBER_FIELDS = frozenset({"name", "attribute", "field", "property", "method", "member", "declarator", "function"})


class NodeKind(NamedTuple):
    """The role of a type of node: the class of its text, and what its children are."""

    css: str
    names: str  # the class of the identifier that it names or calls
    is_identifier: bool


ERROR = NodeKind(PLAIN, PLAIN, False)  # a node of what does not parse


class Highlighter(NamedTuple):
    """A grammar, the roles of its node types, and its fields that lead to a name."""

    language: Language
    kinds: tuple[NodeKind, ...]
    name_fields: frozenset[int]
    member_fields: frozenset[int]
    wrap: tuple[bytes, bytes]
    opening: re.Pattern[bytes] | None


@cache
def highlighters(language: str) -> tuple[Highlighter, ...]:
    """The highlighters of a language or format, one for each dialect; none if it has no grammar."""
    grammars = dialects(language) or ((Grammar(name=language),) if language in SIMPLE_FORMATS else ())
    return tuple(highlighter for grammar in grammars if (highlighter := _highlighter(grammar)) is not None)


def _highlighter(grammar: Grammar) -> Highlighter | None:
    try:
        parser_language = get_language(grammar.pack or grammar.name)  # type: ignore[arg-type]
    except LookupError:
        return None
    kinds = tuple(
        _kind(parser_language.node_kind_for_id(number) or "", parser_language.node_kind_is_named(number))
        for number in range(parser_language.node_kind_count)
    )
    names, members = _fields(parser_language, NAME_FIELDS), _fields(parser_language, MEMBER_FIELDS)
    return Highlighter(parser_language, kinds, names, members, grammar.wrap, grammar.opening)


def _kind(name: str, is_named: bool) -> NodeKind:
    if not is_named:
        return NodeKind(KEYWORD if WORD.fullmatch(name) else PLAIN, PLAIN, False)
    css = next((css for pattern, css in CLASSES if pattern.search(name)), PLAIN)
    names = TYPE if name in TYPE_NODES else PLAIN
    if DECORATION.search(name):
        names = DECORATOR
    elif CALL.search(name) or DEFINITION.search(name):
        names = FUNCTION
    return NodeKind(css, names, IDENTIFIER.search(name) is not None)


def _fields(language: Language, names: frozenset[str]) -> frozenset[int]:
    return frozenset(number for name in names if (number := language.field_id_for_name(name)))


def spans(source: bytes, language: str, *, alone: bool) -> list[tuple[int, str]]:
    """The ends of a text's parts, each with its class; `alone` if it is one unit of a file. None without a grammar."""
    grammars = highlighters(language)
    for grammar in grammars:
        tree, offset = _parse(grammar, source, alone)
        if not tree.root_node.has_error or grammar is grammars[-1]:
            return list(_joined(source, _spans(grammar, tree.walk()), offset))
    return []


def _parse(grammar: Highlighter, source: bytes, alone: bool) -> tuple[Tree, int]:
    """The tree of a text, and the length of what was put in front of it so that a lone unit parses."""
    parser = Parser(grammar.language)
    before, after = grammar.wrap
    if alone and before:
        tree = parser.parse(before + source + after)
        if not tree.root_node.has_error or (grammar.opening is not None and not grammar.opening.search(source)):
            return tree, len(before)
    return parser.parse(source), 0


class Parent:
    """A node whose children are walked."""

    __slots__ = ("end", "member", "names", "tint")

    def __init__(self, names: str, tint: str, member: str, end: int) -> None:
        self.names = names  # the class of the name that is still to come
        self.tint = tint  # the class of leaves and gaps that have none
        self.member = member  # the class of the last part of a dotted name
        self.end = end


def _spans(grammar: Highlighter, cursor: TreeCursor) -> Iterator[tuple[int, str]]:
    """The ends of neighbouring spans, each with its class."""
    kinds, name_fields, member_fields = grammar.kinds, grammar.name_fields, grammar.member_fields
    parent = Parent(PLAIN, PLAIN, PLAIN, 0)
    parents: list[Parent] = []
    while True:
        node = cursor.node
        assert node is not None
        number = node.kind_id
        kind = kinds[number] if number < len(kinds) else ERROR
        name = PLAIN
        if parent.names or parent.member:
            field = cursor.field_id
            if parent.names and (field in name_fields if field else kind.is_identifier):
                name, parent.names = parent.names, PLAIN
            elif parent.member and (not field or field in member_fields):
                name = parent.member
        yield node.start_byte, parent.tint
        if kind.css != COMMENT and cursor.goto_first_child():
            parents.append(parent)
            inner = DECORATOR if parent.names == DECORATOR else PLAIN
            parent = Parent(kind.names, kind.css if kind.css in TINTS else PLAIN, name or inner, node.end_byte)
            continue
        yield node.end_byte, name if name and (kind.is_identifier or kind.css == TYPE) else kind.css or parent.tint
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return
            yield parent.end, parent.tint
            parent = parents.pop()


def _joined(source: bytes, ends: Iterable[tuple[int, str]], offset: int) -> Iterator[tuple[int, str]]:
    """The ends with neighbours of one class joined; space joins the part before it, so that there are few."""
    start = at = 0
    css = PLAIN
    for end, next_css in itertools.chain(ends, [(len(source) + offset, PLAIN)]):
        end = min(max(end - offset, 0), len(source))
        if end <= at:
            continue
        if next_css != css and not source[at:end].isspace():
            if at > start:
                yield at, css
            start, css = at, next_css
        at = end
    yield len(source), css


def serve() -> None:
    """Answer the questions on standard input; a text that takes too long or too much memory ends the process."""
    with suppress(ValueError, OSError):  # the limit may be lower already
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    while length := sys.stdin.buffer.read(LENGTH_BYTES):
        language, alone, text = orjson.loads(sys.stdin.buffer.read(int.from_bytes(length)))
        highlighters(language)  # loading a grammar takes time of its own
        signal.setitimer(signal.ITIMER_PROF, SECONDS)  # its signal stops C code too
        answer = orjson.dumps(spans(text.encode(), language, alone=alone))
        signal.setitimer(signal.ITIMER_PROF, 0)
        sys.stdout.buffer.write(len(answer).to_bytes(LENGTH_BYTES) + answer)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    serve()
