"""What a language tells the parser: its grammar, one query, and the few things a query cannot say."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tree_sitter import Node

from treeline.graph.references import Import


@dataclass(frozen=True, slots=True)
class Doc:
    """A docstring, and the bytes to cut from the file so that the code is without it (none when it is outside)."""

    text: str
    start: int = 0
    end: int = 0


NO_DOC = Doc("")


def text_of(node: Node | None) -> str:
    return "" if node is None else (node.text or b"").decode("utf-8", "replace")


def field_name(node: Node) -> str:
    """The text of the `name` field: what most grammars call it."""
    return text_of(node.child_by_field_name("name"))


def itself_by_name(node: Node) -> Iterable[tuple[Node, str]]:
    return ((node, field_name(node)),)


def nothing(_node: Node) -> str:
    return ""


def itself(node: Node) -> Node:
    return node


def no_doc(_node: Node, _source: bytes) -> Doc:
    return NO_DOC


def no_imports(_node: Node) -> list[Import]:
    return []


def utf_8(_source: bytes) -> str:
    return "utf-8"


def whole(node: Node) -> tuple[int, int]:
    return node.start_byte, node.end_byte


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """One language.

    The query's captures have fixed meanings: `function`, `class`, `interface` are definitions, and `signature` is a
    function without a body, known to the call graph but not searched; `call`, `extends`,
    `implements`, `uses` are nodes whose text is the name referred to; `import` is a whole import statement; `local`
    is a name bound inside a function, so that it does not count as a use (or a `bare` call) of something outside.
    Captures that begin with an underscore are for the query's own predicates.
    """

    name: str
    suffixes: tuple[str, ...]
    load: Callable[[], object]
    query: str
    # The functions that a captured node stands for, each with its name (without what encloses it). Hooks must not ask
    # a node for its parent or siblings: tree-sitter looks for them from the root down.
    functions_of: Callable[[Node], Iterable[tuple[Node, str]]] = itself_by_name
    # The name of a class or interface.
    name_of: Callable[[Node], str] = field_name
    # The name of what a definition belongs to when that does not enclose it (a Go receiver).
    owner_of: Callable[[Node], str] = nothing
    doc_of: Callable[[Node, bytes], Doc] = no_doc
    # The node whose end is the function's end.
    end_of: Callable[[Node], Node] = itself
    imports_of: Callable[[Node], list[Import]] = no_imports
    # Which bytes of a captured call are the name: receiver and method, without the arguments.
    target_of: Callable[[Node], tuple[int, int]] = whole
    # Functions inside functions: functions of their own, or part of the outer one.
    nested: bool = False
    # What must stand around a lone function so that it parses.
    wrap: tuple[bytes, bytes] = (b"", b"")
    line_comment: str = "//"
    # How a file's bytes are to be read, where the language lets it say so.
    encoding_of: Callable[[bytes], str] = utf_8
