"""Exact text and regular expressions in whole files, as ripgrep finds them: every occurrence, with its line."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, Protocol

from treeline.corpus.frozen import frozen
from treeline.engine.text import compile_pattern, is_cased, required_literals

Span = tuple[int, int]


class Match(Protocol):
    """Of `re` or of `regex`."""

    def span(self) -> Span: ...


Finder = Callable[[str], Iterable[Match]]

# For one file. Some expressions take exponential time, and a list of all occurrences must come to an end.
FILE_SECONDS = 5.0
ASCII_RUN = re.compile(r"[\x21-\x7e]+")


class Line(NamedTuple):
    """A line of a file, and what of it matches; one of context has no spans. 0 stands for an unknown number."""

    number: int
    text: str
    spans: tuple[Span, ...] = ()

    @property
    def column(self) -> int:
        return self.spans[0][0] + 1 if self.spans else 1


@frozen
class Needle:
    """Text to find letter by letter; what matches has all of the finders."""

    finders: tuple[Finder, ...]
    literals: tuple[bytes, ...] = ()  # that a file must contain
    folded_literals: tuple[bytes, ...] = ()  # in small letters, that it must contain in any case

    @classmethod
    def of_text(cls, phrases: Sequence[str], regex: str = "", *, ignore_case: bool = False) -> Needle:
        """Exact text, with any whitespace where it has some, and a regular expression. Case counts if the text has an
        upper-case letter."""
        finders: list[Finder] = []
        literals: list[bytes] = []
        folded_literals: list[bytes] = []
        for phrase in phrases:
            cased = phrase != phrase.lower() and not ignore_case
            finders.append(_finder(phrase, cased=cased))
            (literals if cased else folded_literals).extend(_ascii(phrase if cased else phrase.lower()))
        if regex:
            pattern = compile_pattern(regex, cased=is_cased(regex) and not ignore_case)
            finders.append(partial(pattern.finditer, timeout=FILE_SECONDS))
            folded_literals += [run for literal in required_literals(regex) for run in _ascii(literal)]
        # The longest first, as few files have it.
        return cls(tuple(finders), *(tuple(sorted(own, key=len, reverse=True)) for own in (literals, folded_literals)))

    def may_be_in(self, data: bytes) -> bool:
        """Whether a file's bytes have every literal."""
        for literal in self.literals:  # for each file of a project: `all` takes as long as the search
            if literal not in data:
                return False
        small = data.lower() if self.folded_literals else data
        for literal in self.folded_literals:  # noqa: SIM110
            if literal not in small:
                return False
        return True

    def occurrences(self, text: str) -> list[Span]:
        """Every place in a text, in order; none unless it has all that is looked for."""
        every: list[Span] = []
        for finder in self.finders:
            places = list(_places(finder, text))
            if not places:
                return []
            every += places
        return sorted(set(every)) if len(self.finders) > 1 else every


def _finder(phrase: str, *, cased: bool) -> Finder:
    """Finds a phrase with any whitespace where it has some. `re` is slow where case does not count."""
    pattern = re.compile(r"\s+".join(map(re.escape, (phrase if cased else phrase.lower()).split())))
    if cased:
        return pattern.finditer
    in_any_case = re.compile(pattern.pattern, re.IGNORECASE)

    def find(text: str) -> Iterator[Match]:
        small = text.lower()  # a letter or two of Unicode get longer
        return pattern.finditer(small) if len(small) == len(text) else in_any_case.finditer(text)

    return find


def _ascii(text: str) -> list[bytes]:
    """The parts of a text whose bytes a file must have; beyond ASCII, case folds differ."""
    return [run.encode() for run in ASCII_RUN.findall(text)]


def _places(finder: Finder, text: str) -> Iterator[Span]:
    """The matches within lines, and those across lines that hold none of them: `a[^b]*` would else hide what it
    spans."""
    matches = [match.span() for match in finder(text)]
    if not any("\n" in text[begin:end] for begin, end in matches):
        yield from matches
        return
    within: list[Span] = []
    at = 0
    for line in text.split("\n"):
        within += [(at + begin, at + end) for begin, end in (match.span() for match in finder(line))]
        at += len(line) + 1
    starts = [begin for begin, _ in within]
    for begin, end in matches:
        if bisect_right(starts, end - 1) == bisect_right(starts, begin - 1):
            within.append((begin, end))
    yield from sorted(within)


def lines_at(text: str, places: Iterable[Span], first: int = 1, *, before: int = 0, after: int = 0) -> list[Line]:
    """The lines that have these places, in order, with as many around each; the text begins with line `first`."""
    bounds: dict[int, Span] = {}
    marks: dict[int, list[Span]] = {}
    number, at = first, 0
    for begin, end in places:
        start = text.rfind("\n", 0, begin) + 1
        if start == len(text) > 0:  # behind the last line
            continue
        number, at = number + text.count("\n", at, start), start
        right = text.find("\n", begin)
        right = len(text) if right < 0 else right
        if end <= right:
            bounds[number] = start, right
            marks.setdefault(number, []).append((begin - start, end - start))
            continue
        for row, (left, right) in enumerate(_lines_from(text, start), number):
            if left >= end and row > number:
                break
            bounds[row] = left, right
            marks.setdefault(row, []).append((max(begin, left) - left, min(end, right) - left))
    if before or after:
        for row, (left, right) in list(bounds.items()):
            bounds |= zip(range(row - 1, row - 1 - before, -1), _lines_before(text, left), strict=False)
            bounds |= zip(range(row + 1, row + 1 + after), _lines_from(text, right + 1), strict=False)
    return [
        Line(row, text[left:right].rstrip("\r"), tuple(marks.get(row, ())))
        for row, (left, right) in sorted(bounds.items())
    ]


def _lines_from(text: str, start: int) -> Iterator[Span]:
    """The bounds of the line that begins there, and of those after it."""
    while start < len(text) or start == 0:
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        yield start, end
        start = end + 1


def _lines_before(text: str, start: int) -> Iterator[Span]:
    """The bounds of the line before the one that begins there, and of those before it."""
    while start > 0:
        end, start = start - 1, text.rfind("\n", 0, start - 1) + 1
        yield start, end
