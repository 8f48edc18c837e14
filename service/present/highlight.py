"""Code as HTML: coloured by Pygments, the question's words marked, everything escaped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from markupsafe import Markup, escape
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Keyword, Literal, Name, Number, Operator, String, _TokenType
from pygments.util import ClassNotFound

from treeline.corpus.analysis import UNSPACED, WORD, spans, terms
from treeline.service.present.text import INVISIBLE, character_name, code_point

PREVIEW_LINES = 12
LINE_LENGTH = 240  # a longer line is data or minified, and is cut
WHOLE_LENGTH = 60_000  # characters of one function that a page shows
INDENT = 4
CACHED_FUNCTIONS = 4_096
CACHED_WORDS = 65_536

# Few classes, so that pages stay small; what is not here is plain.
CLASSES: tuple[tuple[_TokenType, str], ...] = (
    (Comment, "c"),
    (String.Doc, "d"),
    (String, "s"),
    (Number, "n"),
    (Literal, "n"),
    (Keyword, "k"),
    (Operator.Word, "k"),
    (Name.Decorator, "a"),
    (Name.Function, "f"),
    (Name.Class, "f"),
    (Name.Builtin, "b"),
)


@dataclass(frozen=True, slots=True)
class Snippet:
    """Highlighted code, and how many lines of it are not shown."""

    html: Markup
    more: int


def preview(language: str, text: str, words: frozenset[str]) -> Snippet:
    """The first lines of a function, for a list of results."""
    lines = dedented(text.strip("\n").split("\n"), language)
    return Snippet(marked(_cut(lines[:PREVIEW_LINES]), language, words), max(0, len(lines) - PREVIEW_LINES))


def whole(language: str, text: str, words: frozenset[str]) -> Snippet:
    """A whole function, for its page."""
    shown = text.strip("\n")[:WHOLE_LENGTH]
    hidden = text.strip("\n")[WHOLE_LENGTH:].count("\n")
    lines = dedented(shown.split("\n"), language)
    return Snippet(marked(_cut(lines, 5 * LINE_LENGTH), language, words), hidden)


def dedented(lines: list[str], language: str) -> list[str]:
    """A method as it would stand on its own: its first line has lost its indent, the others have not."""
    rest = [line for line in lines[1:] if line.strip()]
    indent = min((len(line) - len(line.lstrip(" ")) for line in rest), default=0)
    if language == "python":
        indent -= INDENT  # the body is one step in; elsewhere the closing brace or `end` stands where the method does
    return [lines[0], *(line[indent:] if line.strip() else "" for line in lines[1:])] if indent > 0 else lines


def marked(text: str, language: str, words: frozenset[str]) -> Markup:
    """The text coloured, with the parts of identifiers that are among `words` (stemmed terms) marked."""
    html: list[str] = []
    for kind, piece in coloured(text, language):
        inner = "".join(_marked_piece(piece, words)) if words else _escaped(piece)
        html.append(f'<span class="{kind}">{inner}</span>' if kind else inner)
    return Markup("".join(html))  # noqa: S704 - every piece went through `escape`


@lru_cache(CACHED_FUNCTIONS)
def coloured(text: str, language: str) -> tuple[tuple[str, str], ...]:
    """(class, text) pieces, neighbours of one class joined."""
    pieces: list[tuple[str, str]] = []
    for token, value in _lexer(language).get_tokens(text):
        kind = _kind(token)
        if pieces and (pieces[-1][0] == kind or not value.strip()):
            pieces[-1] = (pieces[-1][0], pieces[-1][1] + value)
        else:
            pieces.append((kind, value))
    return tuple(pieces)


@lru_cache(256)
def _kind(token: _TokenType) -> str:
    return next((name for family, name in CLASSES if token is family or family in token.split()), "")


def question_words(question: str) -> frozenset[str]:
    return frozenset(terms(question))


def mark_prose(text: str, words: frozenset[str]) -> Markup:
    """Plain text (a docstring) with the question's words marked."""
    return Markup("".join(_marked_piece(text, words)))  # noqa: S704 - every piece went through `escape`


def _marked_piece(piece: str, words: frozenset[str]) -> Iterator[str]:
    done = 0
    for match in WORD.finditer(piece):
        for start, end, stem in parts_of(match[0]):
            begin = max(done, match.start() + start)  # neighbours may share a letter
            if stem in words:
                yield _escaped(piece[done:begin])
                done = match.start() + end
                yield f"<mark>{_escaped(piece[begin:done])}</mark>"
    yield _escaped(piece[done:])


@lru_cache(CACHED_WORDS)
def parts_of(word: str) -> tuple[tuple[int, int, str], ...]:
    """Where each part of an identifier is, and its stem; of words without spaces between them, any two letters."""
    found: list[tuple[int, int]] = []
    for start, end in spans(word):
        pairs = UNSPACED.fullmatch(word, start, end)
        found += [(at, at + 2) for at in range(start, end - 1)] if pairs else [(start, end)]
    stems = ((start, end, terms(word[start:end])) for start, end in found)
    return tuple((start, end, some[0]) for start, end, some in stems if some)


def _escaped(text: str) -> str:
    safe = str(escape(text))
    if INVISIBLE.search(safe):
        return INVISIBLE.sub(
            lambda hit: f'<span class="u" title="{character_name(hit[0])}">{code_point(hit[0])}</span>', safe
        )
    return safe


def _cut(lines: list[str], length: int = LINE_LENGTH) -> str:
    return "\n".join(line if len(line) <= length else line[:length] + " …" for line in lines)


@lru_cache(32)
def _lexer(language: str) -> Lexer:
    options = {"startinline": True} if language == "php" else {}
    try:
        return get_lexer_by_name(language or "text", stripnl=False, ensurenl=False, **options)
    except ClassNotFound:
        return get_lexer_by_name("text", stripnl=False, ensurenl=False)
