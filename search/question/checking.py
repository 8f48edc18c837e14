"""Checks a question before any lane sees it, so that bad input is a sentence and never a crash."""

from __future__ import annotations

import re
from dataclasses import replace

from treeline.corpus.errors import InputError
from treeline.engine.protocol import NO_FILTERS
from treeline.rerank.registry import fusion
from treeline.search.query import MODES, Query
from treeline.search.settings import Settings

WORD = re.compile(r"[^\W_]")  # a letter or a digit of any script
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")  # no word contains them, and engines refuse some


def checked(query: Query, settings: Settings) -> Query:
    """The question with its text cleaned of control characters; `InputError` when it cannot be answered."""
    read_whole(query.text, settings)
    text = CONTROL.sub(" ", query.text).strip()
    if not text and (query.without or query.filters != NO_FILTERS):
        raise InputError(
            f"there is no word to look for ({query.narrowed})", "say in a few words what the function does"
        )
    if not text:
        raise InputError("the question is empty", "say in a few words what the function does")
    if not WORD.search(text):
        raise InputError(f"there is no word in the question {text[:20]!r}", "say in a few words what the function does")
    if query.mode not in MODES:
        raise InputError(f"unknown mode {query.mode!r}", f"choose one of: {', '.join(MODES)}")
    if not 1 <= query.k <= settings.max_k:
        raise InputError(f"k is {query.k}, it must be from 1 to {settings.max_k}")
    if query.offset < 0:
        raise InputError(f"offset is {query.offset}, it must not be negative")
    fusion(query.fusion)
    return query if text == query.text else replace(query, text=text)


def read_whole(text: str, settings: Settings) -> None:
    """Raise `InputError` for a question that is longer than what is read."""
    if len(text) > settings.max_query_length:
        raise InputError(
            f"the question has {len(text):,} characters, at most {settings.max_query_length:,} are read",
            "ask in fewer words",
        )
