"""Text rules that both engines share: limits, name completion, and exact matching of phrases and patterns.

For exact text an index only narrows the units down to candidates. `Matcher` reads the candidates and decides, so both
engines give the same answer whatever their indexes keep.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from treeline.corpus.errors import InputError

if TYPE_CHECKING:
    import regex

# Stands in for "no terms": Lucene's average length leaves out documents without any.
NO_TERM = "_"
# A question has a thousand characters at most; this bounds the work for a pasted file.
MOST_TERMS = 256
MOST_CASINGS = 256
MOST_NEIGHBOURS = 50  # words one edit away: Lucene's own `max_expansions`
TERMS = "terms"  # the field of what analysis makes of a unit
# The field of its shape terms. Among the words they would make units longer, which moves answers to other queries.
SHAPES = "shapes"
WORDS = "words"  # the field of its words as written
WHOLE = "whole"  # the field of the words of a whole file, which one unit of the file has
LONGEST_PATTERN = 1_000  # characters
# For one exact search. Some patterns take exponential time; `regex` can be stopped, `re` cannot.
EXACT_SECONDS = 0.5
ESCAPE = re.compile(r"\\.", re.DOTALL)
VERBOSE = re.compile(r"\(\?[a-zA-Z]*x")

Candidate = TypeVar("Candidate")


def leaf(func_name: str) -> str:
    """A unit's own name, without its class."""
    return func_name.rpartition(".")[2]


class Lookup(Protocol):
    """Names that start with a prefix and how many units have each, most common first; at most `limit`."""

    def __call__(self, prefix: str, /, *, limit: int | None = None) -> Iterable[tuple[str, int]]: ...


def complete_name(lookup: Lookup, prefix: str, k: int) -> list[str]:
    """Names that start with the prefix: in its own case first, then in any case; the most common first.

    A term dictionary is sorted by case, so it is asked for each casing. 256 lookups among the names of 182,431
    functions take .5 ms, so no second field is needed.
    """
    own = [name for name, _ in lookup(prefix, limit=k)]
    if len(own) >= k:
        return own
    (_, *others), length = casings(prefix)
    limit = k if length == len(prefix) else None
    rows = [row for way in others for row in lookup(way, limit=limit)]
    if limit is None:  # only the first letters were looked up
        folded_prefix = prefix.casefold()
        rows += lookup(prefix[:length])
        rows = [(name, count) for name, count in rows if name.casefold().startswith(folded_prefix)]
    rows.sort(key=lambda row: (-row[1], row[0]))
    return list(dict.fromkeys([*own, *(name for name, _ in rows)]))[:k]


def casings(prefix: str, *, ascii_too: bool = True) -> tuple[list[str], int]:
    """The casings of a prefix, its own first, and how many of its letters they cover: a long prefix is cut."""
    ways = [""]
    for length, letter in enumerate(prefix):
        forms = _forms(letter) if ascii_too or not letter.isascii() else [letter]
        if len(ways) * len(forms) > MOST_CASINGS:
            return ways, length
        ways = [way + form for form in forms for way in ways]
    return ways, len(prefix)


def _forms(letter: str) -> list[str]:
    """A letter in both cases, its own first; `ß`, whose capital is two letters, stays as it is."""
    return list(dict.fromkeys(form for form in (letter, letter.lower(), letter.upper()) if len(form) == 1))


def fold(text: str) -> str:
    """Lower-case, with one space for any whitespace."""
    return " ".join(text.split()).lower()


class Matcher:
    """A phrase or a regular expression, compiled. An upper-case letter in it makes it case-sensitive.

    `literals` are folded strings that every match contains, for an index to look up. `name` is what a unit defined
    under that name would be called, if the text could be a name.
    """

    def __init__(
        self, literals: Sequence[str], seconds: float, *, is_cased: bool, name: str, pattern: str = ""
    ) -> None:
        self.literals = tuple(literals)
        self.is_cased = is_cased
        self.name = name
        self._phrase, self._words, self._pattern = "", [""], None
        if pattern:
            self._pattern = compile_pattern(pattern, cased=is_cased)
        self.timed_out = False
        self._deadline = time.monotonic() + seconds

    @classmethod
    def phrase(cls, text: str, seconds: float = EXACT_SECONDS) -> Matcher:
        """The text itself, with any whitespace where it has some."""
        words = text.split()
        is_cased = text != text.lower()
        matcher = cls([fold(text)], seconds, is_cased=is_cased, name=words[0] if len(words) == 1 else "")
        matcher._words = words if is_cased else fold(text).split()
        matcher._phrase = r"\s+".join(map(re.escape, matcher._words))
        return matcher

    @classmethod
    def regex(cls, pattern: str, seconds: float = EXACT_SECONDS) -> Matcher:
        if len(pattern) > LONGEST_PATTERN:
            raise InputError(
                f"the regular expression has {len(pattern)} characters", f"use at most {LONGEST_PATTERN:,}"
            )
        name = pattern if re.fullmatch(r"\w+", pattern) else ""
        return cls(required_literals(pattern), seconds, is_cased=is_cased(pattern), name=name, pattern=pattern)

    @property
    def out_of_time(self) -> bool:
        """Whether the time for the search is up; then it is incomplete."""
        if time.monotonic() >= self._deadline:
            self.timed_out = True
        return self.timed_out

    def matches(self, *texts: str) -> bool:
        """Whether one of the texts has it; no more once the time is up."""
        for text in texts:
            seconds = self._deadline - time.monotonic()
            if seconds <= 0:
                self.timed_out = True
                return False
            try:
                if self._in(text, seconds):
                    return True
            except TimeoutError:
                self.timed_out = True
                return False
        return False

    def _in(self, text: str, seconds: float) -> bool:
        if self._pattern is not None:
            return self._pattern.search(text, timeout=seconds) is not None
        plain = text if self.is_cased else text.lower()
        # The words first: most texts lack one, and to look for them takes a fraction of the time.
        return all(word in plain for word in self._words) and re.search(self._phrase, plain) is not None

    def first(
        self, candidates: Iterable[Candidate], read: Callable[[Candidate], Sequence[str]], k: int
    ) -> list[Candidate]:
        """The first k candidates that match; those found so far when the time is up."""
        matching: list[Candidate] = []
        for candidate in candidates:
            if len(matching) >= k or self.timed_out:
                break
            if self.matches(*read(candidate)):
                matching.append(candidate)
        return matching

    def rank(self, func_name: str, size: int) -> tuple[int, int]:
        """Sorts the definition first, then names that contain the text, then the rest; short units before long."""
        if not self.name:
            return 2, size
        name, own = (self.name, func_name) if self.is_cased else (self.name.lower(), func_name.lower())
        if name in (own, leaf(own)):
            return 0, size
        return (1 if name in own else 2), size


def is_cased(pattern: str) -> bool:
    """Whether a regular expression has an upper-case letter; `\\S` is none."""
    plain = ESCAPE.sub("", pattern)
    return plain != plain.lower()


def compile_pattern(pattern: str, *, cased: bool) -> regex.Pattern[str]:
    import regex  # slow to import, and few questions need it

    flags = regex.MULTILINE | regex.VERSION0 | (0 if cased else regex.IGNORECASE)
    try:
        return regex.compile(pattern, flags)
    except (regex.error, RecursionError, OverflowError, MemoryError) as error:
        raise InputError(
            f"{pattern[:80]!r} is not a regular expression: {error}", "put \\ before characters meant literally"
        ) from error


def required_literals(pattern: str) -> list[str]:
    """Strings without whitespace that every match of a regular expression contains.

    It looks only outside groups, classes and alternatives: what it misses costs time, never an answer.
    """
    if VERBOSE.search(pattern):
        return []
    runs: list[str] = [""]
    depth, at = 0, 0
    while at < len(pattern):
        char, at = pattern[at], at + 1
        literal = ""
        if char == "\\":
            character, at = pattern[at : at + 1], at + 1
            literal = "" if character.isalnum() else character
        elif char == "[":
            at = _class_end(pattern, at)
        elif char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
        elif char == "|" and not depth:
            return []
        elif char in "?*{":  # what stands before may be missing
            runs[-1] = runs[-1][:-1]
            at = pattern.find("}", at) + 1 or at if char == "{" else at
        elif char not in ".^$|+":
            literal = char
        if literal and not literal.isspace() and not depth:
            runs[-1] += literal
        else:
            runs.append("")
    return [run.lower() for run in runs if run]


def _class_end(pattern: str, at: int) -> int:
    """Just behind the `]` of a class whose `[` stands before `at`."""
    at += pattern[at : at + 1] == "^"
    at += pattern[at : at + 1] == "]"
    while at < len(pattern) and pattern[at] != "]":
        at += 2 if pattern[at] == "\\" else 1
    return at + 1
