"""Doc comments: the comment that stands right above the line where a function begins, without its markers.

Read from the text, not from the tree: tree-sitter walks all siblings to find the one before, so a file of a hundred
thousand comments would take the square of that.
"""

from __future__ import annotations

import re

from tree_sitter import Node

from ingest.parsers.grammar import NO_DOC, Doc

# On a line of its own in front of the function, these begin or end something else.
OTHER = re.compile(rb"[{};]")
STAR = re.compile(r"^[ \t]*\*+[ \t]?", re.MULTILINE)
RUBY_BEGIN, RUBY_END = b"=begin", b"=end"
# Longer ones are licences or commented-out code.
MAX_LINES = 400
MAX_BYTES = 64_000


def slashes_above(node: Node, source: bytes) -> Doc:
    """`/** … */` or `//` lines."""
    return comment_above(source, node.start_byte, b"//")


def hashes_above(node: Node, source: bytes) -> Doc:
    """`#` lines, or Ruby's `=begin … =end`."""
    return comment_above(source, node.start_byte, b"#")


def comment_above(source: bytes, start: int, marker: bytes) -> Doc:
    line = source.rfind(b"\n", 0, start) + 1
    if line == 0 or OTHER.search(source, line, start):
        return NO_DOC
    above = source[max(0, line - MAX_BYTES) : line - 1].rstrip(b"\r")
    if marker == b"//" and above.endswith(b"*/"):
        text = _block(above)
    elif marker == b"#" and _last_line(above).startswith(RUBY_END):
        text = above.rpartition(RUBY_BEGIN)[2].rpartition(RUBY_END)[0]
    else:
        text = _lines(above, marker)
    return Doc(STAR.sub("", _decode(text)).strip()) if above.endswith(b"*/") else Doc(_decode(text).strip())


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


def _lines(above: bytes, marker: bytes) -> bytes:
    """The comment lines at the end, the last of them directly above."""
    found: list[bytes] = []
    for line in reversed(above.rsplit(b"\n", MAX_LINES)[-MAX_LINES:]):
        text = line.strip()
        if not text.startswith(marker):
            break
        found.append(text.lstrip(marker[:1]).removeprefix(b"!").removeprefix(b" "))
    return b"\n".join(reversed(found))
