"""A word typed wrong is looked for as it was meant: it is in no dictionary, and one edit away from what many write.

Both lanes would leave such a word out: no function has it, and its pieces mean nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from treeline.encoder.static import is_word
from treeline.search.question.routing import PRODUCTS, Route

# A plain word in a sentence: no part of a name, a path or an address, not in quotes, not written large.
PLAIN = re.compile(r"(?<![\w.$/#@'\"`-])[A-Za-z][a-z]{3,39}(?![\w$/#@'\"`(-]|\.\w)")
SENTENCES = ("conceptual", "mixed")
MOST_SLIPS = 5  # words of one question
LONG = 5  # letters; shorter words are near too many others, and only swapped letters are taken for a slip
MORE_OFTEN = 20  # times as many functions have the word that was meant: what some of them write is no mistake
COMMON = 20  # functions; a word that so many have is one, in whichever dictionary


class Spelt(NamedTuple):
    """A question as it is looked for, and the words of it that were typed otherwise."""

    text: str
    words: tuple[tuple[str, str], ...] = ()  # as typed, as meant
    unsure: bool = False  # the engine did not say in time what is near: the next time it may

    @property
    def sentence(self) -> str:
        """`searched for “convert” instead of “convrt”`; nothing where all is as it was typed."""
        told = (f"“{meant}” instead of “{typed}”" for typed, meant in self.words)
        return f"searched for {', '.join(told)}" if self.words else ""


def doubtful(text: str, way: Route) -> list[str]:
    """The words of a sentence that no dictionary has, in small letters; none where many are: it is another language."""
    if way.kind not in SENTENCES:
        return []
    words = dict.fromkeys(word.lower() for word in PLAIN.findall(text))
    unknown = [word for word in words if not is_word(word) and word not in PRODUCTS and word not in way.symbols]
    return unknown if len(unknown) <= MOST_SLIPS else []


def spelt(text: str, near: Mapping[str, Mapping[str, int]]) -> Spelt:
    """The question with its doubtful words as they were meant; `near` has for each of them how many functions have it
    and the words one edit away."""
    meant = {word: _meant(word, found) for word, found in near.items()}
    changed: dict[str, str] = {}

    def mended(match: re.Match[str]) -> str:
        typed = match[0]
        better = meant.get(typed.lower(), "")
        if not better:
            return typed
        changed[typed] = better.capitalize() if typed[0].isupper() else better
        return changed[typed]

    return Spelt(PLAIN.sub(mended, text), tuple(changed.items()))


def _meant(word: str, found: Mapping[str, int]) -> str:
    """The likeliest of the words near it; nothing where it may be one itself."""
    least = MORE_OFTEN * found.get(word, 0)
    likely = {
        other: functions
        for other, functions in found.items()
        if functions > least and (functions >= COMMON or is_word(other)) and _is_slip(word, other)
    }
    return max(likely, key=likely.__getitem__, default="")


def _is_slip(typed: str, meant: str) -> bool:
    """Letters swapped, one lost, one doubled: what fingers do. Another letter may make another word: `runge` beside
    `range`, `fastapi` beside `fastai`."""
    if typed == meant or typed[0] != meant[0]:
        return False
    if len(meant) > len(typed):
        return len(typed) >= LONG
    place = next(number for number, letter in enumerate(typed) if letter != meant[number : number + 1])
    if len(meant) < len(typed):
        return len(typed) >= LONG and typed[place] == typed[place - 1]
    return typed[place : place + 2] == meant[place : place + 2][::-1]
