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
NEWLINE = re.compile("\n")
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
            pattern = re.compile(r"\s+".join(map(re.escape, phrase.split())), 0 if cased else re.IGNORECASE)
            finders.append(pattern.finditer)
            (literals if cased else folded_literals).extend(_ascii(phrase if cased else phrase.lower()))
        if regex:
            compiled = compile_pattern(regex, cased=is_cased(regex) and not ignore_case)
            finders.append(partial(compiled.finditer, timeout=FILE_SECONDS))
            folded_literals += [run for literal in required_literals(regex) for run in _ascii(literal)]
        return cls(tuple(finders), tuple(literals), tuple(folded_literals))

    def may_be_in(self, data: bytes) -> bool:
        """Whether a file's bytes have every literal."""
        if not all(literal in data for literal in self.literals):
            return False
        small = data.lower() if self.folded_literals else data
        return all(literal in small for literal in self.folded_literals)

    def occurrences(self, text: str) -> list[Span]:
        """Every place in a text, in order; none unless it has all that is looked for."""
        every: list[Span] = []
        for finder in self.finders:
            places = list(_places(finder, text))
            if not places:
                return []
            every += places
        return sorted(set(every)) if len(self.finders) > 1 else every


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
    """The lines that have these places, with as many around each; the text's own first line is number `first`."""
    starts = [0, *(match.end() for match in NEWLINE.finditer(text))]
    if starts[-1] == len(text) > 0:
        starts.pop()
    ends = [start - 1 for start in starts[1:]] + [len(text) - text.endswith("\n")]
    marks: dict[int, list[Span]] = {}
    for begin, end in places:
        at = bisect_right(starts, begin) - 1
        while True:
            marks.setdefault(at, []).append(
                (begin - starts[at] if begin > starts[at] else 0, min(end, ends[at]) - starts[at])
            )
            at += 1
            if at >= len(starts) or starts[at] >= end:
                break
    rows = sorted({row for at in marks for row in range(max(0, at - before), min(len(starts), at + after + 1))})
    return [Line(first + at, text[starts[at] : ends[at]].rstrip("\r"), tuple(marks.get(at, ()))) for at in rows]
