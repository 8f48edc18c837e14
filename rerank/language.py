"""The programming language that a query names: "read a file in go" asks for code in Go.

To the lanes "python" is a word like any other: some names and docstrings have it (`check_python_help`), while most code
written in Python does not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from treeline.corpus.analysis import terms

LANGUAGES = {
    "python": "python",
    "python2": "python",
    "python3": "python",
    "javascript": "javascript",
    "js": "javascript",
    "nodejs": "javascript",
    "node.js": "javascript",
    "typescript": "typescript",
    "golang": "go",
    "java": "java",
    "ruby": "ruby",
    "php": "php",
}
WORDS = {"go": "go", "node": "javascript", "py": "python", "ts": "typescript", "rb": "ruby"}  # after "in" alone
INTERCHANGEABLE = {"javascript": "typescript", "typescript": "javascript"}  # each is useful to users of the other
ENOUGH_WORDS = 2  # other words that make a language at either end a wish for that language, not the topic
ANY = "|".join(map(re.escape, LANGUAGES))
SHORT = "|".join(WORDS)
MENTION = re.compile(rf"(?<![\w.])(?:{ANY})(?![\w.])", re.IGNORECASE)
FIRST = re.compile(rf"^\s*({ANY})[\s:,]+(?=\w)", re.IGNORECASE)
IN = re.compile(rf"[\s,(](?:in|using|with)\s+({ANY})(?![\w.-])[)?!]*", re.IGNORECASE)
LAST = re.compile(rf"[\s,(](?:(?:for\s+)?({ANY})|(?:in|using|with)\s+({SHORT}))[)?!.]*\s*$", re.IGNORECASE)


class NamedLanguage(NamedTuple):
    """The language that a query asks for (empty: none), and the query without it.

    For "python version" the rest keeps the language, because it may be the topic.
    """

    language: str
    rest: str


@lru_cache(maxsize=256)
def named_language(question: str) -> NamedLanguage:
    """Detect a language at the start, at the end or after "in"; none if several are named or nothing else is."""
    if len({LANGUAGES[word.lower()] for word in MENTION.findall(question)}) > 1:
        return NamedLanguage("", question)
    for pattern in (IN, FIRST, LAST):
        match = pattern.search(question)
        rest = f"{question[: match.start()]} {question[match.end() :]}".strip() if match else ""
        said = len(terms(rest))
        if match and said:
            word = next(filter(None, match.groups())).lower()
            sure = said >= ENOUGH_WORDS or pattern is IN or word in WORDS
            return NamedLanguage(LANGUAGES.get(word) or WORDS[word], rest if sure else question)
    return NamedLanguage("", question)


def others(question: str, languages: Callable[[], Sequence[str]]) -> list[bool]:
    """For each unit's language, whether it differs from the one that the query names.

    Empty if the query names none, or if no unit is written in it.
    """
    own = named_language(question).language
    if not own:
        return []
    welcome = {own, INTERCHANGEABLE.get(own, "")}
    result = [language not in welcome for language in languages()]
    return [] if all(result) or not any(result) else result
