"""More functions than there are: copies of a corpus in made-up repositories, their identifiers exchanged.

A plain copy would flatter an index (the same terms again, vectors that fall together). Here every identifier is
replaced by another one of the same corpus, so that the vocabulary and the lengths stay real while the texts differ.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b

from treeline.corpus.function import Function
from treeline.ingest.source import Chunk, Parsed, Source, Unit

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{2,}")
KEPT = frozenset(keyword.kwlist) | {"self", "cls", "args", "kwargs", "None", "True", "False"}


@dataclass(frozen=True, slots=True)
class ShuffledChunk:
    """A chunk whose functions are moved to another repository and speak with other names."""

    inner: Chunk
    copy: int

    @property
    def size(self) -> int:
        return self.inner.size

    def parse(self) -> Parsed:
        parsed = self.inner.parse()
        if not self.copy:
            return parsed
        found = (name for function in parsed.functions for name in IDENTIFIER.findall(function.code))
        pool = sorted(set(found) - KEPT)
        return Parsed(tuple(shuffled(function, self.copy, pool) for function in parsed.functions))


@dataclass(frozen=True, slots=True)
class ShuffledUnit:
    """A unit of the copy; `share` leaves out whole chunks, evenly."""

    inner: Unit
    copy: int
    share: float

    @property
    def key(self) -> str:
        return f"copy {self.copy} of {self.inner.key}"

    @property
    def digest(self) -> str:
        return f"{self.copy}/{self.share}/{self.inner.digest}"

    @property
    def size(self) -> int:
        return round(self.inner.size * self.share)

    def chunks(self) -> Iterator[Chunk]:
        for number, chunk in enumerate(self.inner.chunks()):
            if int((number + 1) * self.share) > int(number * self.share):
                yield ShuffledChunk(chunk, self.copy)


class GrownSource:
    """Copy number `copy` of a source, or a share of it; number 0 is the source itself."""

    def __init__(self, inner: Source, copy: int, share: float = 1.0) -> None:
        self._inner, self._copy, self._share = inner, copy, share

    @property
    def name(self) -> str:
        return f"{self._inner.name} (copy {self._copy})"

    @property
    def size(self) -> int:
        return round(self._inner.size * self._share)

    @property
    def left_out(self) -> Mapping[str, int]:
        return self._inner.left_out

    def units(self) -> Iterator[Unit]:
        return (ShuffledUnit(unit, self._copy, self._share) for unit in self._inner.units())


def shuffled(function: Function, copy: int, pool: list[str]) -> Function:
    """The function in a made-up repository, each identifier exchanged for another of the pool, the same everywhere."""

    def other(found: re.Match[str]) -> str:
        name = found[0]
        if name in KEPT:
            return name
        digest = blake2b(f"{copy} {function.repo} {name}".encode(), digest_size=4).digest()
        return pool[int.from_bytes(digest) % len(pool)]

    def changed(text: str) -> str:
        return IDENTIFIER.sub(other, text)

    return Function(
        repo=f"{function.repo}-{copy}",
        path=function.path,
        func_name=changed(function.func_name),
        original_string=changed(function.original_string),
        language=function.language,
        code=changed(function.code),
        code_tokens=function.code_tokens,
        docstring=changed(function.docstring),
        docstring_tokens=function.docstring_tokens,
        sha=function.sha,
        partition=function.partition,
        url=function.url.replace(function.repo, f"{function.repo}-{copy}", 1),
    )
