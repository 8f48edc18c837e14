"""Words that the shipped encoder has learnt whole: who types one of them has not mistyped another."""

from __future__ import annotations

from functools import cache

from treeline.encoder.static import SHIPPED, VOCABULARY

SUFFIXES = ("s", "es", "d", "ed", "ing", "ly", "r", "rs", "er", "ers", "or", "ors", "able", "ness", "al")
SHORTEST_STEM = 4  # letters; shorter ones with an ending are as often the beginning of another word


@cache
def _words() -> frozenset[str]:
    return frozenset((SHIPPED / VOCABULARY).read_text(encoding="utf-8").splitlines())


def is_word(word: str) -> bool:
    """Whether a word in small letters is one of them, or one with an ending."""
    if word in _words():
        return True
    stems = (word.removesuffix(suffix) for suffix in SUFFIXES if word.endswith(suffix))
    return any(len(stem) >= SHORTEST_STEM and stem in _words() for stem in stems)
