"""Names and tokens in any language: dotted names for the call graph, and CodeSearchNet's tokens of code and docs."""

from __future__ import annotations

import re
from functools import cache

SEPARATORS = re.compile(r"\?->|->|::|\?\.|&\.|!\.|\\")
SPACE = re.compile(r"\s+")
DOTTED = re.compile(r"[\w$@]+[?!]?(?:\.[\w$@]+[?!]?)*")
PART = re.compile(r"[\w$@]+[?!]?")
# Stands for a receiver that is an expression, not a name: `make().close()` refers to `?.close`.
UNKNOWN = "?"
# Longer than any name that can be resolved; the limit keeps endless call chains linear.
MAX_TARGET = 200
MAX_CHAIN = 1_000  # bytes of a chain, including the arguments of its calls
# Cached names: about 20 MB.
REMEMBERED = 100_000

# Every part runs in linear time, even on input that opens strings or comments again and again and never closes them: no
# string starts after a backslash, as in a long run of `\"`, and an unclosed block comment extends to the end.
STRING = r'(?<!\\)(?:"""[\s\S]*?"""|\'\'\'[\s\S]*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|`(?:\\.|[^`\\])*`)'
WORD = r"[\w$@]+|[^\w\s]"
PROSE = re.compile(r"\w+|[^\w\s]")
PARAGRAPH = re.compile(r"\r?\n[ \t]*\r?\n")


def dotted(text: str) -> str:
    """A name with dots between its parts, and `?` for a receiver that is not a name; empty if there is no name."""
    if DOTTED.fullmatch(text):
        return text
    text = SPACE.sub("", SEPARATORS.sub(".", text)).strip(".")
    if DOTTED.fullmatch(text):
        return text
    _, dot, last = text.rpartition(".")
    return f"{UNKNOWN}.{last}" if dot and PART.fullmatch(last) else ""


# Brackets with their content, then what may surround a name: `new Queue<T>()`, `await load()`, `f()?`.
TEXT_PART = re.compile(r'"(?:\\.|[^"\\])*"|`[^`]*`|\'(?:\\.|[^\'\\])*\'')
ROUND, SQUARE, CURLY = re.compile(r"\([^()\[\]{}]*\)"), re.compile(r"\[[^()\[\]{}]*\]"), re.compile(r"\{[^()\[\]{}]*\}")
TYPE_ARGUMENTS = re.compile(r"(?<=\w)(?:::)?<[\w\s,.&?*:\x02|'-]*>(?=[.:\x01]|$)")
AROUND = re.compile(r"^(?:(?:new|await|return|throw|&mut|&|\*)\s*\b|&)|\.await\b|[?!]+$|\?(?=\.)|!(?=\.)")
CHAIN = re.compile(r"[\w$@]+[?!]?(?:\(\)|\[\])*(?:\.[\w$@]+[?!]?(?:\(\)|\[\])*)*")
MAX_BRACKETS = 20


def chain(text: str) -> str:
    """A name with the calls and indexes that lead to it: `a.get(x)[1].close` → `a.get()[].close`.

    `?.close` if the receiver is any other expression; empty if there is no name.
    """
    if DOTTED.fullmatch(text):
        return text
    shorter = TEXT_PART.sub('"', text)
    for _ in range(MAX_BRACKETS):
        before = shorter
        shorter = CURLY.sub("\x03", SQUARE.sub("\x02", ROUND.sub("\x01", shorter)))
        if shorter == before:
            break
    for _ in range(3 if "<" in shorter else 0):
        shorter = TYPE_ARGUMENTS.sub("", shorter)
    shorter = AROUND.sub("", shorter.strip())
    shorter = SPACE.sub("", SEPARATORS.sub(".", shorter)).strip(".")
    found = shorter.replace("\x01\x03", "\x01").replace("\x01", "()").replace("\x02", "[]")
    return found if CHAIN.fullmatch(found) else dotted(text)


class _Names(dict[bytes, str]):
    """Caches the dotted form of each name, because source code repeats its names."""

    def __missing__(self, raw: bytes) -> str:
        if len(self) >= REMEMBERED:
            self.clear()
        name = self[raw] = dotted(raw.decode("utf-8", "replace"))
        return name


class _Chains(_Names):
    """Caches the chain of each name."""

    def __missing__(self, raw: bytes) -> str:
        if len(self) >= REMEMBERED:
            self.clear()
        name = self[raw] = chain(raw.decode("utf-8", "replace"))
        return name


_names, _chains = _Names(), _Chains()


def target(source: bytes, start: int, end: int, *, chained: bool = False) -> str:
    """The dotted name or the chain in these bytes of the source; of a very long one only the last part."""
    if end - start <= MAX_TARGET:
        return (_chains if chained else _names)[source[start:end]]
    if chained and end - start <= MAX_CHAIN:
        return chain(source[start:end].decode("utf-8", "replace"))
    name = dotted(source[end - MAX_TARGET : end].decode("utf-8", "replace"))
    return f"{UNKNOWN}.{name.rpartition('.')[2]}" if name else ""


# What an argument tells of a block: `get("/users")`, `describe("parses dates")`.
ARGUMENT = re.compile(r"[^\w/ :*@-]+")
MAX_ARGUMENT = 60


def called(callee: str, argument: str) -> str:
    """The name of a block that a call takes, such as a test or a route: `it("adds one") do` → `it(adds one)`."""
    shown = " ".join(ARGUMENT.sub(" ", argument).split())[:MAX_ARGUMENT]
    return f"{callee}({shown})" if shown else ""


@cache
def _pattern(line_comment: str) -> re.Pattern[str]:
    comment = re.escape(line_comment) + ".*" + (r"|/\*[\s\S]*?(?:\*/|\Z)" if line_comment == "//" else "")
    return re.compile(f"(?:{comment})|({STRING}|{WORD})")


def code_tokens(code: str, line_comment: str) -> tuple[str, ...]:
    return tuple(filter(None, _pattern(line_comment).findall(code)))


def docstring_tokens(docstring: str) -> tuple[str, ...]:
    """The tokens of the first paragraph, as in CodeSearchNet."""
    return tuple(PROSE.findall(PARAGRAPH.split(docstring.strip(), maxsplit=1)[0]))
