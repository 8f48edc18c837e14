"""Text to terms, the same for indexing and querying: split identifiers, lower-case, drop stop words, stem.

Measured on CodeSearchNet's 99 questions (BM25, NDCG within): splitting identifiers is worth .13, stems .02, stop words
.01.
"""

from __future__ import annotations

import re
from itertools import pairwise
from unicodedata import normalize

import Stemmer

from treeline.corpus.function import Function

WORD = re.compile(r"\w+")
# In order: a plural acronym (`URLs`), an acronym before a word (`HTTP` in `HTTPResponse`), a word, an acronym, digits,
# letters of a script without case (`~`, see `parts`).
PART = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+|~+")
# Chinese, Japanese and Korean have no spaces between words, so every pair of neighbours is a term.
# Compiled on first use: it takes as long as a search.
CJK_RUN = "[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\U00020000-\U0003ffff]{3,}"
# Lucene's list, and the words that turn keywords into a question.
STOP_WORDS = frozenset(
    """a an and are as at be but by for if in into is it no not of on or such that the their then there these they
    this to was will with from how what can do does i my""".split()
)
NAME_WEIGHT = 2  # how often the words of a name count; not chosen on the 99 queries (docs/research/lanes.md)
LONGEST_WORD = 100  # letters; longer ones are encoded data, not words
REMEMBERED_WORDS = 500_000  # about the distinct words of a million functions; 100 MB

_stem = Stemmer.Stemmer("english").stemWord


class _Words(dict[str, str]):
    """A cache of the terms of each word, joined by spaces; source code repeats its words."""

    def __missing__(self, word: str) -> str:
        if len(self) >= REMEMBERED_WORDS:
            self.clear()
        line = " ".join(_word_terms(word))
        self[word] = line
        return line


_words = _Words()


def terms(text: str) -> list[str]:
    """The terms of a text in order: for each identifier its parts, then the whole."""
    return _line(text).split()


def analyse(function: Function, name_weight: int = NAME_WEIGHT, shape: str = "") -> str:
    """The terms of a unit for a whitespace analyser: name, docstring and code as one text, and its shape terms.

    BM25 over one text with repeated words is BM25F (Robertson, Zaragoza & Taylor, CIKM 2004): a field's weight counts
    before the score saturates, and a term's rarity is counted over whole units, not per field.
    """
    name = _line(function.func_name)
    return " ".join(filter(None, [*[name] * name_weight, _line(function.docstring), _line(function.code), shape]))


def parts(word: str) -> list[str]:
    """An identifier split at underscores, case changes and digits; case is kept."""
    return PART.findall(word) if word.isascii() else [word[start:end] for start, end in spans(word)]


def spans(word: str) -> list[tuple[int, int]]:
    """The start and end of each part."""
    # Letters beyond ASCII follow the same rules, on a copy that has only each letter's category.
    shape = word if word.isascii() else "".join(map(_kind, word))
    return [part.span() for part in PART.finditer(shape)]


def _line(text: str) -> str:
    if not text.isascii():
        text = normalize("NFKC", text)
    return " ".join(filter(None, map(_words.__getitem__, WORD.findall(text))))


def _word_terms(word: str) -> list[str]:
    if len(word) > LONGEST_WORD:
        return []
    lower_parts = [part.lower() for part in parts(word)]
    result = [_stem(part) for part in lower_parts if part not in STOP_WORDS and (len(part) > 1 or not part.isascii())]
    for part in lower_parts:
        if not part.isascii() and re.fullmatch(CJK_RUN, part):
            result += map("".join, pairwise(part))
    if len(lower_parts) > 1:
        result.append(word.strip("_").lower())
    return list(dict.fromkeys(result))


def _kind(letter: str) -> str:
    if letter.isupper():
        return "A"
    if letter.islower():
        return "a"
    if letter.isdigit():
        return "0"
    return "_" if letter == "_" else "~"
