"""Recognises functions that do nothing: they return or set one field or a constant, or are empty.

Their names and docstrings have the words of a question, and their code has nothing else, so they match well and answer
little: "how are connections dispatched to worker threads" had `get_worker_thread` first. Which units they are is read
from their code without a parser, in all languages alike (docs/research/tree-ranking.md).
"""

from __future__ import annotations

import re

LONGEST = 200  # characters of an accessor's code
# Lines of annotations, then everything up to the end of the parameters or the beginning of the body. A bracket before
# any name opens no parameters: in a Lisp it holds the whole function.
HEAD = re.compile(r"(?:\s*#?[@\[][^\n]*\n)*(?:[^\n({=,;]+(?:\((?:[^()]|\([^()]*\))*\))?)?")
BODY = re.compile(
    r"\{|=>?|\bdo:|\n"
    # On the line of the head: Python's statement after a colon (`: x_(x) {` is C++'s initialiser), Erlang's after `->`.
    r"|:[ \t]+(?=(?:return|raise|yield|await|assert|del|for|while|if|with)\b|[\w.]+\([^\n{]*(?:\n|\Z))"
    r"|->(?=[^\n]*\.\s*\Z)"
)
TYPE = re.compile(r"\s*(?::|->)")  # what is left of a function without a body
# `self.name`, `&threads[id]`, `d->tag.get()`: no argument, no operator, no second step.
FIELD = r"[-&*!~]?[@$:\w](?:[\w$@.:?!&]|->|\[\w+\]|\(\))*"
CONSTANT = r"\"[^\"\n]*\"|'[^'\n]*'|\[\]|\{\}|\.\.\."
CALL = re.compile(r"(\w+)\(\)")
READS = re.compile(r"(?:get|is|has|as|to)(?![a-z])\w*|size|length|len|count|value|name|copy|clone")
ACCESS = re.compile(rf"(?:(?:return\s+)?(?:{FIELD}|{CONSTANT})|{FIELD}\s*=\s*(?:{FIELD}|{CONSTANT}))?")
ASKED_FOR = re.compile(
    r"\b(?:getters?|setters?|accessors?|propert(?:y|ies)|constants?|defaults?|hooks?|stubs?|constructors?|initiali[sz]ers?"
    r"|descriptions?|representations?|to\s*string)\b",
    re.IGNORECASE,
)


def is_accessor(code: str) -> bool:
    """Whether the code of a function, without its docstring, only returns or sets a field or a constant, or nothing."""
    if len(code) > LONGEST:
        return False
    head = HEAD.match(code)
    rest = code[head.end() :] if head else code
    start = BODY.search(rest)
    body = rest[start.end() :] if start else "" if TYPE.match(rest) else rest
    body = body.strip(" \t\r\n{};").removesuffix("end").strip()
    if ACCESS.fullmatch(body) is None:
        return False
    # A call that changes something is no access; one of the function's own name only forwards.
    return all(READS.fullmatch(name) or len(re.findall(rf"\b{name}\b", code)) > 1 for name in CALL.findall(body))


def asks_for_accessors(query: str) -> bool:
    """Whether the query asks for a getter, a description or the like."""
    return ASKED_FOR.search(query) is not None
