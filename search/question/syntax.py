"""A question taken apart: its words, the filters written in it (`repo:flask`, `lang:go`, `path:src/`), and `-word`.

Only the known keys with a value right behind them are filters: `path::join`, `file:///etc`, `error: no such file` and
`lambda x: x` are words. A hyphen excludes only where it begins a word of two letters or more: `utf-8`, `-1`, `a - b`,
`ls -l` and `--verbose` are words. What stands in quotes is left as it is.
"""

from __future__ import annotations

import re
from dataclasses import fields, replace
from typing import NamedTuple

from treeline.corpus.errors import InputError
from treeline.engine.protocol import NO_FILTERS, Filters
from treeline.search.question.query import Query

KEYS = {"repo": "repo", "lang": "language", "language": "language", "path": "path_prefix", "file": "path_prefix"}
PART = re.compile(
    r"(?<!\S)(?:"
    r"\"[^\"]*\"|`[^`]*`"  # a phrase or a piece of code
    rf"|(?P<not>-?)(?P<key>{'|'.join(KEYS)}):(?!:|//)(?:\"(?P<quoted>[^\"]+)\"|(?P<value>[^\s\"]+))"
    r"|-(?:\"(?P<phrase>[^\"]*\w[^\"]*)\"|(?P<word>[^\W\d_](?:[\w.-]*\w)))"
    r")(?!\S)",
    re.IGNORECASE,
)


class Parts(NamedTuple):
    """The words that are looked for, the filters, and the words that no result may contain."""

    words: str
    filters: Filters = NO_FILTERS
    without: tuple[str, ...] = ()

    @property
    def question(self) -> str:
        """The question without its filters, as it could be asked again beside them."""
        excluded = (f'-"{word}"' if " " in word else f"-{word}" for word in self.without)
        return " ".join([self.words, *excluded])


def taken_apart(text: str) -> Parts:
    """The parts of a question; `InputError` where it asks for two values of one filter, or for all but one."""
    filters = NO_FILTERS
    without: list[str] = []

    def take(found: re.Match[str]) -> str:
        nonlocal filters
        if found["not"]:
            raise InputError(f"{found[0]}: a filter cannot exclude", "leave it out; -word excludes a word")
        if key := found["key"]:
            said = Filters(**{KEYS[key.lower()]: found["quoted"] or found["value"]})
            filters = together(filters, said)
        elif word := found["word"] or found["phrase"]:
            without.append(word.strip())
        else:
            return found[0]
        return ""

    words = PART.sub(take, text)
    if filters == NO_FILTERS and not without:
        return Parts(text)
    return Parts(" ".join(words.split()), filters, tuple(dict.fromkeys(without)))


def together(one: Filters, other: Filters) -> Filters:
    """Both; which of two values would be meant is not guessed."""
    for name in (field.name for field in fields(Filters)):
        values = dict.fromkeys(filter(None, (getattr(one, name), getattr(other, name))))
        if len(values) > 1:
            shown = name.removesuffix("_prefix")
            raise InputError(f"{shown} is asked for more than once: {', '.join(values)}", f"give {shown} once")
        one = replace(one, **{name: next(iter(values), "")})
    return one


def understood(query: Query) -> Query:
    """The query with its text taken apart: the filters in it beside those that were given as such."""
    said = taken_apart(query.text)
    if not said.without and said.filters == NO_FILTERS:
        return query
    return replace(query, text=said.words, filters=together(query.filters, said.filters), without=said.without)
