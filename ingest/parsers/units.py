"""Turns one file into units of the index (functions, class heads, types, constants, the file itself) and facts.

A class unit is its head: signature, docstring, fields, and its methods' signatures without their bodies. A file unit
is its path, docs, top-level code and the signatures of what it defines.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from pathlib import PurePosixPath
from typing import NamedTuple

from treeline.corpus.frozen import frozen
from treeline.corpus.function import FUNCTION_KINDS, Function
from treeline.graph.references import FileFacts
from treeline.ingest.parsers.captures import TooTangled
from treeline.ingest.parsers.comments import Doc, leading_comment, without_doc, without_licence
from treeline.ingest.parsers.formats import Block, blocks
from treeline.ingest.parsers.grammar import Grammar
from treeline.ingest.parsers.outline import Definition, Outline, outline
from treeline.ingest.source import Parsed, Problem

UTF_8 = frozenset({"utf-8", "utf-8-sig"})
HEAD_KINDS = frozenset({"class", "interface", "enum"})  # their members' bodies are cut out
REOPENED = frozenset({"ruby"})  # languages whose files open a module again to add to it
NAMESPACE_LINES = 3  # its head, an elided module, and `end`
# As much as an encoder or a reader takes in at once; longer units are tables of data.
MAX_HEAD = 8_000
MAX_CONSTANT = 4_000
MAX_SIGNATURE = 240
# Top-level code in the unit of a file; the rest becomes separate blocks.
MAX_TOP_LEVEL = 4_000
MIN_BLOCK = 200
MAX_OUTLINE = 8_000
ELLIPSIS = " …"
BLANK_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*)+\n")
# Before a definition, on the same line: `export const`, `pub(crate)`, `typedef`.
MODIFIERS = re.compile(rb"[ \t]*((?:[A-Za-z_]+(?:\([a-z]+\))?[ \t]+)*)")
# How a line with an attribute starts; `@end` and `@class` are none.
ATTRIBUTES = {"": (b"@", b"#[", b"[["), "objc": (b"__attribute__",)}
# The same where a function's decorators are no part of it in the tree: `@app.route("/login")`.
DECORATORS = {"python": (b"@",), "typescript": (b"@",), "javascript": (b"@",), "rust": (b"#[",)}
MAX_DECORATOR = 30  # lines
# Files that are known by their folder's name.
GENERIC = frozenset({"index", "main", "mod", "init", "__init__", "lib"})


class FileLocation(NamedTuple):
    """The location of a file; `url` is its address without lines."""

    repo: str
    path: str
    sha: str
    url: str


def parse_file(
    grammar: Grammar,
    source: bytes,
    location: FileLocation,
    file: str,
    max_function_bytes: int,
    kinds: frozenset[str] = frozenset(),
) -> Parsed:
    """All units of a file, or those of some kinds. A file that is not text or is too long is rejected and reported."""
    encoding = grammar.encoding_of(source)
    try:
        source, text = _decode(source, encoding)
    except UnicodeDecodeError as wrong:
        line = source.count(b"\n", 0, wrong.start) + 1
        return Parsed(problems=(Problem(file, line, f"not {encoding.upper()}: {wrong.reason}"),))
    except (LookupError, ValueError) as wrong:  # `rot13` turns text into text
        return Parsed(problems=(Problem(file, 0, f"encoding {encoding} cannot be read: {wrong}"),))
    if not grammar.query:
        maker = _Maker(grammar.name, location)
        units = tuple(maker.blocks(blocks(grammar.name, text, PurePosixPath(location.path).name)))
        return Parsed(tuple(unit for unit in units if not kinds or unit.kind in kinds))
    try:
        parse = outline(grammar, source, _stem(location.path))
    except TooTangled as tangled:
        return Parsed(problems=(Problem(file, 0, str(tangled)),))
    problems = []
    if parse.broken_at:
        problems.append(Problem(file, parse.broken_at, "does not parse: what begins there may be missing"))
    within_limit = []
    for definition in parse.definitions:
        if definition.kind in FUNCTION_KINDS and (size := definition.end - definition.start) > max_function_bytes:
            reason = f"function {definition.name} of {size:,} bytes is over {max_function_bytes:,}"
            problems.append(Problem(file, definition.first_line, reason))
        else:
            within_limit.append(definition)
    maker = _Maker(grammar.name, location)
    units = tuple(maker.definitions(source, within_limit, kinds))
    if not kinds or "file" in kinds:
        units += tuple(maker.file(grammar, source, parse, within_limit))
    where = (location.repo, location.path, grammar.name)
    facts = FileFacts(*where, parse.symbols, parse.imports, parse.references, parse.types)
    return Parsed(units, (facts,), tuple(problems), shapes=maker.shapes)


def _decode(source: bytes, encoding: str) -> tuple[bytes, str]:
    """A file's text, as UTF-8 and decoded."""
    text = source.decode(encoding)
    return source if encoding in UTF_8 else text.encode(), text


def signature(source: bytes, one: Definition) -> str:
    """The text before the body, on one line."""
    end = one.body if one.start < one.body <= one.end else source.find(b"\n", one.start, one.end)
    text = source[one.start : end if end > 0 else one.end].decode("utf-8", "replace")
    return " ".join(text.split()).replace("( ", "(").replace(", )", ")").rstrip("{ ")[:MAX_SIGNATURE]


def _stem(path: str) -> str:
    """The short name of a file: `lib/router.js` → `router`, `lib/router/index.js` → `router`."""
    pure = PurePosixPath(path)
    return pure.parent.name if pure.stem in GENERIC and pure.parent.name else pure.stem


@frozen
class _Maker:
    """Makes the records of one file."""

    language: str
    location: FileLocation
    shapes: dict[str, str] = field(default_factory=dict)  # the shape terms of functions, by id

    def definitions(self, source: bytes, every: Sequence[Definition], kinds: frozenset[str]) -> Iterator[Function]:
        members: dict[str, list[Definition]] = defaultdict(list)
        for one in every:
            if one.owner:
                members[one.owner].append(one)
        known: set[tuple[str, str]] = set()
        for one in every:
            if kinds and one.kind not in kinds:
                continue
            start = one.start
            if one.kind in FUNCTION_KINDS:
                start = _decorators(source, start, DECORATORS.get(self.language, ()))
                original = source[start : one.end].decode("utf-8", "replace")
                code = without_doc(source, start, one.end, one.doc).decode("utf-8", "replace")
            else:
                inside = members.get(one.scope, ()) if one.kind in HEAD_KINDS else ()
                original, code = self._head(source, one, inside)
                if self.language in REOPENED and _is_namespace(one, inside, original):
                    continue
                if (one.name, original) in known:
                    continue
                known.add((one.name, original))
            first = one.first_line - source.count(b"\n", start, one.start)
            unit = self._unit(one.kind, one.name, original, code, one.doc.text, first, one.last_line)
            if one.marks is not None and (shape := one.marks.terms()):
                self.shapes[unit.id] = shape
            yield unit

    def _head(self, source: bytes, one: Definition, members: Sequence[Definition]) -> tuple[str, str]:
        """The text of a definition that is not a function, with and without its docstring."""
        start = _first_byte(source, one, ATTRIBUTES.get(self.language, ATTRIBUTES[""]))
        limit = MAX_CONSTANT if one.kind == "constant" else MAX_HEAD
        inside = [member for member in members if one.start <= member.start and member.end <= one.end]
        outside = [
            member for member in members if not one.start <= member.start < one.end and member.kind in FUNCTION_KINDS
        ]
        texts = []
        for doc in (Doc(""), one.doc) if one.doc.end else (one.doc,):
            text = _elide(source, start, one.end, inside, doc)
            if outside:
                text = "\n".join((text, *(signature(source, member) for member in outside)))
            texts.append(_cut(text.rstrip(), limit))
        return texts[0], texts[-1]

    def file(
        self, grammar: Grammar, source: bytes, parse: Outline, definitions: Sequence[Definition]
    ) -> Iterator[Function]:
        """The file's own unit, and blocks for the top-level code that does not fit into it."""
        doc = parse.doc if grammar.file_doc_of else Doc(leading_comment(source, grammar.comments))
        top, members = _nest(definitions)
        lines, room, rest = [self.location.path], MAX_TOP_LEVEL, []
        at, line, line_start = doc.end, 1, 0
        for one in (*top, None):
            end = (one.doc.above or one.start) if one else len(source)
            code = _tidy(source[at:end]).lstrip(";\n") if end > at else ""
            if at == 0:
                code = without_licence(code, grammar.comments)
            if len(code) <= room:
                lines += [code] if code else []
                room -= len(code)
            else:
                line, line_start = line + source.count(b"\n", line_start, at), at
                rest.append((code, line))
            if one is None:
                break
            lines.append(signature(source, one))
            lines += [f"    {signature(source, member)}" for member in members.get(one.start, ())]
            at = max(at, one.end)
        name = PurePosixPath(self.location.path).name
        content = _cut("\n".join(lines), MAX_TOP_LEVEL + MAX_OUTLINE)
        yield self._unit("file", name, content, content, doc.text, 1, source.removesuffix(b"\n").count(b"\n") + 1)
        for code, first in rest:
            if len(code) >= MIN_BLOCK:
                split = blocks("text", code, name, first)
                yield from self.blocks(split)

    def blocks(self, every: Iterable[Block]) -> Iterator[Function]:
        known: set[tuple[str, str]] = set()
        for one in every:
            if (one.name, one.text) in known:
                continue
            known.add((one.name, one.text))
            code = one.code if one.doc else one.text
            yield self._unit(one.kind, one.name, one.text, code, one.doc, one.first_line, one.last_line)

    def _unit(self, kind: str, name: str, original: str, code: str, doc: str, first: int, last: int) -> Function:
        location = self.location
        return Function(
            repo=location.repo,
            path=location.path,
            func_name=name,
            original_string=original,
            language=self.language,
            code=code,
            code_tokens=(),  # CodeSearchNet's, which nothing reads; they were half of what is stored of a unit
            docstring=doc,
            docstring_tokens=(),
            sha=location.sha,
            partition="",
            url=f"{location.url}#L{first}-L{last}",
            kind=kind,
        )


def _is_namespace(one: Definition, members: Sequence[Definition], head: str) -> bool:
    """Whether a module only holds another one: as a unit it would stand once for each file."""
    own_lines = sum(map(bool, map(str.strip, head.splitlines())))
    return not one.doc.text and len(members) == 1 and members[0].kind in HEAD_KINDS and own_lines <= NAMESPACE_LINES


def _first_byte(source: bytes, one: Definition, attributes: tuple[bytes, ...]) -> int:
    """The start of a declaration, with modifiers before it on its line and attributes on the lines above."""
    line = source.rfind(b"\n", max(0, one.start - MAX_SIGNATURE), one.start) + 1
    before = MODIFIERS.fullmatch(source, line, one.start)
    if before is None:
        return one.start
    start = before.start(1)
    return _decorators(source, start, attributes) if one.kind in HEAD_KINDS else start


def _decorators(source: bytes, start: int, marks: tuple[bytes, ...]) -> int:
    """The first byte of the decorators, some of several lines, on the lines above a definition; `start` without any."""
    end = line = source.rfind(b"\n", max(0, start - MAX_SIGNATURE), start) + 1
    if not marks or not line or (indent := source[line:start]).strip():
        return start
    for _ in range(MAX_DECORATOR):
        above = source.rfind(b"\n", max(0, end - MAX_SIGNATURE), max(0, end - 1)) + 1
        if end - above > MAX_SIGNATURE or not source.startswith(indent, above):
            break
        rest = source[above:end].removeprefix(indent)
        if not rest.strip():
            break
        if rest.startswith(marks):
            start = above + len(indent)
        elif not rest.startswith((b" ", b"\t", b")", b"]", b"}")):  # not the inside or the end of one
            break
        end = above
    return start


def _elide(source: bytes, start: int, end: int, members: Iterable[Definition], doc: Doc) -> str:
    """The text between two bytes, without its docstring and without the members' bodies and doc comments."""
    pieces, at = [], start
    if doc.end:
        pieces, at = [source[at : doc.start].rstrip()], doc.end
    for member in members:
        if member.start < at or member.kind in ("constant", "type"):
            continue
        comment = member.doc.above if member.doc.above >= at else 0
        before = source[at : comment or member.start]
        if comment:
            line = source.rfind(b"\n", comment, member.start) + 1
            indent = source[line : member.start]
            if indent.isspace():  # the member takes the place of its comment, which is indented as well
                before = before.rstrip(b" \t") + indent
        pieces.append(before)
        pieces.append(signature(source, member).encode() + ELLIPSIS.encode())
        at = member.end
    pieces.append(source[at:end])
    return BLANK_LINES.sub("\n", b"".join(pieces).decode("utf-8", "replace"))


def _nest(definitions: Iterable[Definition]) -> tuple[list[Definition], dict[int, list[Definition]]]:
    """The outermost definitions except constants, and by their start the members to list under them."""
    top: list[Definition] = []
    members: dict[int, list[Definition]] = defaultdict(list)
    for one in definitions:
        if one.kind == "constant":
            continue
        if top and one.start < top[-1].end:
            if top[-1].kind in HEAD_KINDS:
                members[top[-1].start].append(one)
        else:
            top.append(one)
    return top, members


def _tidy(source: bytes) -> str:
    lines = (line.rstrip() for line in source.decode("utf-8", "replace").removeprefix("\ufeff").splitlines())
    return BLANK_LINES.sub("\n\n", "\n".join(lines)).strip("\n")


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[:limit].rsplit("\n", 1)[0] + "\n…"
