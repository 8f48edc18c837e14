"""Sweeps over the captures of a language's query in a file: definitions, symbols, imports, references.

`outline` reads a whole file, `single` a function on its own, as CodeSearchNet stores it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import NamedTuple

from tree_sitter import Node

from treeline.corpus.frozen import frozen
from treeline.graph.references import MAKES, PRIVATE, Import, Reference, Relation, Symbol, SymbolKind, Typing
from treeline.ingest.parsers.captures import (
    DEFINITIONS,
    ERROR,
    HEAD,
    RELATION_OF,
    captures_of,
    recovered_captures,
)
from treeline.ingest.parsers.comments import NO_DOC, Doc
from treeline.ingest.parsers.grammar import FILE_NAME, NEVER, Grammar, empty, text_of
from treeline.ingest.parsers.names import target
from treeline.ingest.parsers.shape import CAPTURES, DECORATOR, Marks

# The kinds of definitions in the call graph, which has no constants.
SYMBOL_OF: dict[str, SymbolKind] = {
    "function": "function",
    "signature": "function",
    "class": "class",
    "enum": "class",
    "type": "class",
    "interface": "interface",
}
REFERRING = (*RELATION_OF, "local", "bind", "import", *CAPTURES)
SHAPES = frozenset(CAPTURES)
CALLS = ("call", "made")
# Names of the current object, which are not variables.
SELF = frozenset({"self", "cls", "this", "$this"})
NO_VALUE = frozenset({"None", "null", "nil", "undefined", "nullptr", "NULL"})
FIRST_NAME = re.compile(r"[^.(\[]+")
# Captures that do not count if the name is a local variable of the same function.
BARE_NAMES = frozenset({"bare", "uses"})
# Code that people write is nested less deeply; generated input could make names of megabytes.
MAX_DEPTH = 100
EXPORTS = "exports"


class Definition(NamedTuple):
    """A definition in a file: kind, qualified name, lines, byte range, docstring.

    `body` is the byte where its body starts, 0 if unknown. `owner` is the qualified name of its owner.
    """

    kind: str
    name: str
    first_line: int
    last_line: int
    start: int
    end: int
    doc: Doc
    body: int = 0
    owner: str = ""
    scope: str = ""  # the name with which it qualifies its members
    marks: Marks | None = None  # of a function: what its shape is read from


class Outline(NamedTuple):
    """Everything found in one file, in file order."""

    definitions: tuple[Definition, ...]
    symbols: tuple[Symbol, ...]
    imports: tuple[Import, ...]
    references: tuple[Reference, ...]
    types: tuple[Typing, ...]
    broken_at: int  # the first line that does not parse; 0 if the whole file does
    doc: Doc  # the file's own

    @property
    def functions(self) -> tuple[Definition, ...]:
        return tuple(one for one in self.definitions if one.kind in ("function", "method"))


@frozen
class _Scope:
    """A definition that encloses the current position."""

    end: int
    name: str
    is_function: bool
    least: int  # lines of what is a unit of its own inside it; shorter definitions belong to it
    receiver: str = ""  # the variable for the object that a method is called on
    # The values of its local variables, empty if not known.
    values: dict[str, str] = field(default_factory=dict)
    marks: Marks | None = None


@dataclass(slots=True)
class _Sweep:
    """The state of the sweep: the definitions that enclose the current position, and what was found so far."""

    grammar: Grammar
    source: bytes
    stem: str
    scopes: list[_Scope] = field(default_factory=list)
    definitions: list[Definition] = field(default_factory=list)
    symbols: list[Symbol] = field(default_factory=list)
    imports: list[Import] = field(default_factory=list)
    references: dict[tuple[str, int, str], tuple[Reference, tuple[_Scope, ...]]] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    clause: str = ""  # what the clauses of the last function have in common
    # The first signature of each function without a body.
    signatures: dict[str, Definition] = field(default_factory=dict)
    decorators: list[tuple[int, int]] = field(default_factory=list)  # of the next definition

    def define(self, capture: str, node: Node, name: str) -> None:
        scopes, grammar = self.scopes, self.grammar
        inside = any(scope.is_function for scope in scopes)
        lines = node.end_point.row - node.start_point.row + 1
        if not name or len(scopes) >= MAX_DEPTH or any(lines < scope.least for scope in scopes):
            if capture == "function" and scopes and scopes[-1].marks is not None:
                scopes[-1].marks.inner.append((name, node.start_byte, node.end_byte))
            return
        if inside and capture == "constant":
            return
        if name == FILE_NAME:
            name = self.stem or EXPORTS
        owner = grammar.owner_of(node) or (self.scope if grammar.nests else "")
        is_function = capture == "function"
        tail = grammar.end_of(node) if is_function else node
        first, last = node.start_point.row + 1, _last_line(tail)
        own_scope = grammar.scope_of(name)
        full_name = f"{owner}.{own_scope}" if owner else own_scope
        if own_scope != name:
            owner = ""
        else:
            name = full_name
        if capture in SYMBOL_OF:
            self.symbols.append(Symbol(name, SYMBOL_OF[capture], first, last))
            if SYMBOL_OF[capture] == "function":
                if capture == "function" or owner:  # of overloads, the one with the body tells
                    self._hold(self.types, f"{name}()", grammar.returns_of(node))
                if grammar.is_private(node):
                    self.types[name] = PRIVATE
        marks = None
        if capture not in ("signature", "scope"):
            kind = capture
            if is_function and owner and not (scopes and scopes[-1].is_function):
                kind = "method"
            if grammar.merges and is_function and self._continues(name, grammar.clause_of(node), tail.end_byte, last):
                scopes.append(_Scope(node.end_byte, full_name, True, NEVER, marks=self.definitions[-1].marks))
                return
            body = grammar.body_of(node) if capture != "constant" else 0
            doc = grammar.doc(node, self.source)
            if not doc.text and is_function and name in self.signatures:
                doc = Doc(self.signatures[name].doc.text)  # overloads share the first one's
            start, end = node.start_byte, tail.end_byte
            if is_function:
                marks = Marks(grammar.name, name, self.source, start, end, body, kind == "method")
                self._decorate(marks)
            self.definitions.append(Definition(kind, name, first, last, start, end, doc, body, owner, full_name, marks))
        elif capture == "signature" and name not in self.signatures:
            doc = grammar.doc(node, self.source)
            start, end = node.start_byte, node.end_byte
            self.signatures[name] = Definition("function", name, first, last, start, end, doc, 0, owner, full_name)
        if capture != "constant":
            least = grammar.least_inside(last - first) if is_function else 0
            receiver = grammar.receiver_of(node) if is_function else ""
            scopes.append(_Scope(node.end_byte, full_name, is_function, least, receiver, marks=marks))

    def mark(self, kind: str, start: int, end: int) -> None:
        """Record a statement for the shape of the function around it."""
        marks = self.scopes[-1].marks if self.scopes else None
        if marks is not None:
            marks.spans.append((kind, start, end))
        elif kind == DECORATOR:
            self.decorators.append((start, end))

    def _decorate(self, marks: Marks) -> None:
        """Give a function the decorators right above it."""
        start = marks.start
        for first, end in reversed(self.decorators):
            if self.source[end:start].strip():
                break
            marks.spans.append((DECORATOR, first, end))
            start = first
        self.decorators.clear()

    def _continues(self, name: str, clause: str, end: int, last_line: int) -> bool:
        """Whether this is another clause of the previous function, which is then extended."""
        before = self.definitions[-1] if self.definitions else None
        same, self.clause = clause == self.clause, clause
        if before is None or not same or before.name != name or before.kind not in ("function", "method"):
            return False
        self.definitions[-1] = before._replace(end=end, last_line=last_line)
        return True

    def refer(self, capture: str, node: Node) -> None:
        start, end = self.grammar.target_of(node)
        name = self._own(target(self.source, start, end, is_chain=True))
        if capture in CALLS and self.scopes and self.scopes[-1].marks is not None:
            self.scopes[-1].marks.calls.append((name, start, end))
        if capture == "made" and name:
            name = MAKES + name
        key = (capture, id(self.scopes[-1]) if self.scopes else 0, name)
        if name and key not in self.references:
            reference = Reference(RELATION_OF[capture], self.scope, name, node.start_point.row + 1)
            self.references[key] = (reference, tuple(self.scopes))

    def _own(self, name: str) -> str:
        """A name with the receiver's variable replaced by `self`."""
        if ("?" in name or "!" in name) and not self.grammar.marks_in_names:
            name = name[:1] + name[1:].replace("?.", ".").replace("!.", ".")
        if self.grammar.receiver_of is empty or "." not in name:
            return name
        first, dot, rest = name.partition(".")
        return f"self.{rest}" if dot and any(first == scope.receiver for scope in self.scopes) else name

    @property
    def scope(self) -> str:
        return self.scopes[-1].name if self.scopes else ""

    def bind(self, name: str, value: str) -> None:
        """Record the value of a name: a local variable, a field of the class, or a module's variable."""
        if value in NO_VALUE:
            return
        value = self.resolve(self._own(value), self.scopes) if value else ""
        # The result of a call is known; the function that a variable holds is not.
        if value.startswith("?"):
            value = ""
        if name.startswith("self."):
            owner = next((scope.name for scope in reversed(self.scopes) if not scope.is_function), "")
            if owner:
                self._hold(self.types, f"{owner}.{name[5:]}", value, is_type=True)
        elif not self.scopes:
            self._hold(self.types, name, value)
        elif self.scopes[-1].is_function:
            self._hold(self.scopes[-1].values, name, value)
        else:
            self._hold(self.types, f"{self.scope}.{name}", value, is_type=True)

    @staticmethod
    def _hold(values: dict[str, str], name: str, value: str, *, is_type: bool = False) -> None:
        """Keep a value, or none if there are several. A field's declared type wins over assignments."""
        before = values.get(name)
        if before is None or (is_type and value.startswith(":") and not before.startswith(":")):
            values[name] = value
        elif before != value and not (is_type and before.startswith(":")):
            values[name] = ""

    def resolve(self, name: str, scopes: Sequence[_Scope], *, is_call: bool = False) -> str:
        """A name with a local variable replaced by its value, `?` if that is not known."""
        first = FIRST_NAME.match(name)
        value = self._value_of(first[0], scopes) if first is not None else None
        if first is None or value is None:
            return name
        rest = name[first.end() :]
        if not rest and is_call and (value.endswith((")", "]")) or value.startswith(":")):
            return ""  # this calls the variable's value, not a function of the same name
        if not value:
            return f"?{rest}" if "." in rest else ""
        return value + rest

    @staticmethod
    def _value_of(name: str, scopes: Sequence[_Scope]) -> str | None:
        for scope in reversed(scopes):
            if scope.is_function and name in scope.values:
                return scope.values[name]
        return None

    def all_definitions(self) -> tuple[Definition, ...]:
        """All definitions in file order. A function that is only declared is one too, if no class has it."""
        names = {one.name for one in self.definitions}
        bare_signatures = [one for one in self.signatures.values() if not one.owner and one.name not in names]
        if not bare_signatures:
            return tuple(self.definitions)
        return tuple(sorted((*self.definitions, *bare_signatures), key=_first_byte))

    def all_references(self) -> Iterator[Reference]:
        """Every reference once, with local variables replaced by their values or left out."""
        known: set[tuple[Relation, str, str]] = set()
        for (capture, _, _), (reference, scopes) in self.references.items():
            name = reference.target
            first = name.partition(".")[0]
            if capture in BARE_NAMES:
                if self._value_of(first, scopes) is not None:
                    continue
            else:
                is_call = reference.relation == "calls"
                if not (is_call and self.grammar.calls_no_variables and name.isidentifier()):
                    name = self.resolve(name, scopes, is_call=is_call)
            key = (reference.relation, reference.source, name)
            if name and key not in known:
                known.add(key)
                yield reference if name == reference.target else reference._replace(target=name)


def functions_in(grammar: Grammar, node: Node) -> Iterator[tuple[Node, str]]:
    """The functions that a captured node defines, with their names."""
    if grammar.functions_of is None:
        yield node, grammar.definition_name(node)
    else:
        yield from grammar.functions_of(node)


def _last_line(node: Node) -> int:
    """Some grammars count the newline behind a definition as a part of it."""
    row, column = node.end_point
    return row + (column > 0 or row == node.start_point.row)


def _first_byte(one: Definition) -> tuple[int, int]:
    return one.start, -one.end


def _start(node: Node) -> int:
    return node.start_byte


def _definitions(grammar: Grammar, captures: dict[str, list[Node]]) -> Iterator[tuple[str, Node, str]]:
    """Every definition once: capture, node and name."""
    starts: set[int] = set()
    for kind in DEFINITIONS:
        # In file order: a call that names its callback comes before the callback.
        for capture in sorted(captures.get(kind, ()), key=_start):
            if kind == "function":
                pairs = functions_in(grammar, capture)
            elif kind == "constant" and grammar.constants_of is not None:
                pairs = iter(grammar.constants_of(capture))
            else:
                pairs = iter(((capture, grammar.definition_name(capture)),))
            for node, name in pairs:
                if name and node.id not in starts:
                    starts.add(node.id)
                    yield kind, node, name


def outline(grammar: Grammar, source: bytes, stem: str = "") -> Outline:
    """Parse one file and sweep over its definitions and references from top to bottom.

    `stem` names a function that is the file's only export.
    """
    root, captures = recovered_captures(grammar, source)
    heads = set(captures.get(HEAD, ()))
    # If two start together: the longer first, and definitions before references.
    events = [
        (node.start_byte, -node.end_byte, kind not in DEFINITIONS, kind, node, name)
        for kind, node, name in (
            *_definitions(grammar, captures),
            *((kind, node, "") for kind in REFERRING for node in captures.get(kind, ()) if node not in heads),
        )
    ]
    events.sort(key=itemgetter(0, 1, 2))
    sweep = _Sweep(grammar, source, stem)
    for start, end, _, kind, node, name in events:
        while sweep.scopes and sweep.scopes[-1].end <= start:
            sweep.scopes.pop()
        if kind in DEFINITIONS:
            sweep.define(kind, node, name)
        elif kind in SHAPES:
            sweep.mark(kind, start, -end)
        elif kind in RELATION_OF:
            sweep.refer(kind, node)
        elif kind == "local":
            name = text_of(node)
            if name not in SELF:
                sweep.bind(name, "")
        elif kind == "bind":
            for variable, value in grammar.bindings_of(node):
                sweep.bind(variable, value)
        else:
            sweep.imports += grammar.imports_of(node)
    return Outline(
        sweep.all_definitions(),
        tuple(sweep.symbols),
        tuple(sweep.imports),
        tuple(sweep.all_references()),
        tuple(Typing(name, value) for name, value in sweep.types.items() if value),
        min((node.start_point.row + 1 for node in captures.get(ERROR, ())), default=0),
        grammar.file_doc_of(root, source) if grammar.file_doc_of is not None else Doc(""),
    )


@frozen
class Single:
    """The result of parsing a function on its own; `name` is the parser's, empty if it found no function."""

    name: str
    doc: Doc
    symbol: Symbol
    imports: tuple[Import, ...]
    references: tuple[Reference, ...]
    marks: Marks


def single(grammar: Grammar, source: bytes, func_name: str, first_line: int = 1) -> Single:
    """Parse a function on its own. `func_name` is the source of every reference; lines count from `first_line`."""
    before, after = grammar.wrap
    symbol = Symbol(func_name, "function", first_line, first_line + source.count(b"\n"))
    source = before + source + after if before else source
    captures = captures_of(grammar, source, alone=True)
    if heads := set(captures.pop(HEAD, ())):
        for capture in RELATION_OF.keys() & captures.keys():
            captures[capture] = [node for node in captures[capture] if node not in heads]
    outermost, name = _outermost(grammar, captures.get("function", ()))
    return Single(
        name,
        grammar.doc(outermost, source) if outermost is not None and not before else NO_DOC,
        symbol,
        tuple(one for node in sorted(captures.get("import", ()), key=_start) for one in grammar.imports_of(node)),
        tuple(
            Reference(relation, func_name, text, first_line + node.start_point.row)
            for (relation, text), (_, node) in _first_of_each(grammar, source, captures)
        ),
        _marks(grammar, source, func_name, captures, outermost),
    )


def _marks(
    grammar: Grammar, source: bytes, func_name: str, captures: Mapping[str, Sequence[Node]], outermost: Node | None
) -> Marks:
    """The marks of a function on its own."""
    owner, _, own = func_name.rpartition(".")
    body = grammar.body_of(outermost) if outermost is not None else 0
    start, end = (outermost.start_byte, outermost.end_byte) if outermost is not None else (0, len(source))
    marks = Marks(grammar.name, func_name, source, start, end, body, bool(owner))
    marks.spans += sorted(
        ((kind, node.start_byte, node.end_byte) for kind in CAPTURES for node in captures.get(kind, ())),
        key=itemgetter(1),
    )
    receiver = f"{grammar.receiver_of(outermost)}." if outermost is not None else "."
    for node in (node for capture in CALLS for node in captures.get(capture, ())):
        first, last = grammar.target_of(node)
        name = target(source, first, last)
        marks.calls.append((f"self.{own}" if name == receiver + own else name, first, last))
    for function in captures.get("function", ()):
        for node, name in functions_in(grammar, function):
            if outermost is None or node.start_byte > outermost.start_byte:
                marks.inner.append((name, node.start_byte, node.end_byte))
    return marks


def _outermost(grammar: Grammar, nodes: Sequence[Node]) -> tuple[Node | None, str]:
    pairs = [(node, name) for one in nodes for node, name in functions_in(grammar, one) if name]
    return min(pairs, key=lambda one: (one[0].start_byte, -one[0].end_byte), default=(None, ""))


def _first_of_each(
    grammar: Grammar, source: bytes, captures: Mapping[str, Sequence[Node]]
) -> list[tuple[tuple[Relation, str], tuple[int, Node]]]:
    """The first occurrence of every relation and name, in text order (captures come in no order)."""
    target_of = grammar.target_of
    local_names = {node.text.decode("utf-8", "replace") for node in captures.get("local", ()) if node.text}
    if "bare" in captures:
        local_names.update(name for node in captures.get("bind", ()) for name, _ in grammar.bindings_of(node))
    first: dict[tuple[Relation, str], tuple[int, Node]] = {}
    for capture, relation in RELATION_OF.items():
        is_bare = capture in BARE_NAMES
        for node in captures.get(capture, ()):
            start, end = target_of(node)
            dotted_name = target(source, start, end)
            if not dotted_name or (is_bare and dotted_name.partition(".")[0] in local_names):
                continue
            key = (relation, dotted_name)
            known = first.get(key)
            if known is None or start < known[0]:
                first[key] = (start, node)
    return sorted(first.items(), key=_position)


def _position(reference: tuple[tuple[Relation, str], tuple[int, Node]]) -> tuple[int, Relation, str]:
    (relation, text), (start, _) = reference
    return start, relation, text
