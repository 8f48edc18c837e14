"""What a parser finds in a file besides its units: symbols, imports and references by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Relation = Literal["calls", "extends", "implements", "uses"]
SymbolKind = Literal["function", "class", "interface"]
NodeKind = Literal["function", "class", "interface", "module"]
# A stored call graph encodes relations and kinds by their positions here.
RELATIONS: tuple[Relation, ...] = get_args(Relation)
NODE_KINDS: tuple[NodeKind, ...] = get_args(NodeKind)
CLASSES: tuple[NodeKind, ...] = ("class", "interface")  # kinds with members


@dataclass(frozen=True, slots=True)
class Symbol:
    """A definition: its name qualified within the file (`Class.method`), and its lines."""

    name: str
    kind: SymbolKind
    first_line: int
    last_line: int


@dataclass(frozen=True, slots=True)
class Import:
    """`from module import name as alias`; `name` is empty when the whole module is imported."""

    module: str
    name: str
    alias: str


@dataclass(frozen=True, slots=True)
class Typing:
    """What a name of this file holds: a field (`Engine.trees`), a module's variable, or what a function gives
    (`Engine.get()`). `value` is an expression: `:Node` is an object of a type, `:Node[]` something that holds such
    objects, `make().node` what that gives. `private` marks a function that other files don't see."""

    name: str
    value: str


PRIVATE = "private"


@dataclass(frozen=True, slots=True)
class Reference:
    """`source` (a symbol of this file, empty for module level) refers to `target`, a dotted name as written, with `()`
    for a call and `[]` for an index on the way to it, and local variables replaced by what they hold."""

    relation: Relation
    source: str
    target: str
    line: int


@dataclass(frozen=True, slots=True)
class FileFacts:
    """The facts of one file, from which the call graph of a repository is resolved."""

    repo: str
    path: str
    language: str
    symbols: tuple[Symbol, ...]
    imports: tuple[Import, ...]
    references: tuple[Reference, ...]
    types: tuple[Typing, ...] = ()
