"""Which way round: "int to string" asks for the opposite of `string_to_int`, though both have the same words.

The keyword lane drops "to" as a stop word and the static encoder knows the order of neighbours only, so a third of
such questions had the opposite first (docs/research/rerankers.md).
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
CONVERTING = frozenset({"convert", "cast", "parse", "transform", "change", "turn", "get", "as"})  # not what from
SHORTEST_PREFIX = 3  # letters that make `int` an integer, `str` a string, `dict` a dictionary
KEPT = 50_000  # names taken apart before


class Words(NamedTuple):
    """Some words, and what they begin with: words meet where one is the other's beginning."""

    whole: frozenset[str]
    beginnings: frozenset[str]

    @classmethod
    def of(cls, words: Iterable[str]) -> Words:
        whole = frozenset(words) - STOP_WORDS
        cut = (word[:end] for word in whole for end in range(SHORTEST_PREFIX, len(word)))
        return cls(whole, whole.union(cut))

    def meet(self, others: Words) -> bool:
        return not (self.whole.isdisjoint(others.beginnings) and self.beginnings.isdisjoint(others.whole))


class Way(NamedTuple):
    """What something is made from (a name may leave that open: `to_int`), and into what."""

    source: Words
    target: Words

    def told_apart(self) -> Way:
        """Without the words that both sides have: "camel case to snake case" is camel to snake."""
        both = self.source.whole & self.target.whole
        source, target = self.source.whole - both, self.target.whole - both
        return Way(Words.of(source), Words.of(target)) if both and source and target else self


def opposite(question: str, names: Callable[[], Sequence[str]]) -> list[bool]:
    """For each name, whether it says the opposite of what the question asks; empty for a question without direction."""
    words = [part.lower() for word in WORD.findall(question) for part in parts(word)]
    asked = [way.told_apart() for way in ways(words) if way.source.whole]
    if not asked:
        return []
    return [_turned(asked, said) if (said := _ways_of(name)) else False for name in names()]


def ways(words: Sequence[str]) -> Iterator[Way]:
    """Every "x to y" and "y from x" with telling words on both sides, and every "to y"."""
    joints = [place for place, word in enumerate(words) if word in FORWARD or word in BACKWARD]
    ends = [-1, *joints, len(words)]
    for number, joint in enumerate(joints):
        before, after = Words.of(words[ends[number] + 1 : joint]), Words.of(words[joint + 1 : ends[number + 2]])
        if after.whole and words[joint] in FORWARD:
            yield Way(before, after)
        elif after.whole and before.whole:
            yield Way(after, before)


@lru_cache(maxsize=KEPT)
def _ways_of(name: str) -> tuple[Way, ...]:
    own = name.rpartition(".")[2]
    if not JOINT.search(own):
        return ()
    words = (part.lower() for part in parts(own))
    return tuple(ways([word for word in words if word not in CONVERTING]))


def _turned(asked: Sequence[Way], said: Sequence[Way]) -> bool:
    turned = False
    for source, target in asked:
        for other in said:
            if _fits(source, target, other):
                return False
            turned = turned or _fits(target, source, other)
    return turned


def _fits(source: Words, target: Words, said: Way) -> bool:
    return target.meet(said.target) and (not said.source.whole or source.meet(said.source))
