"""What a docstring says first, for whoever looks through a list of functions: one sentence on one line."""

from __future__ import annotations

import re

LENGTH = 220
SENTENCE_END = re.compile(r"(?<=[.!?])\s|\n\s*\n")
PARAMETERS = re.compile(r"[:@](param|type|return|rtype|raise)|(Args|Arguments|Parameters|Returns)\s*(:|\n\s*-)")

# reStructuredText: a directive that stands before the first sentence, HTML in one, and what is marked as code.
DIRECTIVE = re.compile(r"\.\. (?P<name>[\w-]+)::[ \t]*(\S*[ \t]*(\n|$))?")  # one word behind it: a version, `html`
TAG = re.compile(r"</?[a-z][^<>]*>", re.IGNORECASE)
MARKED = re.compile(r"(?<!`)(?:``|:[\w:]{1,40}:`)~?([^`]+)`{1,2}(?!`)")


def summary(docstring: str, length: int = LENGTH) -> str:
    """The first sentence of a docstring, in one line; nothing where it begins with a list of parameters."""
    first = SENTENCE_END.split(_told(docstring.strip()), maxsplit=1)[0]
    if PARAMETERS.match(first):
        return ""
    line = " ".join(MARKED.sub(r"`\1`", first).split())
    return line if len(line) <= length else line[:length].rsplit(" ", 1)[0] + " …"


def _told(text: str) -> str:
    """The text without the directive that opens it; in what is there for a web page, without its tags."""
    begin = DIRECTIVE.match(text)
    if not begin:
        return text
    told = text[begin.end() :].strip()
    return TAG.sub("", told) if begin["name"] == "raw" else told
