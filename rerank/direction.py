"""Which way round: "int to string" asks for the opposite of `string_to_int`, though both have the same words.

The keyword lane drops "to" as a stop word and the static encoder knows the order of neighbours only, so a third of
such questions had the opposite first (docs/ranking.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from corpus.analysis import STOP_WORDS, WORD, parts

FORWARD = frozenset({"to", "into", "2"})  # x to y
BACKWARD = frozenset({"from"})  # y from x
JOINT = re.compile(r"to|2|from", re.IGNORECASE)
SHORTEST_PREFIX = 3  # letters that make `int` an integer, `str` a string, `dict` a dictionary
KEPT = 50_000  # names taken apart before


class Way(NamedTuple):
    """What something is made from, and into what."""

    source: frozenset[str]
    target: frozenset[str]


def opposite(question: str, names: Sequence[str]) -> list[bool]:
    """For each name, whether it says the opposite of what the question asks; empty for a question without direction."""
    asked = list(ways(tuple(part.lower() for word in WORD.findall(question) for part in parts(word))))
    if not asked:
        return []
    return [_turned(asked, said) if (said := _ways_of(name)) else False for name in names]


def ways(words: Sequence[str]) -> Iterator[Way]:
    """Every "x to y" and "y from x" with a telling word on both sides."""
    joints = [place for place, word in enumerate(words) if word in FORWARD or word in BACKWARD]
    ends = [-1, *joints, len(words)]
    for number, joint in enumerate(joints):
        before = frozenset(words[ends[number] + 1 : joint]) - STOP_WORDS
        after = frozenset(words[joint + 1 : ends[number + 2]]) - STOP_WORDS
        if before and after:
            yield Way(before, after) if words[joint] in FORWARD else Way(after, before)


@lru_cache(maxsize=KEPT)
def _ways_of(name: str) -> tuple[Way, ...]:
    own = name.rpartition(".")[2]
    return tuple(ways(tuple(part.lower() for part in parts(own)))) if JOINT.search(own) else ()


def _turned(asked: Sequence[Way], said: Sequence[Way]) -> bool:
    both = list(product(asked, said))
    straight = any(_meet(one.source, other.source) and _meet(one.target, other.target) for one, other in both)
    return not straight and any(
        _meet(one.source, other.target) and _meet(one.target, other.source) for one, other in both
    )


def _meet(some: frozenset[str], others: frozenset[str]) -> bool:
    return any(_alike(one, other) for one in some for other in others)


def _alike(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return one == other or (len(short) >= SHORTEST_PREFIX and long.startswith(short))
