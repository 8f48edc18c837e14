"""What a language tells the parser: its tree-sitter grammar, one query, and the few things a query cannot say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from tree_sitter import Node

from treeline.graph.references import Import
from treeline.ingest.parsers.comments import SLASHES, Comments, Doc, comment_above

# An inner function belongs to the outer one, however long that is.
NEVER = 1 << 30
# A hook's name for the function that a whole file stands for: `module.exports = function …`.
FILE_NAME = "\0"
# Between what is implemented and the type that implements it: `Display for Queue`.
FOR = " for "


def text_of(node: Node | None) -> str:
    return "" if node is None else (node.text or b"").decode("utf-8", "replace")


def field_name(node: Node) -> str:
    """The text of the `name` field, which most grammars have."""
    return text_of(node.child_by_field_name("name"))


def child_of(node: Node, step: str) -> Node | None:
    """A child by its field, or else the first of that type."""
    found = node.child_by_field_name(step)
    if found is None:
        found = next((child for child in node.named_children if child.type == step), None)
    return found


def same(node: Node) -> Node:
    return node


def same_name(name: str) -> str:
    return name


def implemented(name: str) -> str:
    """The type that a name such as `Display for Queue` adds members to."""
    return name.rpartition(FOR)[2]


def empty(_node: Node) -> str:
    return ""


def never(_node: Node) -> bool:
    return False


def no_bindings(_node: Node) -> Iterable[tuple[str, str]]:
    return ()


def no_imports(_node: Node) -> list[Import]:
    return []


def as_it_is(source: bytes) -> bytes:
    return source


def utf_8(_source: bytes) -> str:
    return "utf-8"


def whole(node: Node) -> tuple[int, int]:
    return node.start_byte, node.end_byte


def field_body(node: Node) -> int:
    """The byte where the body starts; 0 where the grammar names none."""
    body = node.child_by_field_name("body")
    return body.start_byte if body is not None else 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Grammar:
    """One language.

    The query's captures have fixed meanings. `function`, `class`, `interface`, `type`, `enum` and `constant` are
    definitions; `scope` gives its name to what it contains and is no unit itself; `signature` is a function without a
    body, known to the call graph but not searched. `call`, `extends`, `implements` and `uses` are nodes whose text is
    the name referred to. `import` is a whole import statement. `local` is a name bound inside a function, so that it
    does not count as a use (or a call) of something outside; `bind` is a declaration or assignment that also tells what
    the names hold. Captures that start with an underscore are for
    the query's own predicates.

    Hooks must not ask a node for its parent or siblings: tree-sitter looks for them from the root down.
    """

    name: str
    query: str
    # The grammar's name in tree-sitter-language-pack, if it is another one.
    pack: str = ""
    # Where the name of a node of a type is, step by step: a field, or a child's type. By default the field `name`.
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # The functions that a captured node stands for, each with its name (without what encloses it).
    functions_of: Callable[[Node], Iterable[tuple[Node, str]]] | None = None
    # The constants that a captured node stands for.
    constants_of: Callable[[Node], Iterable[tuple[Node, str]]] | None = None
    # The name of any other definition.
    name_of: Callable[[Node], str] | None = None
    # The name of what a definition belongs to when that does not enclose it (a Go receiver).
    owner_of: Callable[[Node], str] = empty
    receiver_of: Callable[[Node], str] = empty  # the variable that stands for the object a method is called on
    # The name under which a class qualifies its members, from its own.
    scope_of: Callable[[str], str] = same_name
    # The docstring; by default the comment above.
    doc_of: Callable[[Node, bytes], Doc] | None = None
    # The docstring of a file; by default its leading comment.
    file_doc_of: Callable[[Node, bytes], Doc] | None = None
    # The node whose end is the function's end.
    end_of: Callable[[Node], Node] = same
    # Where the body of a definition starts: what comes before is its signature.
    body_of: Callable[[Node], int] = field_body
    imports_of: Callable[[Node], list[Import]] = no_imports
    # The names that a captured declaration or assignment binds, each with what it holds: an expression of `Typing`, or
    # nothing where that is not known. `self.name` is a field of the object.
    bindings_of: Callable[[Node], Iterable[tuple[str, str]]] = no_bindings
    # What a function gives, as an expression of `Typing`.
    returns_of: Callable[[Node], str] = empty
    # Whether only its own file sees a function.
    is_private: Callable[[Node], bool] = never
    # Whether a bare call is always of a method, never of a variable.
    calls_no_variables: bool = False
    # Question marks may end a name (Ruby's `empty?`); elsewhere they are operators.
    marks_in_names: bool = False
    # Which bytes of a captured call are the name: receiver and method, without the arguments.
    target_of: Callable[[Node], tuple[int, int]] = whole
    # Functions inside a function of more lines than this are units of their own; in a shorter one they belong to it.
    inner_after: int = NEVER
    # Text to put around a lone function so that it parses.
    wrap: tuple[bytes, bytes] = (b"", b"")
    comments: Comments = SLASHES
    # The encoding of a file's bytes, where the language lets a file declare it.
    encoding_of: Callable[[bytes], str] = utf_8

    # The text to parse, of the same length: blanks what the grammar cannot read, and would lose the rest of a file by.
    repair: Callable[[bytes], bytes] = as_it_is
    # A second try on a file that does not parse, with text of the same length.
    mend: Callable[[bytes], bytes] | None = None
    # Clauses of one function, one after the other, are one definition (Haskell, Elixir).
    merges: bool = False

    @property
    def line_comment(self) -> str:
        return self.comments.line[0].decode() if self.comments.line else "//"

    def named(self, node: Node) -> str:
        """The name of a definition by the grammar's table."""
        if self.name_of is not None:
            return self.name_of(node)
        found: Node | None = node
        for step in self.names.get(node.type, ("name",)):
            found = child_of(found, step) if found is not None else None
        return text_of(found)

    def doc(self, node: Node, source: bytes) -> Doc:
        """The docstring of a definition."""
        if self.doc_of is not None:
            return self.doc_of(node, source)
        return comment_above(source, node.start_byte, self.comments)
