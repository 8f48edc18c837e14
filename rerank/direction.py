"""Detects the direction of a conversion: "int to string" asks for the opposite of `string_to_int`.

The keyword lane drops "to" as a stop word and the static encoder hardly knows word order, so a third of such queries
had the opposite first (docs/research/rerankers.md).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from treeline.corpus.analysis import STOP_WORDS, WORD, parts

FORWARD = frozenset({"to", "into", "2"})  # x to y
BACKWARD = frozenset({"from"})  # y from x
JOINT = re.compile(r"to|2|from", re.IGNORECASE)
CONVERTING = frozenset({"convert", "cast", "parse", "transform", "change", "turn", "get", "as"})  # no source
SHORTEST_PREFIX = 3  # letters that make `int` an integer, `str` a string, `dict` a dictionary
SHORTEST_VERB = 4  # letters before -ing that make an action and not a thing: pushing, but not string
CACHED = 50_000  # parsed names
# The C library's conversions, whose names have no visible "to".
C_NAMES = {
    **dict.fromkeys(("atoi", "atol", "atoll", "strtol", "strtoul", "strtoll"), ("string", "to", "int")),
    **dict.fromkeys(("atof", "strtod", "strtof"), ("string", "to", "float")),
    **dict.fromkeys(("itoa", "ltoa", "lltoa"), ("int", "to", "string")),
    **dict.fromkeys(("ftoa", "dtoa"), ("float", "to", "string")),
}


class Words(NamedTuple):
    """Words and their prefixes. Two words meet if one is a prefix of the other."""

    whole: frozenset[str]
    prefixes: frozenset[str]

    @classmethod
    def of(cls, words: Iterable[str]) -> Words:
        whole = frozenset(words) - STOP_WORDS
        cut = (
            word[:end]
            for word in whole
            for end in range(SHORTEST_PREFIX, len(word))
            # `push` is not a prefix of "pushing" here: an action is not what is converted.
            if not (word[end:] == "ing" and end >= SHORTEST_VERB)
        )
        return cls(whole, whole.union(cut))

    def meet(self, others: Words) -> bool:
        return not (self.whole.isdisjoint(others.prefixes) and self.prefixes.isdisjoint(others.whole))


class Way(NamedTuple):
    """A conversion: its source (may be empty, as in `to_int`) and its target."""

    source: Words
    target: Words

    def distinct(self) -> Way:
        """Without the words that both sides share: "camel case to snake case" is camel to snake."""
        both = self.source.whole & self.target.whole
        source, target = self.source.whole - both, self.target.whole - both
        return Way(Words.of(source), Words.of(target)) if both and source and target else self


def opposite(question: str, names: Callable[[], Sequence[str]]) -> list[bool]:
    """For each name, whether it converts the other way than the query; empty for a query without direction."""
    words = [part.lower() for word in WORD.findall(question) for part in parts(word)]
    wanted = [way.distinct() for way in ways(words) if way.source.whole]
    if not wanted:
        return []
    return [_reverses(wanted, found) if (found := _ways_of(name)) else False for name in names()]


def known(name: str) -> bool:
    """Whether this is a C library function, whose direction is known and not guessed from its words."""
    return name.rpartition(".")[2].lower() in C_NAMES


def ways(words: Sequence[str]) -> Iterator[Way]:
    """Every "x to y" and "y from x" with content words on both sides, and every "to y"."""
    joints = [place for place, word in enumerate(words) if word in FORWARD or word in BACKWARD]
    ends = [-1, *joints, len(words)]
    for number, joint in enumerate(joints):
        before, after = Words.of(words[ends[number] + 1 : joint]), Words.of(words[joint + 1 : ends[number + 2]])
        if after.whole and words[joint] in FORWARD:
            yield Way(before, after)
        elif after.whole and before.whole:
            yield Way(after, before)


@lru_cache(maxsize=CACHED)
def _ways_of(name: str) -> tuple[Way, ...]:
    own = name.rpartition(".")[2]
    if own.lower() in C_NAMES:
        return tuple(ways(C_NAMES[own.lower()]))
    if not JOINT.search(own):
        return ()
    words = (part.lower() for part in parts(own))
    return tuple(ways([word for word in words if word not in CONVERTING]))


def _reverses(wanted: Sequence[Way], found: Sequence[Way]) -> bool:
    reverses = False
    for source, target in wanted:
        for other in found:
            if _fits(source, target, other):
                return False
            reverses = reverses or _fits(target, source, other)
    return reverses


def _fits(source: Words, target: Words, way: Way) -> bool:
    return target.meet(way.target) and (not way.source.whole or source.meet(way.source))
