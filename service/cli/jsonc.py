"""Set or remove one entry of a JSON file that may have comments; every other byte of the file stays as it is.

Editors and agents keep their settings in JSON with `//` and `/* */` comments and trailing commas. Reading such a file
and writing it back would lose them, so the text itself is edited.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from treeline.corpus.frozen import frozen

STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
BLANK = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
SCALAR = re.compile(r"[^\s,\]}/]+")
INDENT = re.compile(r"^([ \t]+)\S", re.MULTILINE)
PLAIN_INDENT = "  "


@frozen
class _Member:
    key: str
    start: int  # of the key
    value: int
    end: int


@frozen
class _Object:
    start: int  # of the brace
    end: int  # of the closing brace
    members: Sequence[_Member]
    comma: int = -1  # behind the last member, if there is one

    def get(self, key: str) -> _Member | None:
        return next((member for member in self.members if member.key == key), None)


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
        return text + json.dumps(_nested(path, value), indent=2, ensure_ascii=False) + "\n"
    if "\r\n" in text:
        return set_entry(text.replace("\r\n", "\n"), path, value).replace("\n", "\r\n")
    unit = found[1] if (found := INDENT.search(text)) else PLAIN_INDENT
    inside = _object(text, _skip(text, 0))
    for depth, key in enumerate(path):
        member = inside.get(key)
        last = depth == len(path) - 1
        if member is None:
            return _insert(text, inside, key, value if last else _nested(path[depth + 1 :], value), unit, depth + 1)
        if last or text[member.value] != "{":
            shown = _shown(value if last else _nested(path[depth + 1 :], value), unit, depth + 1)
            return text[: member.value] + shown + text[member.end :]
        inside = _object(text, member.value)
    return text


def remove_entry(text: str, path: Sequence[str]) -> str:
    """The text without the entry and without objects that it leaves empty; nothing, if nothing else is left."""
    if not read(text):
        return text
    around = [_object(text, _skip(text, 0))]
    for key in path[:-1]:
        member = around[-1].get(key)
        if member is None or text[member.value] != "{":
            return text
        around.append(_object(text, member.value))
    for inside, key in reversed(list(zip(around, path, strict=True))):
        member = inside.get(key)
        if member is None:
            return text
        rest = text[inside.start + 1 : member.start] + text[member.end : inside.end]
        if rest.strip().strip(","):
            return _without(text, inside, member)
    return "" if around[0].end == len(text.rstrip()) - 1 and not text[: around[0].start].strip() else text


def _nested(path: Sequence[str], value: Any) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value


def _shown(value: Any, unit: str, depth: int) -> str:
    return json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", "\n" + unit * depth)


def _insert(text: str, inside: _Object, key: str, value: Any, unit: str, depth: int) -> str:
    entry = f"\n{unit * depth}{json.dumps(key)}: {_shown(value, unit, depth)}"
    if not inside.members:
        kept = text[inside.start + 1 : inside.end].rstrip()
        return f"{text[: inside.start + 1]}{kept}{entry}\n{unit * (depth - 1)}{text[inside.end :]}"
    at = inside.comma + 1 if inside.comma >= 0 else inside.members[-1].end
    before = "" if inside.comma >= 0 else ","
    after = "," if inside.comma >= 0 else ""
    same_line = re.match(r"[ \t]*//[^\r\n]*", text[at:])  # a comment on the last entry stays with it
    behind = same_line.end() if same_line else 0
    return f"{text[:at]}{before}{text[at : at + behind]}{entry}{after}{text[at + behind :]}"


def _without(text: str, inside: _Object, member: _Member) -> str:
    """Cut a member, one comma, and the blank before it."""
    place = list(inside.members).index(member)
    end = member.end
    following = _skip(text, end)
    if text[following] == ",":
        end = following + 1
    start = len(text[: member.start].rstrip())
    if place == len(inside.members) - 1 and inside.comma < 0 and place:
        comma = _skip(text, inside.members[place - 1].end)
        return text[:comma] + text[comma + 1 : start] + text[end:]
    return text[:start] + text[end:]


def _skip(text: str, at: int, what: re.Pattern[str] = BLANK) -> int:
    """Where the string, number or blank at a place ends."""
    found = what.match(text, at)
    assert found is not None  # the text was read as JSON before
    return found.end()


def _object(text: str, start: int) -> _Object:
    """The members of the object at `start`."""
    members: list[_Member] = []
    at, comma = start + 1, -1
    while True:
        at = _skip(text, at)
        if text[at] == "}":
            return _Object(start, at, members, comma)
        if text[at] == ",":
            comma, at = at, at + 1
            continue
        key_end = _skip(text, at, STRING)
        value = _skip(text, _skip(text, key_end) + 1)
        end = _value_end(text, value)
        members.append(_Member(json.loads(text[at:key_end]), at, value, end))
        at, comma = end, -1


def _value_end(text: str, at: int) -> int:
    depth = 0
    while True:
        if text[at] == '"':
            at = _skip(text, at, STRING)
        elif text[at] in "{[":
            depth, at = depth + 1, at + 1
        elif text[at] in "}]":
            depth, at = depth - 1, at + 1
        elif text[at] in ",:":
            at += 1
        else:
            at = _skip(text, at, SCALAR)
        if not depth:
            return at
        at = _skip(text, at)
