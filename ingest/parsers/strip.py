"""Take the docstring out of a function's text, at the bytes where the parser found it."""

from __future__ import annotations

from treeline.ingest.parsers.grammar import Doc


def without_doc(source: bytes, start: int, end: int, doc: Doc) -> bytes:
    """The bytes of a function with its docstring's own lines removed."""
    if not doc.end:
        return source[start:end]
    cut_from, cut_to = doc.start, doc.end
    while cut_from > start and source[cut_from - 1 : cut_from] in (b" ", b"\t"):
        cut_from -= 1
    while cut_to < end and source[cut_to : cut_to + 1] in (b" ", b"\t", b";"):
        cut_to += 1
    own_line = source[cut_from - 1 : cut_from] == b"\n"
    if own_line and source[cut_to : cut_to + 1] not in (b"\r", b"\n", b""):
        # Something stands behind it on its line: that keeps the docstring's indentation.
        cut_from = doc.start
    elif own_line:
        cut_to += 1 if source[cut_to : cut_to + 1] == b"\r" else 0
        cut_to += 1 if source[cut_to : cut_to + 1] == b"\n" else 0
    return (source[start:cut_from] + source[cut_to:end]).rstrip()
