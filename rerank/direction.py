"""Detects names that say the opposite of a query: "int to string" against `string_to_int`, "is empty" against
`is_not_empty`.

The keyword lane drops "to" and "not" as stop words and the static encoder hardly knows word order, so a third of the
conversions and a quarter of the negations had the opposite first (docs/research/rerankers.md,
docs/research/encoder-static-10.md).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from treeline.corpus.analysis import STOP_WORDS, WORD, parts, terms

FORWARD = frozenset({"to", "into", "2"})  # x to y
BACKWARD = frozenset({"from"})  # y from x
JOINT = re.compile(r"to|2|from", re.IGNORECASE)
CONVERTING = frozenset({"convert", "cast", "parse", "transform", "change", "turn", "get", "as"})  # no source
SHORTEST_PREFIX = 3  # letters that make `int` an integer, `str` a string, `dict` a dictionary
SHORTEST_VERB = 4  # letters before -ing that make an action and not a thing: pushing, but not string
CACHE_SIZE = 50_000  # parsed names
NEGATIONS = frozenset({"not", "no", "non", "without", "except"})
NEGATION = re.compile(rf"\b(?:{'|'.join(sorted(NEGATIONS))})\b", re.IGNORECASE)
NEGATED_NAME = re.compile(r"no[nt]?(?![a-z])|No[nt]?(?![a-z])|[Ww]ithout|[Ee]xcept(?!i)")
SKIPPED_WORDS = STOP_WORDS | NEGATIONS | {"with"}  # words that a negation does not deny
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
    query_ways = [way.distinct() for way in ways(_words(question)) if way.source.whole]
    if not query_ways:
        return []
    return [_reverses(query_ways, name_ways) if (name_ways := _ways_of(name)) else False for name in names()]


def contradictions(question: str, names: Sequence[str]) -> dict[int, int]:
    """The places of names that deny what the query does not deny, or the other way round, each with the place of the
    first name that says the same without that fault: `is_not_empty` and `is_empty`. Only such twins are compared, so a
    negation that has no part in the choice moves nothing."""
    if NEGATION.search(question) is None and NEGATED_NAME.search("\n".join(names)) is None:
        return {}
    query_polarity = Polarity.of(_words(question))
    polarities = [_polarity(name) for name in names]
    first: dict[frozenset[str], int] = {}
    for position, one in enumerate(polarities):
        if query_polarity.agrees(one):
            first.setdefault(one.words, position)
    return {
        position: first[one.words]
        for position, one in enumerate(polarities)
        if not query_polarity.agrees(one) and one.words in first
    }


def _words(text: str) -> list[str]:
    return [part.lower() for word in WORD.findall(text) for part in parts(word)]


def known(name: str) -> bool:
    """Whether this is a C library function, whose direction is known and not guessed from its words."""
    return name.rpartition(".")[2].lower() in C_NAMES


def ways(words: Sequence[str]) -> Iterator[Way]:
    """Every "x to y" and "y from x" with content words on both sides, and every "to y"."""
    joints = [position for position, word in enumerate(words) if word in FORWARD or word in BACKWARD]
    ends = [-1, *joints, len(words)]
    for number, joint in enumerate(joints):
        before, after = Words.of(words[ends[number] + 1 : joint]), Words.of(words[joint + 1 : ends[number + 2]])
        if after.whole and words[joint] in FORWARD:
            yield Way(before, after)
        elif after.whole and before.whole:
            yield Way(after, before)


class Polarity(NamedTuple):
    """The content words of a text, and those that a negation stands before."""

    words: frozenset[str]
    denied_words: frozenset[str]

    @classmethod
    def of(cls, words: Sequence[str]) -> Polarity:
        denied_words: set[str] = set()
        for position, word in enumerate(words):
            if word in NEGATIONS:
                after = [other for other in words[position + 1 :] if other not in SKIPPED_WORDS]
                # `lineNo` has a number; `present_not` denies the word before.
                next_words = after[:1] or (list(words[:position])[-1:] if word == "not" else [])
                denied_words.update(map(_stem, next_words))
        return cls(frozenset(_stem(word) for word in words if word not in SKIPPED_WORDS), frozenset(denied_words))

    def agrees(self, other: Polarity) -> bool:
        """Whether another text denies those of these words that this one denies, and no others of them."""
        return not (self.words & other.words) & (self.denied_words ^ other.denied_words)


@lru_cache(maxsize=CACHE_SIZE)
def _polarity(name: str) -> Polarity:
    return Polarity.of([part.lower() for part in parts(name.rpartition(".")[2].rstrip("?!"))])


@lru_cache(maxsize=CACHE_SIZE)
def _stem(word: str) -> str:
    return (terms(word) or [word])[0]


@lru_cache(maxsize=CACHE_SIZE)
def _ways_of(name: str) -> tuple[Way, ...]:
    owner, _, own = name.rpartition(".")
    if own.lower() in C_NAMES:
        return tuple(ways(C_NAMES[own.lower()]))
    if not JOINT.search(own):
        return ()
    words = [word for part in parts(own) if (word := part.lower()) not in CONVERTING]
    if words[:1] == ["from"]:  # `Json.from_csv` makes what its class is
        words = [*(part.lower() for part in parts(owner.rpartition(".")[2])), *words]
    return tuple(ways(words))


def _reverses(query_ways: Sequence[Way], name_ways: Sequence[Way]) -> bool:
    reverses = False
    for source, target in query_ways:
        for other in name_ways:
            if _fits(source, target, other):
                return False
            reverses = reverses or _fits(target, source, other)
    return reverses


def _fits(source: Words, target: Words, way: Way) -> bool:
    return target.meet(way.target) and (not way.source.whole or source.meet(way.source))
