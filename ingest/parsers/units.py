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
from treeline.corpus.function import Function
from treeline.graph.references import FileFacts
from treeline.ingest.parsers.captures import TooTangled
from treeline.ingest.parsers.comments import LICENCE, Doc, leading_comment, without_doc
from treeline.ingest.parsers.formats import Block, blocks
from treeline.ingest.parsers.grammar import Grammar
from treeline.ingest.parsers.names import code_tokens, docstring_tokens
from treeline.ingest.parsers.outline import Definition, Outline, outline
from treeline.ingest.parsers.registry import grammar_of
from treeline.ingest.source import Parsed, Problem

UTF_8 = frozenset({"utf-8", "utf-8-sig"})
FUNCTIONS = frozenset({"function", "method"})
HEADED = frozenset({"class", "interface", "enum"})  # their members' bodies are cut out
# As much as an encoder or a reader takes in at once; longer units are tables of data.
MAX_HEAD = 8_000
MAX_CONSTANT = 4_000
MAX_SIGNATURE = 240
# Top-level code in the unit of a file; the rest becomes separate blocks.
MAX_TOP_LEVEL = 4_000
MIN_BLOCK = 200
MAX_OUTLINE = 8_000
ELIDED = " …"
BLANK_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*)+\n")
# Before a definition, on the same line: `export const`, `pub(crate)`, `typedef`.
MODIFIERS = re.compile(rb"[ \t]*((?:[A-Za-z_]+(?:\([a-z]+\))?[ \t]+)*)")
# How a line with an attribute starts; `@end` and `@class` are none.
ATTRIBUTES = {"": (b"@", b"#[", b"[["), "objc": (b"__attribute__",)}
# Files that are known by their folder's name.
GENERIC = frozenset({"index", "main", "mod", "init", "__init__", "lib"})


class FileLocation(NamedTuple):
    """Where a file lives; `url` is its address without lines."""

    repo: str
    path: str
    sha: str
    url: str


def parse_file(
    grammar: Grammar,
    source: bytes,
    place: FileLocation,
    file: str,
    max_function_bytes: int,
    kinds: frozenset[str] = frozenset(),
) -> Parsed:
    """All units of a file, or those of some kinds. A file that is not text or is too long is rejected and reported."""
    encoding = grammar.encoding_of(source)
    try:
        text = source.decode(encoding)
        if encoding not in UTF_8:
            source = text.encode()
    except UnicodeDecodeError as wrong:
        line = source.count(b"\n", 0, wrong.start) + 1
        return Parsed(problems=(Problem(file, line, f"not {encoding.upper()}: {wrong.reason}"),))
    except (LookupError, ValueError) as wrong:  # `rot13` turns text into text
        return Parsed(problems=(Problem(file, 0, f"encoding {encoding} cannot be read: {wrong}"),))
    if not grammar.query:
        made = _Maker(grammar.name, grammar.line_comment, place)
        units = tuple(made.blocks(blocks(grammar.name, text, PurePosixPath(place.path).name)))
        return Parsed(tuple(unit for unit in units if not kinds or unit.kind in kinds))
    try:
        seen = outline(grammar, source, _stem(place.path))
    except TooTangled as tangled:
        return Parsed(problems=(Problem(file, 0, str(tangled)),))
    problems = []
    if seen.broken_at:
        problems.append(Problem(file, seen.broken_at, "does not parse: what begins there may be missing"))
    kept = []
    for found in seen.definitions:
        if found.kind in FUNCTIONS and found.end - found.start > max_function_bytes:
            reason = f"function {found.name} of {found.end - found.start:,} bytes is over {max_function_bytes:,}"
            problems.append(Problem(file, found.first_line, reason))
        else:
            kept.append(found)
    made = _Maker(grammar.name, grammar.line_comment, place)
    units = tuple(made.definitions(source, kept, kinds))
    if not kinds or "file" in kinds:
        units += tuple(made.file(grammar, source, seen, kept))
    facts = FileFacts(place.repo, place.path, grammar.name, seen.symbols, seen.imports, seen.references, seen.types)
    return Parsed(units, (facts,), tuple(problems), shapes=made.shapes)


class Entry(NamedTuple):
    """A line of a file's outline."""

    kind: str
    name: str
    first_line: int
    last_line: int
    signature: str


def file_outline(path: str, source: bytes) -> list[Entry]:
    """What a file defines or contains, in file order; empty if it is not text or takes too long to parse."""
    grammar = grammar_of(path, source)
    if grammar is None:
        return []
    if not grammar.query:
        found = blocks(grammar.name, source.decode("utf-8", "replace"), PurePosixPath(path).name)
        return [
            Entry(one.kind, one.name, one.first_line, one.last_line, one.text.partition("\n")[0][:MAX_SIGNATURE])
            for one in found
            if one.kind != "file"
        ]
    try:
        seen = outline(grammar, source, _stem(path))
    except TooTangled:
        return []
    return [
        Entry(one.kind, one.name, one.first_line, one.last_line, signature(source, one)) for one in seen.definitions
    ]


def signature(source: bytes, found: Definition) -> str:
    """The text before the body, on one line."""
    end = found.body if found.start < found.body <= found.end else source.find(b"\n", found.start, found.end)
    text = source[found.start : end if end > 0 else found.end].decode("utf-8", "replace")
    return " ".join(text.split()).replace("( ", "(").replace(", )", ")").rstrip("{ ")[:MAX_SIGNATURE]


def _stem(path: str) -> str:
    """The short name of a file: `lib/router.js` → `router`, `lib/router/index.js` → `router`."""
    pure = PurePosixPath(path)
    return pure.parent.name if pure.stem in GENERIC and pure.parent.name else pure.stem


@frozen
class _Maker:
    """Makes the records of one file."""

    language: str
    line_comment: str
    place: FileLocation
    shapes: dict[str, str] = field(default_factory=dict)  # the shape terms of functions, by id

    def definitions(self, source: bytes, found: Sequence[Definition], kinds: frozenset[str]) -> Iterator[Function]:
        members: dict[str, list[Definition]] = defaultdict(list)
        for one in found:
            if one.owner:
                members[one.owner].append(one)
        seen: set[tuple[str, str]] = set()
        for one in found:
            if kinds and one.kind not in kinds:
                continue
            if one.kind in FUNCTIONS:
                original = source[one.start : one.end].decode("utf-8", "replace")
                code = without_doc(source, one.start, one.end, one.doc).decode("utf-8", "replace")
            else:
                original, code = self._head(source, one, members.get(one.scope, ()) if one.kind in HEADED else ())
                if (one.name, original) in seen:
                    continue
                seen.add((one.name, original))
            unit = self._unit(one.kind, one.name, original, code, one.doc.text, one.first_line, one.last_line)
            if one.marks is not None and (shape := one.marks.terms()):
                self.shapes[unit.id] = shape
            yield unit

    def _head(self, source: bytes, one: Definition, members: Sequence[Definition]) -> tuple[str, str]:
        """The text of a definition that is not a function, with and without its docstring."""
        start = _declared_from(source, one, ATTRIBUTES.get(self.language, ATTRIBUTES[""]))
        limit = MAX_CONSTANT if one.kind == "constant" else MAX_HEAD
        inside = [member for member in members if one.start <= member.start and member.end <= one.end]
        outside = [member for member in members if not one.start <= member.start < one.end and member.kind in FUNCTIONS]
        texts = []
        for doc in (Doc(""), one.doc) if one.doc.end else (one.doc,):
            text = _elided(source, start, one.end, inside, doc)
            if outside:
                text = "\n".join((text, *(signature(source, member) for member in outside)))
            texts.append(_cut(text.rstrip(), limit))
        return texts[0], texts[-1]

    def file(self, grammar: Grammar, source: bytes, seen: Outline, found: Sequence[Definition]) -> Iterator[Function]:
        """The file's own unit, and blocks for the top-level code that does not fit into it."""
        doc = seen.doc if grammar.file_doc_of else Doc(leading_comment(source, grammar.comments))
        top, members = _nested(found)
        lines, room, rest = [self.place.path], MAX_TOP_LEVEL, []
        at, line, counted = doc.end, 1, 0
        for one in (*top, None):
            end = (one.doc.above or one.start) if one else len(source)
            code = _tidy(source[at:end]) if end > at else ""
            if at == 0 and LICENCE.search(code[:2_000]):
                code = _without_licence(code)
            if len(code) <= room:
                lines += [code] if code else []
                room -= len(code)
            else:
                line, counted = line + source.count(b"\n", counted, at), at
                rest.append((code, line))
            if one is None:
                break
            lines.append(signature(source, one))
            lines += [f"    {signature(source, member)}" for member in members.get(one.start, ())]
            at = max(at, one.end)
        name = PurePosixPath(self.place.path).name
        shown = _cut("\n".join(lines), MAX_TOP_LEVEL + MAX_OUTLINE)
        yield self._unit("file", name, shown, shown, doc.text, 1, source.removesuffix(b"\n").count(b"\n") + 1)
        for code, first in rest:
            if len(code) >= MIN_BLOCK:
                split = blocks("text", code, name, first)
                yield from self.blocks(split)

    def blocks(self, found: Iterable[Block]) -> Iterator[Function]:
        seen: set[tuple[str, str]] = set()
        for one in found:
            if (one.name, one.text) in seen:
                continue
            seen.add((one.name, one.text))
            code = one.code if one.doc else one.text
            yield self._unit(one.kind, one.name, one.text, code, one.doc, one.first_line, one.last_line)

    def _unit(self, kind: str, name: str, original: str, code: str, doc: str, first: int, last: int) -> Function:
        place = self.place
        return Function(
            repo=place.repo,
            path=place.path,
            func_name=name,
            original_string=original,
            language=self.language,
            code=code,
            # Only for functions, as in CodeSearchNet: tokens take a quarter of the parsing time.
            code_tokens=code_tokens(code, self.line_comment) if kind in FUNCTIONS else (),
            docstring=doc,
            docstring_tokens=docstring_tokens(doc),
            sha=place.sha,
            partition="",
            url=f"{place.url}#L{first}-L{last}",
            kind=kind,
        )


def _declared_from(source: bytes, one: Definition, attributes: tuple[bytes, ...]) -> int:
    """Where a declaration starts, with modifiers before it on its line and attributes on the lines above."""
    line = source.rfind(b"\n", max(0, one.start - MAX_SIGNATURE), one.start) + 1
    before = MODIFIERS.fullmatch(source, line, one.start)
    if before is None:
        return one.start
    start = before.start(1)
    while one.kind in HEADED and line:
        above = source.rfind(b"\n", max(0, line - 1 - MAX_SIGNATURE), line - 1) + 1
        if not source[above:line].lstrip().startswith(attributes):
            break
        line = above
        start = above + len(source[above:start]) - len(source[above:start].lstrip())
    return start


def _elided(source: bytes, start: int, end: int, members: Iterable[Definition], doc: Doc) -> str:
    """The text between two bytes, without its docstring and without the members' bodies and doc comments."""
    pieces, at = [], start
    if doc.end:
        pieces, at = [source[at : doc.start].rstrip()], doc.end
    for member in members:
        if member.start < at or member.kind in ("constant", "type"):
            continue
        above = member.doc.above if member.doc.above >= at else 0
        before = source[at : above or member.start]
        if above:
            line = source.rfind(b"\n", above, member.start) + 1
            indent = source[line : member.start]
            if indent.isspace():  # the member takes the place of its comment, which is indented as well
                before = before.rstrip(b" \t") + indent
        pieces.append(before)
        pieces.append(signature(source, member).encode() + ELIDED.encode())
        at = member.end
    pieces.append(source[at:end])
    return BLANK_LINES.sub("\n", b"".join(pieces).decode("utf-8", "replace"))


def _nested(found: Iterable[Definition]) -> tuple[list[Definition], dict[int, list[Definition]]]:
    """The outermost definitions except constants, and by their start the members to list under them."""
    top: list[Definition] = []
    members: dict[int, list[Definition]] = defaultdict(list)
    for one in found:
        if one.kind == "constant":
            continue
        if top and one.start < top[-1].end:
            if top[-1].kind in HEADED:
                members[top[-1].start].append(one)
        else:
            top.append(one)
    return top, members


def _tidy(source: bytes) -> str:
    lines = (line.rstrip() for line in source.decode("utf-8", "replace").removeprefix("\ufeff").splitlines())
    return BLANK_LINES.sub("\n\n", "\n".join(lines)).strip("\n")


def _without_licence(code: str) -> str:
    """The code without the licence comment at its top."""
    head, _, rest = code.partition("\n\n")
    return rest if LICENCE.search(head) and not re.search(r"^\w+.*[({=;]\s*$", head, re.MULTILINE) else code


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[:limit].rsplit("\n", 1)[0] + "\n…"
