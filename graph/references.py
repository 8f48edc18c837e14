"""The facts that a parser finds in a file besides its units: symbols, imports, references by name, and types."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, get_args

Relation = Literal["calls", "extends", "implements", "uses"]
SymbolKind = Literal["function", "class", "interface"]
NodeKind = Literal["function", "class", "interface", "module"]
# A stored call graph encodes relations and kinds by their positions here.
RELATIONS: tuple[Relation, ...] = get_args(Relation)
NODE_KINDS: tuple[NodeKind, ...] = get_args(NodeKind)
CLASSES: tuple[NodeKind, ...] = ("class", "interface")  # kinds with members
CONSTRUCTORS = ("__init__", "__new__", "constructor", "initialize", "__construct")


class Symbol(NamedTuple):
    """A definition: its name qualified within the file (`Class.method`), and its lines."""

    name: str
    kind: SymbolKind
    first_line: int
    last_line: int


class Import(NamedTuple):
    """`from module import name as alias`; `name` is empty when the whole module is imported."""

    module: str
    name: str
    alias: str


class Typing(NamedTuple):
    """The type of a name in this file: of a field (`Engine.trees`), a module's variable, or a function's result
    (`Engine.get()`).

    `value` is an expression: `:Node` is an object of a type, `:Node*` a container of such objects, `make().node` the
    value of that expression. `private` marks a function that other files cannot see.
    """

    name: str
    value: str


PRIVATE = "private"
MAKES = "new "


class Reference(NamedTuple):
    """`source` (a symbol of this file, empty for module level) refers to `target`.

    `target` is a dotted name as written, with `()` for each call and `[]` for each index on the way, and local
    variables replaced by their values. `new Queue` makes an object, where a method may be called `Queue` too.
    """

    relation: Relation
    source: str
    target: str
    line: int


class FileFacts(NamedTuple):
    """The facts of one file, from which the call graph of a repository is resolved."""

    repo: str
    path: str
    language: str
    symbols: tuple[Symbol, ...]
    imports: tuple[Import, ...]
    references: tuple[Reference, ...]
    types: tuple[Typing, ...] = ()


# Between the parts of a name: `Router::get`, `String#upcase`, `request->get`, `App\Reader`.
JOINT = re.compile(r"(?<=[\w$>?!])(?:::|#|->|\\)(?=[\w$~])")


def dotted(name: str) -> str:
    """A name with dots between its parts, as names are stored, whatever its language puts there."""
    return JOINT.sub(".", name)


def last_of(name: str) -> str:
    """The last part of a qualified name: `method` of `Class.method`."""
    return name.rpartition(".")[2]
