"""Doc comments: the comment that stands right above the line where a function begins, without its markers.

Read from the text, not from the tree: tree-sitter walks all siblings to find the one before, so a file of a hundred
thousand comments would take the square of that.
"""

from __future__ import annotations

import re

from tree_sitter import Node

from treeline.ingest.parsers.grammar import NO_DOC, Doc

# On a line of its own in front of the function, these begin or end something else.
OTHER = re.compile(rb"[{};]")
STAR = re.compile(r"^[ \t]*\*+[ \t]?", re.MULTILINE)
RUBY_BEGIN, RUBY_END = b"=begin", b"=end"
# Longer ones are licences or commented-out code.
MAX_LINES = 400
MAX_BYTES = 64_000
# Farther from the beginning of its line a function has none: looking for it there for each would take the square.
MAX_INDENT = 1_000


def slashes_above(node: Node, source: bytes) -> Doc:
    """`/** … */` or `//` lines."""
    return comment_above(source, node.start_byte, b"//")


def hashes_above(node: Node, source: bytes) -> Doc:
    """`#` lines, or Ruby's `=begin … =end`."""
    return comment_above(source, node.start_byte, b"#")


def comment_above(source: bytes, start: int, marker: bytes) -> Doc:
    line = line_of(source, start)
    if line == 0 or OTHER.search(source, line, start):
        return NO_DOC
    above = source[max(0, line - MAX_BYTES) : line - 1].rstrip(b" \t\r")
    if marker == b"//" and above.endswith(b"*/"):
        text = _block(above)
    elif marker == b"#" and _last_line(above).startswith(RUBY_END):
        text = _between(above)
    else:
        text = _lines(above, marker)
    return Doc(STAR.sub("", _decode(text)).strip()) if above.endswith(b"*/") else Doc(_decode(text).strip())


def line_of(source: bytes, start: int) -> int:
    """Where the line of a function begins; 0 when that is the first one, or far away."""
    return source.rfind(b"\n", max(0, start - MAX_INDENT), start) + 1


def _decode(text: bytes) -> str:
    return "\n".join(line.rstrip() for line in text.decode("utf-8", "replace").splitlines())


def _last_line(text: bytes) -> bytes:
    return text[text.rfind(b"\n") + 1 :].strip()


def _block(above: bytes) -> bytes:
    """The inside of the block comment at the end, unless it stands behind code on its line."""
    begin = above.rfind(b"/*")
    if begin < 0 or above[above.rfind(b"\n", 0, begin) + 1 : begin].strip():
        return b""
    return above[begin + 2 : -2].lstrip(b"*!").rstrip(b"*")


def _between(above: bytes) -> bytes:
    """The inside of Ruby's `=begin … =end`; nothing where no `=begin` is near."""
    _, begin, text = above.rpartition(RUBY_BEGIN)
    return text.rpartition(RUBY_END)[0] if begin else b""


def _lines(above: bytes, marker: bytes) -> bytes:
    """The comment lines at the end, the last of them directly above."""
    found: list[bytes] = []
    for line in reversed(above.rsplit(b"\n", MAX_LINES)[-MAX_LINES:]):
        text = line.strip()
        if not text.startswith(marker):
            break
        found.append(text.lstrip(marker[:1]).removeprefix(b"!").removeprefix(b" "))
    return b"\n".join(reversed(found))
