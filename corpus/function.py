"""The `Function` record: one unit of code with CodeSearchNet's field names, and its address."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import field, fields
from functools import lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple

import orjson

from treeline.corpus.frozen import frozen

# The call graph stores line numbers in 32 bits; no file has a line number of ten digits.
LINES_IN_URL = re.compile(r"#L(\d{1,9})(?:-L?(\d{1,9}))?$")

# The kinds of units. `file` is the text of a file outside its definitions, `section` a part of a document.
KINDS = ("function", "method", "class", "interface", "type", "enum", "constant", "file", "section", "config")
FUNCTION_KINDS = frozenset({"function", "method"})


class Address(NamedTuple):
    """The place of a unit: all that the tree ranking needs to know about it.

    A search makes hundreds; a named tuple takes half as long to make as a frozen dataclass.
    """

    repo: str
    path: str
    func_name: str
    language: str
    url: str
    kind: str = "function"

    @property
    def fragment(self) -> str:
        """The end of the URL, which names the lines."""
        mark = self.url.find("#")
        return self.url[mark:] if mark >= 0 else ""

    @property
    def lines(self) -> tuple[int, int] | None:
        """First and last line, when the URL names them."""
        return lines_in(self.url)

    @property
    def scopes(self) -> list[str]:
        """The steps inside the file: classes (or enclosing functions), then the function's own name."""
        if self.kind == "file":  # the dot in its name does not separate scopes
            return [self.func_name]
        return self.func_name.split(".") if self.func_name else ["<anonymous>"]


def module_of(path: str) -> str:
    """The module name of a file: `json/decoder.py` → `json.decoder`, `json/__init__.py` → `json`."""
    return path.rpartition(".")[0].removesuffix("/__init__").replace("/", ".")


def is_re_export(reference: str, name: str, path: str) -> bool:
    """Whether `wanted` may be the unit's re-export by a package above its file, as `asyncio.run` of
    `asyncio/runners.py`."""
    package = reference.removesuffix(f".{name}")
    return package != reference and f".{package}." in f".{module_of(path)}."


@lru_cache(maxsize=20_000)
def lines_in(url: str) -> tuple[int, int] | None:
    """First and last line in a URL or its fragment."""
    at = url.rfind("#L")
    match = LINES_IN_URL.match(url, at) if at >= 0 else None
    if not match:
        return None
    first = int(match[1])
    return first, int(match[2] or first)


@frozen
class Function:
    """One unit. `original_string` is the source as written; `code` is the same without its docstring.

    `func_name` is qualified by its class where there is one (`Class.method`); `repo` is `owner/name`, or the
    folder's or package's name; `url` ends in `#Lfirst-Llast`. `kind` is one of `KINDS`; the id does not depend on it.
    """

    repo: str
    path: str
    func_name: str
    original_string: str
    language: str
    code: str
    code_tokens: tuple[str, ...]
    docstring: str
    docstring_tokens: tuple[str, ...]
    sha: str
    partition: str
    url: str
    kind: str = "function"
    id: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", function_id(self.repo, self.path, self.func_name, self.original_string))

    def __reduce__(self) -> tuple[Callable[[Any], Function], tuple[Any]]:
        """Pickled as JSON, which is three times as fast."""
        values = tuple(getattr(self, name) for name in NAMES)
        try:
            return _from_json, (orjson.dumps(values),)
        except orjson.JSONEncodeError:  # a path that is not valid Unicode
            return from_values, (values,)

    @property
    def address(self) -> Address:
        return Address(self.repo, self.path, self.func_name, self.language, self.url, self.kind)

    @property
    def docstring_outside(self) -> str:
        """The docstring if it is outside the function's code, as in Java or Go; else empty."""
        text = self.docstring.strip()
        return "" if all(line.strip() in self.original_string for line in text.split("\n")) else text


NAMES = tuple(one.name for one in fields(Function))
_SETTERS = tuple(getattr(Function, name).__set__ for name in NAMES)


def from_values(values: Sequence[Any]) -> Function:
    """A record from trusted values in the order of `NAMES`, without computing the id again."""
    function = object.__new__(Function)
    for setter, value in zip(_SETTERS, values, strict=True):
        setter(function, value)
    return function


def _from_json(data: bytes) -> Function:
    values = orjson.loads(data)
    return from_values([tuple(value) if isinstance(value, list) else value for value in values])


def function_id(repo: str, path: str, func_name: str, original_string: str) -> str:
    """A hash of location and code: equal on every machine, new after an edit."""
    text = "\0".join((repo, path, func_name, original_string, ""))
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
