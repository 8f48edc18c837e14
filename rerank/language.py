"""The language that a question names: "read a file in go" asks for functions that are written in Go.

The lanes know words. To them "python" is one that some names and docstrings have (`check_python_help`), and the
functions that are written in it mostly do not.
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
ALIKE = {"javascript": "typescript", "typescript": "javascript"}  # who asks for one can use the other
TELLING = 2  # words beside a language at either end that make it a question in that language, and not one about it
ANY = "|".join(map(re.escape, LANGUAGES))
SHORT = "|".join(WORDS)
MENTIONED = re.compile(rf"(?<![\w.])(?:{ANY})(?![\w.])", re.IGNORECASE)
FIRST = re.compile(rf"^\s*({ANY})[\s:,]+(?=\w)", re.IGNORECASE)
IN = re.compile(rf"[\s,(](?:in|using|with)\s+({ANY})(?![\w.-])[)?!]*", re.IGNORECASE)
LAST = re.compile(rf"[\s,(](?:(?:for\s+)?({ANY})|(?:in|using|with)\s+({SHORT}))[)?!.]*\s*$", re.IGNORECASE)


class Named(NamedTuple):
    """The language that a question asks for (empty: none), and the question without it.

    "python version" has the language in its rest: it may be about the word.
    """

    language: str
    rest: str


@lru_cache(maxsize=256)
def named(question: str) -> Named:
    """A language that is said first, last or after "in"; none where several are mentioned, or nothing else is said."""
    if len({LANGUAGES[word.lower()] for word in MENTIONED.findall(question)}) > 1:
        return Named("", question)
    for pattern in (IN, FIRST, LAST):
        found = pattern.search(question)
        rest = f"{question[: found.start()]} {question[found.end() :]}".strip() if found else ""
        said = len(terms(rest))
        if found and said:
            word = next(filter(None, found.groups())).lower()
            sure = said >= TELLING or pattern is IN or word in WORDS
            return Named(LANGUAGES.get(word) or WORDS[word], rest if sure else question)
    return Named("", question)


def others(question: str, languages: Callable[[], Sequence[str]]) -> list[bool]:
    """For each function's language, whether it is another than the question names.

    Empty for a question that names none, and where no function is written in the one it names.
    """
    wanted = named(question).language
    if not wanted:
        return []
    welcome = {wanted, ALIKE.get(wanted, "")}
    found = [language not in welcome for language in languages()]
    return [] if all(found) or not any(found) else found
