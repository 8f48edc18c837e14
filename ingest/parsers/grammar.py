"""The description of a language for the parser: a tree-sitter grammar, one query, and hooks for the rest."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from functools import cache
from pathlib import Path

from tree_sitter import Node

from treeline.corpus.frozen import frozen
from treeline.graph.references import Import
from treeline.ingest.parsers.comments import SLASHES, Comments, Doc, comment_above

# For `inner_after`: an inner function always belongs to the outer one, however long that is.
NEVER = 1 << 30
MIN_PART = 5  # lines of an inner function; a shorter one says nothing on its own
# The name that a hook gives to the function a whole file exports: `module.exports = function …`.
FILE_NAME = "\0"
# A line that closes something, without indentation.
CLOSING_LINE = re.compile(rb"^(?:[})\]][^\n{(\[]*|end\b[^\n]*)\n", re.MULTILINE)
# Between a trait and the type that implements it: `Display for Queue`.
FOR = " for "
QUERIES = Path(__file__).parent / "queries"
INHERITS = re.compile(r"; inherits: ([\w,]+)\n")


def text_of(node: Node | None) -> str:
    return "" if node is None else (node.text or b"").decode("utf-8", "replace")


def field_name(node: Node) -> str:
    """The text of the `name` field, which most grammars have."""
    return text_of(node.child_by_field_name("name"))


def child_of(node: Node, step: str) -> Node | None:
    """The child with this field name, or else the first of this type."""
    child = node.child_by_field_name(step)
    if child is None:
        child = next((one for one in node.named_children if one.type == step), None)
    return child


def descend(node: Node | None, steps: Iterable[str]) -> Node | None:
    """The descendant that one step (`child_of`) after the other leads to."""
    for step in steps:
        node = child_of(node, step) if node is not None else None
    return node


def nth(node: Node | None, index: int) -> Node | None:
    """The named child at this index; None if there is none, where `Node.named_child` raises an error."""
    return node.named_child(index) if node is not None and node.named_child_count > index else None


def same(node: Node) -> Node:
    return node


def same_name(name: str) -> str:
    return name


def implementation(name: str) -> str:
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


def blank_second(match: re.Match[bytes]) -> bytes:
    """The first group of a match, and spaces in the place of the second."""
    return match[1] + b" " * len(match[2])


def field_body(node: Node) -> int:
    """The byte where the body starts; 0 if the grammar has no field for it."""
    body = node.child_by_field_name("body")
    return body.start_byte if body is not None else 0


def body_at(*steps: str) -> Callable[[Node], int]:
    """A `body_of` for a body that is the first of these children (`child_of`)."""

    def body_of(node: Node) -> int:
        return next((body.start_byte for step in steps if (body := child_of(node, step)) is not None), 0)

    return body_of


def up_to_name(*calls: str) -> Callable[[Node], tuple[int, int]]:
    """A `target_of` for calls of these types, whose field `name` is followed by the arguments."""

    def target_of(node: Node) -> tuple[int, int]:
        name = node.child_by_field_name("name") if node.type in calls else None
        return node.start_byte, (name or node).end_byte

    return target_of


@cache
def query_of(name: str) -> str:
    """A query after those that its first line names: `; inherits: ecma,jsx`."""
    file = QUERIES / f"{name}.scm"
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    parents = INHERITS.match(text)
    return "".join([*map(query_of, parents[1].split(",") if parents else ()), text])


@frozen(kw_only=True, eq=False)
class Grammar:
    """One language.

    Its query is `queries/NAME.scm`, as editors have them. The captures have fixed meanings:

    - `function`, `class`, `interface`, `type`, `enum` and `constant` are definitions.
    - `scope` qualifies the names inside it and is not a unit itself.
    - `signature` is a function without a body, known to the call graph but not searched.
    - `call`, `extends`, `implements` and `uses` are nodes whose text is the name referred to; `bare` is a call if no
      variable has its name, `made` a type of which an object is made.
    - `head` is what looks like a call and is the head of a definition.
    - `import` is a whole import statement.
    - `local` is a name bound inside a function, so it is no use or call of something outside.
    - `bind` is a declaration or assignment that also gives the types of its names.
    - Captures that start with an underscore are for the query's own predicates.

    Hooks must not ask a node for its parent or siblings: tree-sitter searches for them from the root down.
    """

    name: str
    # The grammar's name in tree-sitter-language-pack, if it differs.
    pack: str = ""
    # By node type, the path to its name: each step is a field or a child's type. By default the field `name`.
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # The functions that a captured node defines, each with its unqualified name.
    functions_of: Callable[[Node], Iterable[tuple[Node, str]]] | None = None
    # The constants that a captured node defines.
    constants_of: Callable[[Node], Iterable[tuple[Node, str]]] | None = None
    # The name of any other definition.
    name_of: Callable[[Node], str] | None = None
    # The name of a definition's owner if that does not enclose it (a Go receiver).
    owner_of: Callable[[Node], str] = empty
    receiver_of: Callable[[Node], str] = empty  # the variable for the object that a method is called on
    # The name with which a class qualifies its members, from its own name.
    scope_of: Callable[[str], str] = same_name
    # The docstring; by default the comment above.
    doc_of: Callable[[Node, bytes], Doc] | None = None
    # The docstring of a file; by default its leading comment.
    file_doc_of: Callable[[Node, bytes], Doc] | None = None
    # The node whose end is the function's end.
    end_of: Callable[[Node], Node] = same
    # The byte where the body of a definition starts; the signature is before it.
    body_of: Callable[[Node], int] = field_body
    imports_of: Callable[[Node], list[Import]] = no_imports
    # The names that a captured declaration or assignment binds, each with its value as an expression of `Typing`, empty
    # if that is not known. `self.name` is a field of the object.
    bindings_of: Callable[[Node], Iterable[tuple[str, str]]] = no_bindings
    # What a function returns, as an expression of `Typing`.
    returns_of: Callable[[Node], str] = empty
    # Whether a function is visible only in its own file.
    is_private: Callable[[Node], bool] = never
    # Whether a bare call always calls a method, never a variable's value.
    calls_no_variables: bool = False
    # Whether a question mark may end a name (Ruby's `empty?`); elsewhere it is an operator.
    marks_in_names: bool = False
    # Which bytes of a captured call are the name: receiver and method, without the arguments.
    target_of: Callable[[Node], tuple[int, int]] = whole
    # Functions inside a function of more lines than this are separate units; inside one half as long, longer ones; in a
    # shorter one they belong to it.
    inner_after: int = NEVER
    # Text to put around a lone function so that it parses.
    wrap: tuple[bytes, bytes] = (b"", b"")
    comments: Comments = SLASHES
    # The encoding of a file's bytes, where the language lets a file declare it.
    encoding_of: Callable[[bytes], str] = utf_8

    # The text to parse, of the same length: blanks what the grammar cannot read and would lose the rest of the file at.
    repair: Callable[[bytes], bytes] = as_it_is
    # For a second try on a file that does not parse: text of the same length.
    mend: Callable[[bytes], bytes] | None = None
    # Where a definition at the top level ends. If a file does not parse, each of them is parsed for itself.
    cut: re.Pattern[bytes] = CLOSING_LINE
    opening: re.Pattern[bytes] | None = None  # what every such piece needs in front
    simplify: Callable[[bytes], bytes] | None = None  # for a piece that does not parse: text of the same length
    # Whether consecutive clauses of a function are one definition (Haskell, Elixir), if this is the same for both.
    merges: bool = False
    clause_of: Callable[[Node], str] = empty
    # Whether a definition qualifies the names of those inside it. In C they all share one scope.
    nests: bool = True

    @property
    def query(self) -> str:
        """The query; empty for a format, which has none."""
        return query_of(self.pack or self.name)

    def least_inside(self, lines: int) -> int:
        """The lines from which a definition inside a function of so many lines is a unit of its own."""
        return 0 if lines >= self.inner_after else MIN_PART if 2 * lines >= self.inner_after else NEVER

    def definition_name(self, node: Node) -> str:
        """The name of a definition by the grammar's table."""
        if self.name_of is not None:
            return self.name_of(node)
        return text_of(descend(node, self.names.get(node.type, ("name",))))

    def doc(self, node: Node, source: bytes) -> Doc:
        """The docstring of a definition."""
        if self.doc_of is not None:
            return self.doc_of(node, source)
        return comment_above(source, node.start_byte, self.comments)
