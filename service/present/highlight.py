"""Code as HTML: highlighted, the query's words marked, everything escaped."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from markupsafe import Markup, escape

from treeline.corpus.analysis import terms
from treeline.corpus.frozen import frozen
from treeline.search.answer import below_decorators, joined_head
from treeline.search.excerpt import word_spans, words_in
from treeline.search.occurrences import Span, lines_at
from treeline.service.present.text import INVISIBLE, character_name, code_point
from treeline.service.present.tokenizer import pieces, unit_pieces

PREVIEW_LINES = 3
MOST_LOOKED_AT = 400  # lines of a function that are searched for the best match
DOCSTRING = re.compile(r"\s*[rRuUbBfF]?(\"\"\"|''')")
LINE_LENGTH = 240  # a longer line is data or minified, and is cut
WHOLE_LENGTH = 60_000  # characters of one function that a page shows
FILE_LINE_LENGTH = 2_000
NAMES = frozenset({"", "f", "b", "a"})  # the CSS classes of identifiers
IDENTIFIER = re.compile(r"[^\W\d]\w*")
INDENT = 4


Find = Callable[[str], Sequence[Span]]  # places in a text


def nowhere(_text: str) -> Sequence[Span]:
    return ()


@frozen
class Snippet:
    """Highlighted code, and how many lines of it are not shown."""

    html: Markup
    more: int
    numbers: str = ""  # of the lines, one below the other


def preview(
    language: str,
    text: str,
    words: frozenset[str],
    first: int = 1,
    find: Find = nowhere,
    *,
    whole_text: bool = True,
) -> Snippet:
    """The signature of a function on one line, and its lines that match best, for a list of results.

    `first` is its first line in the file; without `whole_text` the numbers of the other lines are not known. What
    `find` has places of comes before lines with the words.
    """
    lines = dedent(text.strip("\n").split("\n"), language)
    top = below_decorators(lines)
    head, rows_of_head = joined_head(lines[top:])
    of_head = top + rows_of_head
    body = "\n".join(lines)
    exact = [line.number for line in lines_at(body, find(body), 0) if not top <= line.number < of_head]
    exact += [at + 1 for at in exact[-1:] if of_head <= at + 1 < len(lines)]  # a line of context
    rows = sorted({top, *(exact[: PREVIEW_LINES - 1] or best_lines(lines, words, of_head)[1:])})
    code = _cut([head if at == top and rows_of_head > 1 else lines[at] for at in rows])
    numbers = "\n".join(str(first + at) if whole_text or at <= top else "" for at in rows)
    return Snippet(mark_code(code, language, words, find), len(lines) - len(rows) - rows_of_head + 1, numbers)


def best_lines(lines: list[str], words: frozenset[str], of_head: int = 1) -> list[int]:
    """The first line, and the run of lines with the most of the words, after the `of_head` lines of the signature.
    The docstring is left out, because its first sentence is shown above."""
    if len(lines) - of_head < PREVIEW_LINES:
        return [0, *range(of_head, len(lines))]
    start = max(_after_docstring(lines), of_head)
    body = [at for at in range(start, min(len(lines), MOST_LOOKED_AT)) if lines[at].strip()]
    if not body:
        return [0]
    matches = [words.intersection(stem for _, _, stem in words_in(lines[at])) for at in body]
    size = PREVIEW_LINES - 1
    starts = range(max(1, len(body) - size + 1))

    def worth(at: int) -> tuple[int, int, int]:
        """Prefer the most distinct words, then a first line that has some."""
        return len(frozenset().union(*matches[at : at + size])), len(matches[at]), -at

    best = max(starts, key=worth)
    return [0, *body[best : best + size]]


def _after_docstring(lines: list[str]) -> int:
    """The line where the body starts, after the signature and the docstring."""
    at = 1
    while at < len(lines) - 1 and not lines[at - 1].rstrip().endswith((":", "{", ")")):
        at += 1
    opening = DOCSTRING.match(lines[at])
    if not opening:
        return at
    is_closed = lines[at][opening.end() :].rstrip().endswith(opening[1])
    while not is_closed and at < len(lines) - 1:
        at += 1
        is_closed = opening[1] in lines[at]
    return min(at + 1, len(lines) - 1)


def whole(language: str, text: str, words: frozenset[str], find: Find = nowhere) -> Snippet:
    """A whole function, for its page."""
    text = text.strip("\n")
    lines = dedent(text[:WHOLE_LENGTH].split("\n"), language)
    return Snippet(mark_code(_cut(lines, 5 * LINE_LENGTH), language, words, find), text[WHOLE_LENGTH:].count("\n"))


def file_lines(text: str, language: str, link: Callable[[int, str], str] = lambda _line, _name: "") -> list[str]:
    """A whole file as HTML, line by line. `link` returns the URL of an identifier in a line, or ''."""
    lines: list[str] = []
    line: list[str] = []
    for kind, piece in pieces(text, language):
        first, *rest = [
            _file_part(part, kind, partial(link, number)) if part else ""
            for number, part in enumerate(piece.split("\n"), len(lines) + 1)
        ]
        line.append(first)
        if rest:
            lines += ("".join(line), *rest[:-1])
            line = rest[-1:]
    return [*lines, "".join(line)]


def _file_part(text: str, kind: str, link: Callable[[str], str]) -> str:
    if len(text) > FILE_LINE_LENGTH:
        text = text[:FILE_LINE_LENGTH] + " …"
    inner = _link(text, link) if kind in NAMES else _escape(text)
    return f'<span class="{kind}">{inner}</span>' if kind else inner


def _link(text: str, link: Callable[[str], str]) -> str:
    """Escaped text, with identifiers that have a URL as links."""
    parts, at = [], 0
    for match in IDENTIFIER.finditer(text):
        if address := link(match[0]):
            parts += [_escape(text[at : match.start()]), f'<a href="{escape(address)}">{_escape(match[0])}</a>']
            at = match.end()
    return "".join((*parts, _escape(text[at:])))


def dedent(lines: list[str], language: str) -> list[str]:
    """A method without its indentation. Its stored first line has none, the others still do."""
    rest = [line for line in lines[1:] if line.strip()]
    indent = min((len(line) - len(line.lstrip(" ")) for line in rest), default=0)
    if language == "python":
        indent -= INDENT  # the body is one level deeper; other languages close at the method's own level
    return [lines[0], *(line[indent:] if line.strip() else "" for line in lines[1:])] if indent > 0 else lines


def mark_code(text: str, language: str, words: frozenset[str], find: Find = nowhere) -> Markup:
    """The highlighted text. Marked is what `find` has places of, else the parts of identifiers that are among `words`
    (stemmed terms)."""
    html: list[str] = []
    places, at = find(text), 0
    for kind, piece in unit_pieces(text, language):
        end = at + len(piece)
        spans = [(one - at, other - at) for one, other in places if one < end and at < other]
        inner = "".join(_mark(piece, spans if places else word_spans(piece, words)))
        at = end
        html.append(f'<span class="{kind}">{inner}</span>' if kind else inner)
    return Markup("".join(html))  # noqa: S704 - every piece went through `escape`


def question_words(question: str) -> frozenset[str]:
    return frozenset(terms(question))


def mark_prose(text: str, words: frozenset[str]) -> Markup:
    """Plain text (a docstring) with the query's words marked."""
    return Markup("".join(_mark(text, word_spans(text, words))))  # noqa: S704 - every piece went through `escape`


def _mark(piece: str, spans: Iterable[Span]) -> Iterator[str]:
    at = 0
    for start, end in spans:
        begin = max(at, start)  # parts may overlap by a letter
        yield _escape(piece[at:begin])
        at = end
        yield f"<mark>{_escape(piece[begin:at])}</mark>"
    yield _escape(piece[at:])


def _escape(text: str) -> str:
    safe = str(escape(text))
    if INVISIBLE.search(safe):
        return INVISIBLE.sub(
            lambda hit: f'<span class="u" title="{character_name(hit[0])}">{code_point(hit[0])}</span>', safe
        )
    return safe


def _cut(lines: list[str], length: int = LINE_LENGTH) -> str:
    return "\n".join(line if len(line) <= length else line[:length] + " …" for line in lines)
