"""Results as text for an agent: one headline each, then the lines that matter, within a token budget.

A headline is `path:first-last name: what it does`. Every line of code begins with its number or a bar, so no code can
pass for a headline, whatever it contains.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil

from treeline.corpus.analysis import terms
from treeline.corpus.function import Function
from treeline.search.answer import Member
from treeline.service.present.text import summary, visible

# Code runs at 2.5 to 4 characters a token with the usual tokenizers (docs/research/agents.md); the low end keeps the
# promise.
CHARACTERS_PER_TOKEN = 2.5
HANDLE_LENGTH = 8
MIN_BUDGET = 100  # tokens; below it not even one headline would fit
SUMMARY_LENGTH = 120
LINE_LENGTH = 160  # a longer line is cut
FEWEST = 40  # characters; less room for code than that is not worth a line
PLAIN_KINDS = frozenset({"function", "method", "file", "section"})  # their names say what they are
EMPTY_LINE = re.compile(r"[\s{}()\[\];,]*(end)?\s*")
LEFT_OUT = "… {:,} more lines: ask for a part of them, or a larger max_tokens"
NOT_LISTED = "… {:,} more did not fit: ask for a larger max_tokens"
NEXT = "… more with offset={}"
CUT_LINE = "… {:,} lines left out: a larger max_tokens shows all"


@dataclass(frozen=True, slots=True)
class Item:
    """One line of a list: a function, in a few words why it is there, and what matches inside it."""

    function: Function
    note: str = ""
    members: tuple[Member, ...] = ()


def tokens(text: str) -> int:
    """How many tokens a text takes, on the safe side."""
    return ceil(len(text) / CHARACTERS_PER_TOKEN)


def handle(function_id: str) -> str:
    """The short name of a function where its place is not enough; the whole id would cost some twenty tokens."""
    return function_id[:HANDLE_LENGTH]


def place(function: Function) -> str:
    lines = function.address.lines
    return f"{function.path}:{lines[0]}-{lines[1]}" if lines else function.path


def headline(item: Item, *, handles: bool = True) -> str:
    """`path:first-last name: summary (note)`; with `handles`, `[handle] repo` before it."""
    function = item.function
    name = "" if function.kind == "file" else function.func_name
    kind = "" if function.kind in PLAIN_KINDS else f"{function.kind} "
    before = f"[{handle(function.id)}] {function.repo} " if handles else ""
    first = f"{before}{place(function)} {kind}{name}".rstrip()
    note = f" ({item.note})" if item.note else ""
    told = "" if function.kind == "section" else summary(function.docstring, SUMMARY_LENGTH)
    return visible(f"{first}{note}{f': {told}' if told else ''}".replace("\n", " "))


def inside(members: Sequence[Member], room: int) -> str:
    """The head of each member in at most `room` characters, with its line."""
    lines: list[str] = []
    for member in members:
        first = (member.address.lines or (0, 0))[0]
        line = f"{first or '|'} {_cut(visible(' '.join(member.signature.split())))}"
        if (room := room - len(line) - 1) < 0:
            break
        lines.append(line)
    return "\n".join(lines)


def excerpt(function: Function, room: int, words: frozenset[str] = frozenset(), *, whole: bool = False) -> str:
    """Its code in at most `room` characters, each line with its number: all of it, or its head and the best lines.

    The best lines have the most of the query's terms. `whole` puts what is told outside of the code before it, and
    says what was left out.
    """
    head = _told(function, room * 2 // 3) if whole else ""
    code = visible(function.original_string).strip("\n").split("\n")
    rows = [f"{mark} {_cut(line)}".rstrip() for mark, line in zip(_marks(function, len(code)), code, strict=True)]
    said = CUT_LINE.format(len(rows)) if whole else ""
    if len(head) + sum(len(row) + 1 for row in rows) <= room:
        return head + "\n".join(rows)
    room -= len(head) + len(said)
    chosen: list[int] = []
    for at in _best_first(code, words):
        if (room := room - len(rows[at]) - 1) < 0:
            break
        chosen.append(at)
    lines = [rows[at] for at in sorted(chosen)]
    if said:
        lines.append(CUT_LINE.format(len(rows) - len(chosen)))
    return head + "\n".join(lines)


def _marks(function: Function, count: int) -> list[str]:
    """What each line of code begins with: its number, or a bar if the unit is not as in the file (a class is its head
    and the signatures of its methods)."""
    first, last = function.address.lines or (0, 0)
    if last - first + 1 != count:
        return ["|"] * count
    width = len(str(last))
    return [f"{number:>{width}}" for number in range(first, last + 1)]


def _told(function: Function, room: int) -> str:
    """The docstring that stands outside of the code, complete if there is room; each line is marked as no code."""
    told = visible(function.docstring_outside)
    lines = [f"> {line}".rstrip() + "\n" for line in told.split("\n")] if told else []
    while sum(map(len, lines)) > room:
        lines = [*lines[:-2], "> …\n"] if len(lines) > 1 else []
    return "".join(lines)


def _best_first(code: Sequence[str], words: frozenset[str]) -> Iterator[int]:
    """Numbers of lines: the head, then by how many of the words a line has, without lines that say nothing.

    Without words the order is that of the file.
    """
    yield 0
    said = [at for at, line in enumerate(code) if at and not EMPTY_LINE.fullmatch(line)]
    if words:
        said.sort(key=lambda at: (-len(words.intersection(terms(code[at]))), at))
    yield from said


def _cut(line: str) -> str:
    return line if len(line) <= LINE_LENGTH else f"{line[:LINE_LENGTH]} …"


def render(
    items: Sequence[Item],
    budget: int,
    *,
    opening: str = "",
    words: frozenset[str] = frozenset(),
    code: bool = True,
    whole: bool = False,
    handles: bool = True,
    next_offset: int = 0,
) -> str:
    """The list within `budget` tokens: every headline, then code from the top down with what room is left.

    Each result may take half of the room that is left, so the first shows most. If not every headline fits, no code is
    shown. The last line says what was left out: `next_offset` is where this list ends among all results.
    """
    room = int(budget * CHARACTERS_PER_TOKEN)
    closing = NEXT.format(next_offset) if next_offset else ""
    reserve = max(len(NOT_LISTED.format(len(items))), len(closing)) + 1
    opening = opening[: room - reserve]
    used = len(opening) + 1 if opening else 0
    headlines: list[str] = []
    for item in items:
        line = headline(item, handles=handles)
        if used + len(line) + 1 + reserve > room:
            break
        headlines.append(line)
        used += len(line) + 1
    missing = len(items) - len(headlines)
    if missing:
        closing = NEXT.format(next_offset - missing) if next_offset else NOT_LISTED.format(missing)
    room -= used + (len(closing) + 1 if closing else 0)
    blocks = [opening] if opening else []
    for number, (item, line) in enumerate(zip(items, headlines, strict=False), 1):
        allowed = room - 1 if number == len(items) else room // 2
        lines = ""
        if code and not missing and room > FEWEST:
            members = inside(item.members, allowed) if not whole else ""
            lines = members or excerpt(item.function, allowed, words, whole=whole)
        room -= len(lines) + 1 if lines else 0
        blocks.append(f"{line}\n{lines}" if lines else line)
    return "\n".join([*blocks, closing] if closing else blocks)


def within_budget(lines: Sequence[str], budget: int) -> str:
    """The lines, as many as fit into the budget; how many did not is said."""
    room = int(budget * CHARACTERS_PER_TOKEN)
    for number, line in enumerate(lines):
        room -= len(line) + 1
        if room < len(LEFT_OUT) and number < len(lines) - 1:
            return "\n".join([*lines[:number], LEFT_OUT.format(len(lines) - number)])
    return "\n".join(lines)
