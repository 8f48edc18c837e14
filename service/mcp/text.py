"""Results as compact text for a coding agent: all headlines first, then as much code as the token budget holds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from treeline.corpus.function import Function
from treeline.service.shown.summary import summary
from treeline.service.shown.visible import visible

# Code runs at 3 to 4 characters a token with the usual tokenizers; the low end keeps the promise.
CHARACTERS_PER_TOKEN = 3
HANDLE_LENGTH = 8
MIN_BUDGET = 100  # tokens; below it not even one headline would fit
SUMMARY_LENGTH = 120
CUT_MARK = "… cut; get_function with a larger max_tokens shows all"


@dataclass(frozen=True, slots=True)
class Listed:
    """One line of a list: a function, and in a few words why it is there."""

    function: Function
    note: str = ""


def tokens(text: str) -> int:
    """How many tokens a text takes, on the safe side."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def handle(function_id: str) -> str:
    """The short name an agent uses for a function; the whole id would cost some twenty tokens a result."""
    return function_id[:HANDLE_LENGTH]


def headline(item: Listed) -> str:
    """`handle name  repo path:first-last  (note)` and the summary below it."""
    function = item.function
    lines = function.address.lines
    place = f"{function.path}:{lines[0]}-{lines[1]}" if lines else function.path
    first = visible(f"[{handle(function.id)}] {function.func_name}  {function.repo} {place}".replace("\n", " "))
    if item.note:
        first += f"  ({item.note})"
    told = visible(summary(function.docstring, SUMMARY_LENGTH))
    return f"{first}\n  {told}" if told else first


def fenced(function: Function, limit: int) -> str:
    """The function in a Markdown fence that its own backticks cannot close, cut at a line to `limit` characters."""
    code = visible(function.original_string).rstrip()
    longest = max((len(run) for run in re.findall(r"`+", code)), default=0)
    fence = "`" * max(3, longest + 1)
    opening, closing = f"{fence}{function.language}\n", f"\n{fence}"
    room = limit - len(opening) - len(closing)
    if len(code) > room:
        kept = code[: max(0, room - len(CUT_MARK) - 1)].rpartition("\n")[0]
        if not kept:
            return ""
        code = f"{kept}\n{CUT_MARK}"
    return f"{opening}{code}{closing}"


def rendered(items: Sequence[Listed], budget: int, *, opening: str = "", with_code: bool = True) -> str:
    """The list within `budget` tokens: as many headlines as fit, then code from the top while there is room."""
    room = budget * CHARACTERS_PER_TOKEN
    left_out = f"… {len(items)} more did not fit; ask for fewer or a larger max_tokens"
    blocks: list[str] = [opening[: room - len(left_out) - 1]] if opening else []
    used = sum(len(block) + 1 for block in blocks)
    headlines: list[str] = []
    for item in items:
        line = headline(item)
        if used + len(line) + 1 + len(left_out) + 1 > room:
            break
        headlines.append(line)
        used += len(line) + 1
    missing = len(items) - len(headlines)
    if missing:
        used += len(left_out) + 1
    for item, line in zip(items, headlines, strict=False):
        code = fenced(item.function, room - used - 1) if with_code and not missing else ""
        used += len(code) + 1 if code else 0
        blocks.append(f"{line}\n{code}" if code else line)
    if missing:
        blocks.append(f"… {missing} more did not fit; ask for fewer or a larger max_tokens")
    return "\n".join(blocks)
