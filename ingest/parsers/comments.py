"""Doc comments: the comment lines that stand right above a function, with their markers taken off."""

from __future__ import annotations

import re

from tree_sitter import Node

from ingest.parsers.grammar import NO_DOC, Doc, text_of

COMMENTS = frozenset({"comment", "line_comment", "block_comment"})
BLOCK = re.compile(r"/\*+!?(.*?)\**\*/", re.DOTALL)
STAR = re.compile(r"^[ \t]*\*+(?:[ \t]|$)?", re.MULTILINE)
LINE = re.compile(r"^[ \t]*(?://+|#+)!?[ \t]?")
RUBY_BLOCK = re.compile(r"=begin\b(.*?)^=end", re.DOTALL | re.MULTILINE)
# Looking `n` levels up costs n in tree-sitter; declarations wrap a function in fewer levels than this.
MAX_CLIMB = 8
MAX_COMMENTS = 500


def comment_above(node: Node) -> Doc:
    """The comments directly above `node`, or above the statement that it begins."""
    anchor = _anchor(node)
    found: list[str] = []
    below = anchor
    above = anchor.prev_sibling
    while above is not None and above.type in COMMENTS and len(found) < MAX_COMMENTS:
        if below.start_point.row - _last_row(above) > 1 or _trails(above):
            break
        found.append(text_of(above))
        if found[-1].startswith("/*"):
            break
        below, above = above, above.prev_sibling
    text = "\n".join(_clean(comment) for comment in reversed(found)).strip()
    return Doc(text) if text else NO_DOC


def _anchor(node: Node) -> Node:
    """The outermost node that begins where `node` does: an `export`, a class body's first statement."""
    anchor = node
    for _ in range(MAX_CLIMB):
        parent = anchor.parent
        if anchor.prev_sibling is not None or parent is None or parent.parent is None:
            break
        if parent.start_byte != anchor.start_byte:
            break
        anchor = parent
    return anchor


def _last_row(comment: Node) -> int:
    end = comment.end_point
    return end.row - 1 if end.column == 0 and end.row > comment.start_point.row else end.row


def _trails(comment: Node) -> bool:
    """A comment behind code on its line belongs to that code."""
    before = comment.prev_sibling
    return before is not None and before.type not in COMMENTS and before.end_point.row == comment.start_point.row


def _clean(comment: str) -> str:
    block = BLOCK.fullmatch(comment.strip())
    if block:
        return "\n".join(line.rstrip() for line in STAR.sub("", block[1]).splitlines()).strip()
    ruby = RUBY_BLOCK.match(comment)
    return ruby[1].strip() if ruby else LINE.sub("", comment).rstrip()
