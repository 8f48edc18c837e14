"""Text to terms, one way for indexing and querying: split identifiers, lower-case, drop stop words, stem."""

from __future__ import annotations

import re
from dataclasses import dataclass

import Stemmer

from corpus.function import Function

WORD = re.compile(r"\w+")
PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_A-Za-z]+")
STOP_WORDS = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "by",
        "for",
        "from",
        "in",
        "is",
        "it",
        "of",
        "on",
        "or",
        "that",
        "the",
        "this",
        "to",
        "with",
    ]
)
_stem = Stemmer.Stemmer("english").stemWord


@dataclass(frozen=True, slots=True)
class Terms:
    """A function's indexed terms, field by field, each ready for a whitespace analyser."""

    name: str
    docstring: str
    code: str


def terms(text: str) -> list[str]:
    """The terms of a text in order: for each identifier its parts, then the whole."""
    found: list[str] = []
    for word in WORD.findall(text):
        parts = [part.lower() for part in PART.findall(word)]
        kept = [_stem(part) for part in parts if part not in STOP_WORDS and len(part) > 1]
        if len(parts) > 1:
            kept.append(word.lower())
        found.extend(dict.fromkeys(kept))
    return found


def analyse(function: Function) -> Terms:
    return Terms(
        name=" ".join(terms(function.func_name)),
        docstring=" ".join(terms(function.docstring)),
        code=" ".join(terms(function.code)),
    )
