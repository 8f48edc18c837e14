"""The text of a function for an encoder: name, docstring, code and path, as fields or in one."""

from __future__ import annotations

import re
from typing import NamedTuple

from treeline.corpus.function import Function

SENTENCE_END = re.compile(r"(?<=[.!?])\s|\n\s*\n|\n\s*[:@]")
LONGEST_TEXT = 20_000  # characters; the rest of a very long function adds time, not meaning


class Fields(NamedTuple):
    """The fields of a function, which the encoder weighs separately."""

    name: str
    docstring: str
    code: str
    place: str


def fields(function: Function) -> Fields:
    return Fields(
        name=function.func_name,
        docstring=function.docstring[:LONGEST_TEXT],
        code=function.code[:LONGEST_TEXT],
        place=f"{function.repo.rpartition('/')[2]} {function.path}",
    )


def first_sentence(docstring: str) -> str:
    """The docstring's first sentence, on one line."""
    return " ".join(SENTENCE_END.split(docstring.strip(), maxsplit=1)[0].split())


def passage(function: Function) -> str:
    """The function as one text for a transformer: name, first sentence, code."""
    parts = (function.func_name, first_sentence(function.docstring[:LONGEST_TEXT]), function.code[:LONGEST_TEXT])
    return "\n".join(part for part in parts if part)
