"""The lines of a unit that a result shows: those with the question's exact text, name or call, else with its words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from treeline.corpus.analysis import CJK_RUN, WORD, spans
from treeline.corpus.analysis import terms as stems_of
from treeline.corpus.frozen import frozen
from treeline.corpus.function import Function
from treeline.graph.references import last_of
from treeline.search.answer import joined_head, line_of
from treeline.search.occurrences import Line, Needle, Span, lines_at
from treeline.search.plan import Plan
from treeline.search.structure import CALLS

MATCHES_SHOWN = 3  # lines that match exactly; the first with a line of context on both sides
BEST_SHOWN = 2  # lines that have the question's words
MOST_LOOKED_AT = 400  # lines of a unit that are searched for those
CACHED_WORDS = 65_536


@frozen
class Excerpt:
    """The lines of a unit to show for a question, and those that answer it: all that match, else its signature."""

    lines: tuple[Line, ...]
    matches: tuple[Line, ...]
    occurrences: int = 0  # of what is looked for letter by letter


def needle_of(plan: Plan) -> Needle:
    """The text that results of a plan have letter by letter; none for a question in words."""
    if plan.has_requirements:
        return Needle.of_text(plan.phrases, plan.regex)
    if plan.route.kind not in ("identifier", "structural"):
        return Needle(())
    is_call = plan.route.kind == "structural" and plan.route.direction == "in" and plan.route.relations == CALLS
    end = r"\s*\(" if is_call else r"(?!\w)"
    names = [re.escape(last_of(symbol)) for symbol in plan.route.symbols]
    return Needle(tuple(re.compile(rf"(?<!\w){name}{end}").finditer for name in names))


def excerpt(plan: Plan, needle: Needle, unit: Function, text: str, first: int) -> Excerpt:
    """The lines of a unit to show. `text` is the unit as the file has it, `first` its first line's number."""
    places = needle.occurrences(text)
    if not places or (plan.route.kind == "identifier" and is_called(unit, plan.route.symbols)):
        lines = tuple(_by_words(unit, needle, text, first, frozenset(stems_of(plan.text))))
        answers = [line for line in lines if line.spans] if unit.kind == "file" else []
        return Excerpt(tuple(sorted(lines, key=lambda line: line.number)), tuple(answers or lines)[:1], len(places))
    matches = lines_at(text, places, first)
    start, end = places[0]
    around = lines_at(text, [(start, min(end, start + 1))], first, before=1, after=1)
    rows = {line.number: line for line in (*around, *matches[:MATCHES_SHOWN]) if line.spans or line.text.strip()}
    return Excerpt(tuple(rows[number] for number in sorted(rows)), tuple(matches), len(places))


def is_called(unit: Function, symbols: Sequence[str]) -> bool:
    """Whether a unit has one of these names."""
    return last_of(unit.func_name) in map(last_of, symbols)


def _by_words(unit: Function, needle: Needle, text: str, first: int, words: frozenset[str]) -> Iterator[Line]:
    """The signature of a unit, which a file has not, and the lines that have most of the question's words."""

    def line(number: int, text: str) -> Line:
        return Line(number, text.rstrip("\r"), tuple(needle.occurrences(text)) or word_spans(text, words))

    lines = text.split("\n")[:MOST_LOOKED_AT]
    with_words = (at for at, line in enumerate(lines) if re.search(r"\w", line))
    if unit.kind == "file":
        for at in sorted(best_lines(lines, words, BEST_SHOWN)) or [next(with_words, 0)]:
            yield line(first + at, lines[at])
        return
    name = unit.func_name.rpartition(" > ")[2].rpartition(".")[2]
    start = line_of(name, lines)
    head, rows = joined_head(lines[start:])
    head = head if rows > 1 else lines[start]
    yield line(first + start, head)
    rest = [*range(start), *range(start + rows, len(lines))]
    best = sorted(best_lines([lines[at] for at in rest], words, BEST_SHOWN))
    for at in [rest[number] for number in best] or [at for at in with_words if at >= start + rows][:1]:
        yield line(first + at, lines[at])


def best_lines(lines: Sequence[str], words: frozenset[str], most: int) -> list[int]:
    """The lines with the most of the words, each judged by those that the ones before it lack."""
    sets = [words.intersection(stem for _, _, stem in words_in(line)) for line in lines]
    best: list[int] = []
    missing = words
    while len(best) < most:
        at = max(range(len(lines)), key=lambda at: (len(sets[at] & missing), -at), default=None)
        if at is None or not sets[at] & missing:
            break
        best.append(at)
        missing -= sets[at]
    return best


def word_spans(line: str, words: frozenset[str]) -> tuple[Span, ...]:
    """The parts of a line with one of these stems."""
    return tuple((begin, end) for begin, end, stem in words_in(line) if stem in words)


def words_in(line: str) -> Iterator[tuple[int, int, str]]:
    """The position and stem of each word of a line, or of its parts."""
    for match in WORD.finditer(line):
        for start, end, stem in parts_of(match[0]):
            yield match.start() + start, match.start() + end, stem


@lru_cache(CACHED_WORDS)
def parts_of(word: str) -> tuple[tuple[int, int, str], ...]:
    """The position and stem of each part of an identifier; in scripts without spaces, of every two letters."""
    positions: list[Span] = []
    for start, end in spans(word):
        pairs = re.compile(CJK_RUN).fullmatch(word, start, end)
        positions += [(at, at + 2) for at in range(start, end - 1)] if pairs else [(start, end)]
    stems = ((start, end, stems_of(word[start:end])) for start, end in positions)
    return tuple((start, end, some[0]) for start, end, some in stems if some)
