"""Exact text: does a phrase, or a regular expression, stand in a unit as it is written?

An index narrows the units down to candidates; this module reads the candidates and decides. So both engines agree,
whatever their indexes keep.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

import regex

from treeline.corpus.errors import InputError

if TYPE_CHECKING:
    from treeline.corpus.function import Function

LONGEST_PATTERN = 1_000  # characters
# The whole of one regular expression's search. Some patterns take exponential time; `regex` stops when told to.
SECONDS = 0.5
ESCAPE = re.compile(r"\\.")

Unit = TypeVar("Unit")


class Matcher:
    """One phrase or pattern, compiled: upper-case letters in it make it case-sensitive."""

    def __init__(self, pattern: str, *, cased: bool, seconds: float = SECONDS) -> None:
        flags = regex.MULTILINE | regex.VERSION0 | (0 if cased else regex.IGNORECASE)
        try:
            self._pattern = regex.compile(pattern, flags)
        except (regex.error, RecursionError, OverflowError) as error:
            raise InputError(
                f"{pattern[:80]!r} is no regular expression: {error}", "escape what is meant literally with \\"
            ) from error
        self.cased = cased
        self._ends = time.monotonic() + seconds
        self.timed_out = False

    @classmethod
    def phrase(cls, text: str) -> Matcher:
        """The text itself, any whitespace for each whitespace."""
        cased = text != text.lower()
        return cls(r"\s+".join(map(regex.escape, text.split())), cased=cased)

    @classmethod
    def regex(cls, pattern: str) -> Matcher:
        if len(pattern) > LONGEST_PATTERN:
            raise InputError(
                f"the regular expression has {len(pattern)} characters", f"use at most {LONGEST_PATTERN:,}"
            )
        plain = ESCAPE.sub("", pattern)  # `\S` is no upper-case letter
        return cls(pattern, cased=plain != plain.lower())

    def in_text(self, text: str) -> bool:
        left = self._ends - time.monotonic()
        if left <= 0:
            self.timed_out = True
            return False
        try:
            return self._pattern.search(text, timeout=left) is not None
        except TimeoutError:
            self.timed_out = True
            return False

    def in_unit(self, unit: Function) -> bool:
        return self.in_text(unit.original_string) or self.in_text(unit.docstring)


def first_matches(
    candidates: Iterable[Unit], read: Callable[[Unit], Function], matcher: Matcher, k: int
) -> list[Unit]:
    """The first k candidates that match, in their order; those found so far when the time is up."""
    found: list[Unit] = []
    for candidate in candidates:
        if len(found) >= k or matcher.timed_out:
            break
        if matcher.in_unit(read(candidate)):
            found.append(candidate)
    return found
