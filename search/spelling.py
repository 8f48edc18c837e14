"""Tells names from words, and corrects misspelt words.

A word is misspelt if it is in no dictionary, and one edit away from a word in many functions.

A misspelt word is lost on both lanes: no function contains it, and its subword tokens mean nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from treeline.encoder.static import is_word

# A plain word in a sentence: not part of a name, path or URL, not in quotes, not in capitals.
PLAIN = re.compile(r"(?<![\w.$/#@'\"`-])[A-Za-z][a-z]{3,39}(?![\w$/#@'\"`(-]|\.\w)")
MOST = 5  # corrections of one query; with more unknown words it is in another language
LONG = 5  # letters; shorter words are near too many others, so only swapped letters are corrected
MORE_OFTEN = 20  # how many times more functions must have the correction: a word that several use is no mistake
AHEAD = 3  # letters; a letter that follows this soon may have been typed too early: `interger`
COMMON = 20  # functions; a word in this many is correct, whatever the dictionaries say
# Names that look like identifiers but are ordinary words in a sentence.
PRODUCTS = frozenset(
    "javascript typescript github gitlab mysql postgresql mongodb sqlite nosql pytorch tensorflow numpy scipy openssl "
    "iphone ipad ios macos youtube linkedin latex openid oauth graphql protobuf node.js vue.js react.js next.js "
    "asp.net e.g i.e camelcase lowercamelcase pascalcase snake_case "
    "dropbox facebook wordpress powerpoint openstack openstreetmap opencv".split()
)
IDENTIFIER = re.compile(
    r"(?<![\w.])(?:"
    r"[A-Za-z_$][\w$]*(?:(?:\.|::|#|->)[A-Za-z_$][\w$]*)+"  # dotted: url.parse, Foo::bar, Foo#bar
    r"|_*[A-Za-z][A-Za-z0-9]*(?:_+[A-Za-z0-9]+)+_*"  # snake_case, SCREAMING_CASE
    r"|_+[A-Za-z]\w*"  # _private, __dunder__
    r"|[a-z][a-z0-9]*[A-Z]\w*"  # camelCase
    r"|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+"  # PascalCase with two humps or more
    r"|[A-Z]{2,}[a-z]{2,}\w*"  # HTTPAdapter, but not URLs
    r"|[A-Za-z_]\w*(?=\(\))"  # anything called
    r")(?:\(\))?(?!\w)"
)


class Corrections(NamedTuple):
    """A query's text with its misspelt words corrected, and those words."""

    text: str
    words: tuple[tuple[str, str], ...] = ()  # (typed, corrected)
    unsure: bool = False  # the engine did not answer in time, so the result may differ next time

    @property
    def sentence(self) -> str:
        """`searched for “convert” instead of “convrt”`; empty without corrections."""
        each = (f"“{correction}” instead of “{word}”" for word, correction in self.words)
        return f"searched for {', '.join(each)}" if self.words else ""


def doubtful(text: str, symbols: Sequence[str] = ()) -> list[str]:
    """The words of a sentence that are in no dictionary, in lower case; none if there are too many."""
    words = dict.fromkeys(word.lower() for word in PLAIN.findall(text))
    unknown = [word for word in words if not _known(word) and word not in PRODUCTS and word not in symbols]
    return unknown if len(unknown) <= MOST else []


def _known(word: str) -> bool:
    """Whether a dictionary has the word, or its stem with an ending other than `er`, which fits too many: `conv-er`."""
    return is_word(word, endings=not word.endswith("er"))


def correct(text: str, near: Mapping[str, Mapping[str, int]]) -> Corrections:
    """The text with its doubtful words corrected. `near` maps each to the words within one edit, itself included, with
    the number of functions that have them."""
    better = {word: _correction(word, neighbours) for word, neighbours in near.items()}
    corrections: dict[str, str] = {}

    def replacement(match: re.Match[str]) -> str:
        original = match[0]
        word = better.get(original.lower(), "")
        if not word:
            return original
        corrections[original] = word.capitalize() if original[0].isupper() else word
        return corrections[original]

    return Corrections(PLAIN.sub(replacement, text), tuple(corrections.items()))


def _correction(word: str, neighbours: Mapping[str, int]) -> str:
    """The likeliest of the near words; empty if the word itself may be right."""
    least = MORE_OFTEN * neighbours.get(word, 0)
    likely = {
        other: functions
        for other, functions in neighbours.items()
        if functions > least and (functions >= COMMON or is_word(other)) and _is_slip(word, other)
    }
    return max(likely, key=likely.__getitem__, default="")


def _is_slip(word: str, other: str) -> bool:
    """Whether the difference is a typing slip: letters swapped, one missing, one doubled. A different letter may make
    another word: `runge` and `range`, `fastapi` and `fastai`."""
    if word == other or word[0] != other[0]:
        return False
    if len(other) > len(word):
        return len(word) >= LONG
    at = next(number for number, letter in enumerate(word) if letter != other[number : number + 1])
    if len(other) < len(word):
        return len(word) >= LONG and word[at] in word[at - 1] + word[at + 1 : at + 1 + AHEAD]
    return word[at : at + 2] == other[at : at + 2][::-1]


def identifiers(text: str) -> list[str]:
    """The names in a text that are written like identifiers, without the brackets of a call."""
    names = (bare(match.group()) for match in IDENTIFIER.finditer(text))
    return [name for name in names if name.lower() not in PRODUCTS]


def bare(name: str) -> str:
    return name.removesuffix("()")


def is_identifier(name: str) -> bool:
    """Whether a word is written like an identifier."""
    return name.lower() not in PRODUCTS and IDENTIFIER.fullmatch(name) is not None
