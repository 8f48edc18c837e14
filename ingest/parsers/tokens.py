"""Tokens of code and of docstrings, close to what CodeSearchNet stored: comments dropped, strings whole."""

from __future__ import annotations

import re
from functools import cache

# Every part takes time in proportion to the text, also where something is opened again and again and never closed: no
# string begins behind a backslash, as in a heap of `\"`, and a block comment that is not closed goes to the end.
STRING = r'(?<!\\)(?:"""[\s\S]*?"""|\'\'\'[\s\S]*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|`(?:\\.|[^`\\])*`)'
WORD = r"[\w$@]+|[^\w\s]"
PROSE = re.compile(r"\w+|[^\w\s]")
PARAGRAPH = re.compile(r"\r?\n[ \t]*\r?\n")


@cache
def _pattern(line_comment: str) -> re.Pattern[str]:
    comment = re.escape(line_comment) + ".*" + (r"|/\*[\s\S]*?(?:\*/|\Z)" if line_comment == "//" else "")
    return re.compile(f"(?:{comment})|({STRING}|{WORD})")


def code_tokens(code: str, line_comment: str) -> tuple[str, ...]:
    return tuple(token for token in _pattern(line_comment).findall(code) if token)


def docstring_tokens(docstring: str) -> tuple[str, ...]:
    """Of the first paragraph, as CodeSearchNet has it."""
    return tuple(PROSE.findall(PARAGRAPH.split(docstring.strip(), maxsplit=1)[0]))
