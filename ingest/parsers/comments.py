"""Doc comments: the comment right above a definition, without its markers.

Comments are read from the text, not from the tree. tree-sitter finds a previous sibling by walking all siblings, so a
file of a hundred thousand comments would take quadratic time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

# A line with one of these in front of the definition starts or ends something else.
OTHER = re.compile(rb"[{};]")
STAR = re.compile(r"^[ \t]*\*+[ \t]?", re.MULTILINE)
RULE = re.compile(r"[-=*#~_/%;+]{4,}")  # a line of dashes or the like around a comment
SHEBANG = re.compile(rb"(?:\xef\xbb\xbf)?#!")
RUBY_BEGIN, RUBY_END = b"=begin", b"=end"
# Longer ones are licences or commented-out code.
MAX_LINES = 400
MAX_BYTES = 64_000
# A definition further than this from the start of its line gets no comment: the search would take quadratic time.
MAX_INDENT = 1_000
MAX_SIGNATURE = 4_000  # bytes
# Attributes and annotations that may come between a comment and its definition.
MAX_ATTRIBUTES = 20
# Comments for tools: `//go:noinline`, `//nolint`, `// eslint-disable-next-line`, `# frozen_string_literal: true`.
DIRECTIVE = re.compile(
    r"(?m)^(?:go:\w+|nolint\b|lint:|\+build|eslint-|prettier-|@ts-|istanbul |tslint:|rubocop:|-\*-|!/"
    r"|frozen[-_]string[-_]literal:|(?:en)?coding: *[\w-]+$|typed: *\w+$|shellcheck |stylua:|clang-format|NOLINT)"
)
TAG = re.compile(
    r"\s*(?:[@\\](?!brief|summary|desc|short|details|note|notice|dev\b|doc\b)[\w\\-]+|\{@\w+\}|:\w+[^:\n]*:)"
)
INHERITDOC = re.compile(r"\{?@inheritdoc\}?", re.IGNORECASE)
LICENCE = re.compile(r"copyright|licen[sc]e|SPDX-|all rights reserved", re.IGNORECASE)


class Doc(NamedTuple):
    """A docstring. `start` and `end` are the bytes to cut from the definition's text; both 0 if it lies outside.
    `above` is the first byte of a comment above the definition, 0 if there is none."""

    text: str
    start: int = 0
    end: int = 0
    above: int = 0


NO_DOC = Doc("")


class Comments(NamedTuple):
    """The marks of comments in a language, and the lines that may separate one from its definition."""

    line: tuple[bytes, ...] = (b"//",)
    block: tuple[bytes, bytes] | None = (b"/*", b"*/")
    attribute: re.Pattern[bytes] | None = None


SLASHES = Comments()
HASHES = Comments((b"#",), (RUBY_BEGIN, RUBY_END))
DASHES = Comments((b"--",), None)


def comment_above(source: bytes, start: int, comments: Comments) -> Doc:
    """The comment that ends on the line above the definition that starts at this byte."""
    line = line_of(source, start)
    if line == 0 or OTHER.search(source, line, start):
        return NO_DOC
    line = _skip_attributes(source, line, comments)
    opening, closing = comments.block or (b"", b"")
    # Most lines above a definition end no comment; this is the quick way to see it.
    last = source[line_of(source, line - 1) : line - 1].strip() if line else b""
    if not (last.startswith(comments.line) or (closing and (last.endswith(closing) or last.startswith(closing)))):
        return NO_DOC
    floor = max(_after_shebang(source), line - MAX_BYTES)
    before = source[floor : line - 1].rstrip(b" \t\r")
    if closing == RUBY_END and _last_line(before).startswith(RUBY_END):
        begin, text = _ruby_block(before)
    elif closing and closing != RUBY_END and before.endswith(closing):
        begin, text = _block(before, opening, closing)
    else:
        begin, text = _lines(before, comments.line)
    if begin < 0:
        return NO_DOC
    words = _decode(text)
    if closing == b"*/" and before.endswith(closing):
        words = STAR.sub("", words)
    return Doc(prose(_without_rules(words.strip())), above=floor + begin)


def above_signature(source: bytes, start: int, signature: re.Pattern[bytes]) -> int:
    """The start of a signature right above the definition (`-spec`, `name : Type`), else of the definition."""
    line = line_of(source, start)
    floor = max(0, line - MAX_SIGNATURE)
    at = line
    while at > floor:
        before = source.rfind(b"\n", floor, at - 1) + 1
        text = source[before : at - 1]
        if signature.match(text):
            return before
        if not text[:1].isspace() or not text.strip():
            break
        at = before
    return start


def prose(text: str) -> str:
    """The docstring; empty if it has no prose, only `{@inheritdoc}`, tags or directives."""
    if DIRECTIVE.search(text):
        text = "\n".join(line for line in text.splitlines() if not DIRECTIVE.match(line)).strip()
    if "@" not in text and ":" not in text and "\\" not in text:
        return text
    lines = [line for line in INHERITDOC.sub("", text).splitlines() if line.strip()]
    return "" if all(TAG.match(line) for line in lines) and not _explains(lines) else text


def _explains(lines: list[str]) -> bool:
    """Whether a tag has a sentence (`@return the number of rows that changed`), not only a type and a name."""
    return any(len(re.findall(r"[A-Za-z]{2,}", TAG.sub("", line, count=1))) >= 5 for line in lines)


def leading_comment(source: bytes, comments: Comments) -> str:
    """The comment at the top of a file that describes it; skips licences and `#!`."""
    text = source[:MAX_BYTES].decode("utf-8", "replace").lstrip("\ufeff")
    every = (prose(comment) for comment, _, _ in _top(text.splitlines(), comments))
    return next((comment for comment in every if comment and not LICENCE.search(comment)), "")


def without_licence(code: str, comments: Comments) -> str:
    """The code without the licences among the comments at its top."""
    if not LICENCE.search(code, 0, 2_000):
        return code
    lines = code.splitlines()
    licences = [(first, end) for comment, first, end in _top(lines, comments) if LICENCE.search(comment)]
    for first, end in reversed(licences):
        del lines[first:end]
    return "\n".join(lines).lstrip("\n")


def _top(lines: list[str], comments: Comments) -> Iterator[tuple[str, int, int]]:
    """The comments before the first line of code, each with its first line and the one after its last."""
    opening, closing = (mark.decode() for mark in comments.block or (b"", b""))
    markers = tuple(mark.decode() for mark in comments.line)
    at = 0
    while at < len(lines):
        line, first = lines[at].strip(), at
        if not line or line.startswith(("#!", "<?", "{-#")):
            at += 1
            continue
        if opening and line.startswith(opening):
            at = next((n for n in range(at, len(lines)) if closing in lines[n]), len(lines) - 1) + 1
            body = "\n".join(lines[first:at]).strip().removeprefix(opening).rstrip()
            if closing in body and not body.endswith(closing):
                return  # code follows on its last line
            body = body.removesuffix(closing)
            comment = STAR.sub("", body.strip("*! \n"))
        elif line.startswith(markers):
            while at < len(lines) and lines[at].strip().startswith(markers):
                at += 1
            comment = "\n".join(_strip_marker(one.strip(), markers) for one in lines[first:at])
        else:
            return
        yield "\n".join(one.rstrip() for one in comment.splitlines()).strip(), first, at


def without_doc(source: bytes, start: int, end: int, doc: Doc) -> bytes:
    """The bytes of a definition with its docstring's own lines removed."""
    if not doc.end:
        return source[start:end]
    cut_from, cut_to = doc.start, doc.end
    while cut_from > start and source[cut_from - 1 : cut_from] in (b" ", b"\t"):
        cut_from -= 1
    while cut_to < end and source[cut_to : cut_to + 1] in (b" ", b"\t", b";"):
        cut_to += 1
    own_line = source[cut_from - 1 : cut_from] == b"\n"
    if own_line and source[cut_to : cut_to + 1] not in (b"\r", b"\n", b""):
        # Code follows on the docstring's last line: it keeps the docstring's indentation.
        cut_from = doc.start
    elif own_line:
        cut_to += 1 if source[cut_to : cut_to + 1] == b"\r" else 0
        cut_to += 1 if source[cut_to : cut_to + 1] == b"\n" else 0
    return (source[start:cut_from] + source[cut_to:end]).rstrip()


def line_of(source: bytes, start: int) -> int:
    """The byte where the definition's line starts; 0 on the first line or where that is far away."""
    return source.rfind(b"\n", max(0, start - MAX_INDENT), start) + 1


def _after_shebang(source: bytes) -> int:
    """The start of the text: after `#!/bin/sh`, which is for the system."""
    return source.find(b"\n") + 1 if SHEBANG.match(source) else 0


def _skip_attributes(source: bytes, line: int, comments: Comments) -> int:
    for _ in range(MAX_ATTRIBUTES if comments.attribute else 0):
        previous = source.rfind(b"\n", max(0, line - MAX_INDENT), max(0, line - 1)) + 1
        if not line or not comments.attribute or not comments.attribute.match(source[previous : line - 1].strip()):
            break
        line = previous
    return line


def _without_rules(text: str) -> str:
    lines = text.splitlines()
    first, last = 0, len(lines)
    while first < last and RULE.fullmatch(lines[first].strip()):
        first += 1
    while last > first and RULE.fullmatch(lines[last - 1].strip()):
        last -= 1
    return text if last - first == len(lines) else "\n".join(lines[first:last]).strip()


def _decode(text: bytes) -> str:
    return "\n".join(line.rstrip() for line in text.decode("utf-8", "replace").splitlines())


def _last_line(text: bytes) -> bytes:
    return text[text.rfind(b"\n") + 1 :].strip()


def _block(before: bytes, opening: bytes, closing: bytes) -> tuple[int, bytes]:
    """Start and content of the block comment at the end, unless code precedes it on its line."""
    begin = before.rfind(opening)
    if begin < 0 or before[before.rfind(b"\n", 0, begin) + 1 : begin].strip():
        return -1, b""
    return begin, before[begin + len(opening) : -len(closing)].lstrip(b"*!|").rstrip(b"*")


def _ruby_block(source: bytes) -> tuple[int, bytes]:
    """Start and content of Ruby's `=begin … =end`; empty if no `=begin` is near."""
    before, begin, text = source.rpartition(RUBY_BEGIN)
    return (len(before), text.rpartition(RUBY_END)[0]) if begin else (-1, b"")


def _lines(before: bytes, markers: tuple[bytes, ...]) -> tuple[int, bytes]:
    """Start and text of the run of comment lines at the end."""
    comment_lines: list[bytes] = []
    begin = len(before) + 1
    while begin and len(comment_lines) < MAX_LINES:
        start = before.rfind(b"\n", 0, begin - 1) + 1
        text = before[start : begin - 1].strip()
        if not text.startswith(markers):
            break
        begin = start
        marker = next(marker for marker in markers if text.startswith(marker))
        content = text[len(marker) :].lstrip(marker[-1:])
        comment_lines.append(content.removeprefix(b"!").removeprefix(b" ").removeprefix(b"| "))
    return (max(0, begin), b"\n".join(reversed(comment_lines))) if comment_lines else (-1, b"")


def _strip_marker(line: str, markers: tuple[str, ...]) -> str:
    marker = next(marker for marker in markers if line.startswith(marker))
    return line[len(marker) :].lstrip(marker[-1]).removeprefix("!").removeprefix(" ").removeprefix("| ")
