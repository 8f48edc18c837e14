"""What a language tells the parser: its grammar, one query, and the few things a query cannot say."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from tree_sitter import Node

from graph.references import Import


@dataclass(frozen=True, slots=True)
class Doc:
    """A docstring, and the bytes to cut from the file so that the code is without it (empty when it is outside)."""

    text: str
    start: int = 0
    end: int = 0


NO_DOC = Doc("")


def field_name(node: Node) -> str:
    """The text of the `name` field: what most grammars call it."""
    name = node.child_by_field_name("name")
    return text_of(name) if name is not None else ""


def text_of(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def no_doc(_node: Node) -> Doc:
    return NO_DOC


def no_imports(_node: Node) -> list[Import]:
    return []


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """One language.

    The query's captures have fixed meanings: `function`, `class`, `interface` are definitions; `call`, `extends`,
    `implements`, `uses` are nodes whose text is the name referred to; `import` is a whole import statement; `local`
    is a name bound inside a function, which therefore does not count as a use of something outside.
    """

    name: str
    suffixes: tuple[str, ...]
    load: Callable[[], object]
    query: str
    # The name of a definition, without what encloses it; empty: it has none and is left out.
    name_of: Callable[[Node], str] = field_name
    # The name of what a definition belongs to when that does not enclose it (a Go receiver); usually empty.
    owner_of: Callable[[Node], str] = lambda _node: ""
    doc_of: Callable[[Node], Doc] = no_doc
    imports_of: Callable[[Node], list[Import]] = no_imports
    # Functions inside functions: functions of their own, or part of the outer one.
    nested: bool = False
    # What must stand around a lone function so that it parses.
    wrap: tuple[bytes, bytes] = (b"", b"")
    line_comment: str = "//"


SEPARATORS = re.compile(r"\?->|->|::|\?\.|\\")
SPACE = re.compile(r"\s+")
DOTTED = re.compile(r"[\w$@]+[?!]?(?:\.[\w$@]+[?!]?)*")
LAST = re.compile(r"[\w$@]+[?!]?$")
# The receiver is an expression, not a name: `make().close()` refers to `?.close`.
UNKNOWN = "?"
# Longer than any name that can be resolved.
MAX_TARGET = 200


def dotted(text: str) -> str:
    """A name as written, with dots between its parts, and `?` for a receiver that is not a name."""
    if DOTTED.fullmatch(text):
        return text
    text = SPACE.sub("", SEPARATORS.sub(".", text[-2 * MAX_TARGET :])).strip(".")
    if DOTTED.fullmatch(text):
        return text
    last = LAST.search(text)
    return f"{UNKNOWN}.{last[0]}" if last and last.start() else ""
