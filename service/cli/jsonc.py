"""Set or remove one entry of a JSON file that may have comments; every other byte of the file stays as it is.

Editors and agents keep their settings in JSON with `//` and `/* */` comments and trailing commas. Reading such a file
and writing it back would lose them, so the text itself is edited.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from tree_sitter import Node
from tree_sitter_language_pack import get_parser

STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
BLANK = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
INDENT = re.compile(r"^([ \t]+)\S", re.MULTILINE)
PLAIN_INDENT = "  "


def read(text: str) -> dict[str, Any]:
    """The value of a whole file, `{}` if it is blank; raises ValueError if it is no object."""
    if not BLANK.sub("", text, count=1).strip():
        return {}
    plain = re.sub(rf"({STRING.pattern})|//[^\n]*|/\*.*?\*/", lambda hit: hit[1] or " ", text, flags=re.DOTALL)
    plain = re.sub(rf"({STRING.pattern})|,(?=\s*[\]}}])", lambda hit: hit[1] or "", plain, flags=re.DOTALL)
    value = json.loads(plain)
    if not isinstance(value, dict):
        raise ValueError("it is no object")
    return value


def set_entry(text: str, path: Sequence[str], value: Any) -> str:
    """The text with `value` at the path of keys; objects on the way are made."""
    whole = read(text)
    if not whole and "{" not in text:
        return text + json.dumps(_nest(path, value), indent=2, ensure_ascii=False) + "\n"
    if "\r\n" in text:
        return set_entry(text.replace("\r\n", "\n"), path, value).replace("\n", "\r\n")
    match = INDENT.search(text)
    unit = match[1] if match else PLAIN_INDENT
    inside = _top(text)
    for depth, key in enumerate(path, 1):
        rest = _nest(path[depth:], value)
        member = _pairs(text, inside).get(key)
        if member is None:
            return _insert(text, inside, key, rest, unit, depth)
        inside = member.children[-1]
        if depth == len(path) or inside.type != "object":
            return text[: inside.start_byte] + _dump(rest, unit, depth) + text[inside.end_byte :]
    return text


def remove_entry(text: str, path: Sequence[str]) -> str:
    """The text without the entry and without objects that it leaves empty; nothing, if nothing else is left."""
    if not read(text):
        return text
    inside, around = _top(text), list[tuple[Node, Node]]()
    for key in path:
        member = _pairs(text, inside).get(key) if inside.type == "object" else None
        if member is None:
            return text
        around.append((inside, member))
        inside = member.children[-1]
    for inside, member in reversed(around):
        rest = text[inside.start_byte + 1 : member.start_byte] + text[member.end_byte : inside.end_byte - 1]
        if rest.strip().strip(","):
            return _cut(text, inside, member)
    top = around[0][0]
    return "" if top.end_byte == len(text.rstrip()) and not text[: top.start_byte].strip() else text


def _top(text: str) -> Node:
    """The object of the file, by tree-sitter; its bytes are the text's characters."""
    root = get_parser("json").parse(re.sub(r"[^\x00-\x7f]", "x", text).encode()).root_node
    return next(node for node in root.children if node.type == "object")


def _pairs(text: str, inside: Node) -> dict[str, Node]:
    pairs = [node for node in inside.children if node.type == "pair"]
    return {json.loads(text[pair.children[0].start_byte : pair.children[0].end_byte]): pair for pair in reversed(pairs)}


def _comma(text: str, inside: Node, after: int) -> int:
    """The position of the first comma behind a member, also one that the grammar takes for an error, or -1."""
    starts = (node.start_byte for node in inside.children if node.start_byte >= after)
    return next((start for start in starts if text[start] == ","), -1)


def _nest(path: Sequence[str], value: Any) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value


def _dump(value: Any, unit: str, depth: int) -> str:
    return json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", "\n" + unit * depth)


def _insert(text: str, inside: Node, key: str, value: Any, unit: str, depth: int) -> str:
    entry = f"\n{unit * depth}{json.dumps(key)}: {_dump(value, unit, depth)}"
    last = max((pair.end_byte for pair in _pairs(text, inside).values()), default=0)
    if not last:
        start, end = inside.start_byte + 1, inside.end_byte - 1
        return f"{text[:start]}{text[start:end].rstrip()}{entry}\n{unit * (depth - 1)}{text[end:]}"
    comma = _comma(text, inside, last)
    at = max(comma + 1, last)
    before, after = ("", ",") if comma >= 0 else (",", "")
    same_line = re.match(r"[ \t]*//[^\r\n]*", text[at:])  # a comment on the last entry stays with it
    behind = at + same_line.end() if same_line else at
    return f"{text[:at]}{before}{text[at:behind]}{entry}{after}{text[behind:]}"


def _cut(text: str, inside: Node, member: Node) -> str:
    """Cut a member, one comma, and the blank before it."""
    start = len(text[: member.start_byte].rstrip())
    comma = _comma(text, inside, member.end_byte)
    if comma >= 0:
        return text[:start] + text[comma + 1 :]
    before = [pair.end_byte for pair in _pairs(text, inside).values() if pair.end_byte < start]
    if not before:
        return text[:start] + text[member.end_byte :]
    comma = _comma(text, inside, max(before))
    return text[:comma] + text[comma + 1 : start] + text[member.end_byte :]
