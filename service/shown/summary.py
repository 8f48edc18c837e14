"""What a docstring says first, for whoever looks through a list of functions: one sentence on one line."""

from __future__ import annotations

import re

LENGTH = 220
SENTENCE_END = re.compile(r"(?<=[.!?])\s|\n\s*\n")
PARAMETERS = re.compile(r"[:@](param|type|return|rtype|raise)|(Args|Arguments|Parameters|Returns)\s*(:|\n\s*-)")


def summary(docstring: str, length: int = LENGTH) -> str:
    """The first sentence of a docstring, in one line; nothing where it begins with a list of parameters."""
    first = SENTENCE_END.split(docstring.strip(), maxsplit=1)[0]
    if PARAMETERS.match(first):
        return ""
    line = " ".join(first.split())
    return line if len(line) <= length else line[:length].rsplit(" ", 1)[0] + " …"
