"""Names in any language, with dots, as the call graph has them."""

from __future__ import annotations

import re
from collections.abc import Callable

SEPARATORS = re.compile(r"\?->|->|::|\?\.|&\.|!\.|\\")
SPACE = re.compile(r"\s+")
DOTTED_NAME = re.compile(r"[\w$@]+[?!]?(?:\.[\w$@]+[?!]?)*")
PART = re.compile(r"[\w$@]+[?!]?")
# Stands for a receiver that is an expression, not a name: `make().close()` refers to `?.close`.
UNKNOWN = "?"
# Longer than any name that can be resolved; the limit keeps endless call chains linear.
MAX_TARGET = 200
MAX_CHAIN = 1_000  # bytes of a chain, including the arguments of its calls
# Cached names: about 20 MB.
CACHE_SIZE = 100_000


def dotted_name(text: str) -> str:
    """A name with dots between its parts, and `?` for a receiver that is not a name; empty if there is no name."""
    if DOTTED_NAME.fullmatch(text):
        return text
    text = SPACE.sub("", SEPARATORS.sub(".", text)).strip(".")
    if DOTTED_NAME.fullmatch(text):
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
    if DOTTED_NAME.fullmatch(text):
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
    result = shorter.replace("\x01\x03", "\x01").replace("\x01", "()").replace("\x02", "[]")
    return result if CHAIN.fullmatch(result) else dotted_name(text)


class _Cache(dict[bytes, str]):
    """Caches a form of each name, because source code repeats its names."""

    def __init__(self, make: Callable[[str], str]) -> None:
        self.make = make

    def __missing__(self, raw: bytes) -> str:
        if len(self) >= CACHE_SIZE:
            self.clear()
        name = self[raw] = self.make(raw.decode("utf-8", "replace"))
        return name


_names, _chains = _Cache(dotted_name), _Cache(chain)


def target(source: bytes, start: int, end: int, *, is_chain: bool = False) -> str:
    """The dotted name or the chain in these bytes of the source; of a very long one only the last part."""
    if end - start <= MAX_TARGET:
        return (_chains if is_chain else _names)[source[start:end]]
    if is_chain and end - start <= MAX_CHAIN:
        return chain(source[start:end].decode("utf-8", "replace"))
    name = dotted_name(source[end - MAX_TARGET : end].decode("utf-8", "replace"))
    return f"{UNKNOWN}.{name.rpartition('.')[2]}" if name else ""


# What an argument tells of a block: `get("/users")`, `describe("parses dates")`.
ARGUMENT = re.compile(r"[^\w/ :*@-]+")
MAX_ARGUMENT = 60


def call_name(callee: str, argument: str) -> str:
    """The name of a block that a call takes, such as a test or a route: `it("adds one") do` → `it(adds one)`."""
    text = " ".join(ARGUMENT.sub(" ", argument).split())[:MAX_ARGUMENT]
    return f"{callee}({text})" if text else ""
