"""Code as pieces with a CSS class each, from the parse trees that the index is made with.

One table of node types serves every grammar. Parsing and walking are linear and stop at a time limit; a text without a
grammar, or beyond a limit, is one plain piece.
"""

from __future__ import annotations

import itertools
import re
import time
import warnings
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import NamedTuple

from tree_sitter import Language, Parser, Tree, TreeCursor
from tree_sitter_language_pack import get_language

from treeline.ingest.parsers.grammar import Grammar
from treeline.ingest.parsers.registry import dialects

COMMENT, STRING, NUMBER, KEYWORD, FUNCTION, TYPE, DECORATOR, PLAIN = "c", "s", "n", "k", "f", "b", "a", ""
LONGEST = 400_000  # bytes of a text
PARSE_SECONDS = 0.2  # of processor time
WALK_SECONDS = 0.2  # of processor time
LATEST_MICROS = 400_000  # by the clock, for what is not seen while the text is read
CHUNK = 2_048  # bytes that the parser reads at once
STEPS_PER_CHECK = 1_000  # nodes between two looks at the clock
CACHED_TEXTS = 4_096
# Formats whose grammars have little or no hand-written code: hostile YAML and Perl crash theirs.
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
    grammars = dialects(language) or ((Grammar(name=language, query=""),) if language in SIMPLE_FORMATS else ())
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


@lru_cache(CACHED_TEXTS)
def unit_pieces(text: str, language: str) -> tuple[tuple[str, str], ...]:
    """(class, text) pieces of a unit, or of some of its lines; neighbours have different classes."""
    return pieces(text, language, alone=True)


def pieces(text: str, language: str, *, alone: bool = False) -> tuple[tuple[str, str], ...]:
    """(class, text) pieces of a file, or of one unit where that is `alone`; neighbours have different classes."""
    deadline = time.thread_time() + PARSE_SECONDS
    try:
        source = text.encode()
        if len(source) <= LONGEST:
            for grammar in highlighters(language):
                tree, offset = _parse(grammar, source, alone, deadline)
                if not tree.root_node.has_error or grammar is highlighters(language)[-1]:
                    return tuple(_cut(source, _spans(grammar, tree.walk()), offset))
    except (ValueError, TimeoutError):  # beyond a time limit, or no text that UTF-8 can hold
        pass
    return ((PLAIN, text),)


def _parse(grammar: Highlighter, source: bytes, alone: bool, deadline: float) -> tuple[Tree, int]:
    """The tree of a text, and the length of what was put in front of it so that a lone unit parses."""
    before, after = grammar.wrap
    if alone and before:
        tree = _tree(grammar.language, before + source + after, deadline)
        if not tree.root_node.has_error or (grammar.opening is not None and not grammar.opening.search(source)):
            return tree, len(before)
    return _tree(grammar.language, source, deadline), 0


def _tree(language: Language, source: bytes, deadline: float) -> Tree:
    """The tree of a text; raises `TimeoutError` or `ValueError` if parsing takes too long."""
    with warnings.catch_warnings():
        # Its successor, a callback, crashes the interpreter in this version of the bindings.
        warnings.simplefilter("ignore", DeprecationWarning)
        parser = Parser(language, timeout_micros=LATEST_MICROS)
    late = False

    def read(offset: int, _point: object) -> bytes:
        """The next bytes. The parser looks at no clock while a scanner searches the rest of the text at every
        character, which is quadratic; so the text ends at the deadline."""
        nonlocal late
        late = late or time.thread_time() > deadline
        return b"" if late else source[offset : offset + CHUNK]

    tree = parser.parse(read)
    if late:
        raise TimeoutError
    return tree


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
    deadline = time.thread_time() + WALK_SECONDS
    for step in itertools.count(1):
        if step % STEPS_PER_CHECK == 0 and time.thread_time() > deadline:
            raise TimeoutError
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


def _cut(source: bytes, spans: Iterable[tuple[int, str]], offset: int) -> Iterator[tuple[str, str]]:
    """(class, text) pieces of the source; space joins the piece before it, so that there are few."""
    start = at = 0
    css = PLAIN
    for end, next_css in itertools.chain(spans, [(len(source) + offset, PLAIN)]):
        end = min(max(end - offset, 0), len(source))
        if end <= at:
            continue
        if next_css != css and not source[at:end].isspace():
            if at > start:
                yield css, source[start:at].decode()
            start, css = at, next_css
        at = end
    yield css, source[start:].decode()
