"""Choosing the vocabulary: the words of the corpus by count, a base vocabulary's words, and pieces for the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from treeline.corpus.function import Function
from treeline.encoder.text import fields
from treeline.encoder.tokens import CONTINUED, identifier_parts

RAREST = 8  # a word seen less often is left to its pieces: its vector would not be learnt


def count_words(functions: Iterable[Function]) -> Counter[str]:
    """How many functions have each word; names and docstrings count twice, since people ask in their words."""
    counts: Counter[str] = Counter()
    for function in functions:
        parts = fields(function)
        counts.update(set(identifier_parts(parts.code)))
        counts.update(set(identifier_parts(f"{parts.name} {parts.docstring}")))
    return counts


def choose(counts: Counter[str], base: Sequence[str], size: int) -> list[str]:
    """`size` tokens: all plain pieces of the base, then words, the corpus' most common first, then the base's."""
    pieces = [token for token in base if token.startswith(CONTINUED) and _plain(token[2:])]
    letters = [chr(code) for code in range(ord("a"), ord("z") + 1)] + [str(digit) for digit in range(10)]
    common = [word for word, count in counts.most_common() if count >= RAREST and _plain(word) and len(word) > 1]
    rest = [token for token in base if _plain(token) and len(token) > 1]
    return list(dict.fromkeys([*letters, *pieces, *common, *rest]))[:size]


def _plain(word: str) -> bool:
    return word.isascii() and word.isalnum() and len(word) <= 24 and not (word.isdigit() and len(word) > 4)
