"""The patterns of paths that the filters `path:`, `file:` and `ext:` stand for.

A pattern is a regular expression of a whole path that Python and Lucene read alike, so that both engines agree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain, zip_longest
from posixpath import normpath

from treeline.corpus.errors import InputError
from treeline.corpus.frozen import frozen
from treeline.corpus.roles import role_of
from treeline.engine.protocol import Filters, Values

PATH_FIELDS = ("path", "file", "ext")
WILDCARD = re.compile(r"(\\[,*?\\-]|\*\*/|\*\*|\*|\?)")
# The second in a class, because Lucene quotes with `"` and Python does not.
SPECIAL = re.compile(r"([\^\[\]\\$])|([^\w/\s^\[\]\\$-])")
ANYWHERE = "(.*/)?"
WILDCARDS = {"**/": ANYWHERE, "**": ".*", "*": "[^/]*", "?": "[^/]"}


@frozen
class PathPattern:
    """Paths that begin with `prefix` and match `regex` as a whole; without one, all that begin so."""

    prefix: str
    regex: str = ""


@lru_cache(maxsize=1_000)
def path_pattern(field: str, value: str) -> PathPattern:
    """The pattern of one value of a field: `src/`, `src/**/test_*.py`; `app.py` for a file, `py` for an extension."""
    if field == "ext":
        return PathPattern("", f".*[.]{_escape(value.lstrip('.'))}")
    value = value.removeprefix("./").lstrip("/")
    glob, last = _glob(value), ".*" if value.endswith("/") else ""
    if field == "file":
        return PathPattern("", f"{ANYWHERE}{glob}{last}")
    literal = unescape(value)
    if _escape(literal) == glob:
        return PathPattern(literal)
    at_any_depth = "/" not in value.rstrip("/")
    return PathPattern("", f"{ANYWHERE * at_any_depth}{glob}{last or '(/.*)?'}")


def _glob(value: str) -> str:
    """A glob as a regular expression: `*` and `?` stay within a folder, `**` does not; a backslash escapes."""
    parts = WILDCARD.split(value)
    wildcards = (WILDCARDS.get(part) or _escape(part[1:]) for part in parts[1::2])
    return "".join(chain(*zip_longest(map(_escape, parts[::2]), wildcards, fillvalue="")))


def _escape(text: str) -> str:
    return SPECIAL.sub(lambda match: f"\\{match[1]}" if match[1] else f"[{match[2]}]", text)


def unescape(value: str) -> str:
    """A value without the backslashes before signs that would otherwise mean something."""
    return re.sub(r"\\([,*?\\-])", r"\1", value)


def exactly(path: str) -> str:
    """The value of the filter `path:` that means the paths that begin with this text, whatever signs are in it."""
    return re.sub(r"([\\*?,])|^(-)", r"\\\1\2", path)


def of_paths(filters: Filters) -> Filters:
    """The restrictions of paths alone."""
    return Filters(path=filters.path, file=filters.file, ext=filters.ext, role=filters.role)


def as_in_shell(filters: Filters, folder: str, exists: Callable[[str], bool]) -> Filters:
    """The filters with the paths that a shell in this folder of the repository means: `.`, `./x`, `../y`, and `x` if it
    is there; other paths begin at the repository."""

    def path(value: str) -> str:
        if value in (".", "..") or value.startswith(("./", "../")):
            whole = normpath(f"{folder}/{value}" if folder else value)
            if whole.startswith(".."):
                raise InputError(f"path {value} is outside of the project", "name a folder inside")
            return "" if whole == "." else f"{whole}/" if value.endswith(("/", ".")) else whole
        return f"{folder}/{value}" if folder and exists(f"{folder}/{value}") else value

    include, exclude = (tuple(map(path, values)) for values in filters.values("path"))
    if not all(exclude):
        raise InputError("the filter excludes the whole project", "exclude a folder of it")
    return replace(filters, path=",".join([*(include if all(include) else ()), *(f"-{value}" for value in exclude)]))


def prefixes(filters: Filters) -> tuple[str, ...]:
    """The beginnings that all paths have one of; empty if the filters name none, or a glob."""
    patterns = [path_pattern("path", value) for value in filters.values("path").include]
    return () if any(one.regex for one in patterns) else tuple(one.prefix for one in patterns)


def only_prefixes(filters: Filters) -> bool:
    """Whether the filters say nothing else of paths than how they begin."""
    own = of_paths(filters)
    return own == Filters(path=own.path) and not own.values("path").exclude and bool(prefixes(own) or not own)


def path_test(filters: Filters) -> Callable[[str], bool]:
    """Whether a path passes."""
    tests = [_test_of(field, values) for field in PATH_FIELDS if (values := filters.values(field)) != Values()]
    roles = filters.values("role")
    return lambda path: all(test(path) for test in tests) and (not filters.role or roles.passes(role_of(path)))


def _test_of(field: str, values: Values) -> Callable[[str], bool]:
    include, exclude = _any_of(field, values.include), _any_of(field, values.exclude)
    return lambda path: (not values.include or include(path)) and not exclude(path)


def _any_of(field: str, values: Sequence[str]) -> Callable[[str], bool]:
    patterns = [path_pattern(field, value) for value in values]
    literals = tuple(one.prefix for one in patterns if not one.regex)
    regex = "|".join(f"({one.regex})" for one in patterns if one.regex)
    match = re.compile(regex, re.DOTALL).fullmatch if regex else None
    return lambda path: path.startswith(literals) or (match is not None and match(path) is not None)
