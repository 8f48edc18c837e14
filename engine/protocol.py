"""The protocol of engines: hold generations of a named index, search the current one, swap in the next."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

from treeline.corpus.errors import EncoderMismatch
from treeline.corpus.frozen import frozen
from treeline.corpus.function import Address, Function

if TYPE_CHECKING:  # numpy takes longer to import than `--help` takes to answer
    from treeline.engine.hits import Hit, Vectors

VALUE = re.compile(r"(?:[^,\\]|\\.|\\$)+", re.DOTALL)  # of a filter, up to a comma


class Values(NamedTuple):
    """The values of one filter: those that pass (none: all), and those that do not."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def passes(self, value: str) -> bool:
        return value not in self.exclude and (not self.include or value in self.include)


@frozen
class Filters:
    """The restrictions of a search: for each field its values with commas, `go,python`; what has one of them passes.

    A value behind a hyphen does not pass: `-docs/`. A comma, `*`, `?` or hyphen behind a backslash is meant as such.
    """

    language: str = ""
    repo: str = ""
    path: str = ""
    """Beginnings of paths, or globs: `src/`, `src/**/test_*.py`."""
    partition: str = ""
    kind: str = ""
    role: str = ""
    """See `corpus.roles`."""
    file: str = ""
    """Names of files or ends of paths, or globs: `app.py`, `auth/app.py`, `*.py`."""
    ext: str = ""
    """Endings of files, without the dot."""

    def values(self, field: str) -> Values:
        return values_of(getattr(self, field))

    def passes(self, **values: str) -> bool:
        """Whether these values of other fields than the patterns of paths pass."""
        return all(self.values(field).passes(value) for field, value in values.items())

    def __bool__(self) -> bool:
        """Whether anything is restricted."""
        own = self.language or self.repo or self.path or self.partition or self.kind
        return bool(own or self.role or self.file or self.ext)


@lru_cache(maxsize=1_000)
def values_of(text: str) -> Values:
    """The values of a filter's text."""
    parts = [part.strip() for part in VALUE.findall(text)]
    exclude = (part[1:] for part in parts if part[:1] == "-")
    return Values(tuple(part for part in parts if part[:1] not in ("", "-")), tuple(filter(None, exclude)))


NO_FILTERS = Filters()


@frozen
class EncoderSpec:
    """The encoder that made an index's vectors, and their dimension."""

    name: str
    dimension: int

    def check(self, vectors: Vectors, count: int) -> None:
        """Raise `EncoderMismatch` unless these are its vectors of so many functions."""
        if vectors.shape != (count, self.dimension):
            raise EncoderMismatch(
                f"{self.name} gave vectors of shape {vectors.shape}, the index takes {(count, self.dimension)}",
                "index with a fresh start",
            )


@frozen
class IndexInfo:
    """A description of an index; `encoders` is empty for a keyword-only index, the first is the default."""

    name: str
    engine: str
    generation: str
    functions: int
    encoders: tuple[EncoderSpec, ...]
    created: str
    rolled_back: bool = False
    """Whether it was current and rejected for the one before it; known of those that `Store.generations` lists."""
    token: str = ""
    """Its own alone; none in those that were made before there were any."""

    @property
    def identity(self) -> str:
        """One generation of one index and no other: numbers begin anew when an index was dropped, and the next may be
        made in the same second."""
        return f"{self.engine}/{self.name}/{self.generation}/{self.created}/{self.functions}/{self.token}"

    def encoder_number(self, name: str) -> int:
        """The number of the encoder of this name (none: the default); raises `EncoderMismatch`."""
        names = [spec.name for spec in self.encoders]
        if not names:
            raise EncoderMismatch(f"the index {self.name!r} has no vectors", "search it by keyword")
        if name and name not in names:
            raise EncoderMismatch(
                f"the index {self.name!r} was made with {', '.join(names)}, not with {name}",
                "search with that encoder or index it again",
            )
        return names.index(name) if name else 0

    def check_query(self, query: Vectors, number: int) -> None:
        """Raise `EncoderMismatch` unless the vector is one that this encoder's can be compared with."""
        spec = self.encoders[number]
        if len(query) != spec.dimension:
            raise EncoderMismatch(
                f"the query has {len(query)} dimensions, the index {self.name!r} has {spec.dimension}",
                f"ask with the encoder {spec.name!r}",
            )


def new_token() -> str:
    """For `IndexInfo.token`."""
    return os.urandom(16).hex()


class Engine(Protocol):
    """One open generation of an index, for reading; safe to use from several threads."""

    @property
    def info(self) -> IndexInfo: ...

    @property
    def damaged(self) -> tuple[str, ...]:
        """Damaged parts that this engine does without: a side product, or a newer generation."""

    def keyword(self, terms: Sequence[str], k: int, filters: Filters = NO_FILTERS) -> Sequence[Hit]:
        """BM25 over analysed terms (any may match), best first."""

    def fuzzy(self, text: str, k: int, filters: Filters = NO_FILTERS) -> Sequence[Hit]:
        """BM25 over the raw name, code and docstring, each word matching within one edit."""

    def as_written(self, text: str, k: int, filters: Filters = NO_FILTERS, *, fuzziness: int = 0) -> Sequence[Hit]:
        """BM25 over name, docstring and code by the `standard` analyser, nothing split or stemmed, as in the paper;
        with `fuzziness` 1 each word matches within one edit."""

    def spellings(self, word: str) -> dict[str, int]:
        """The word (in small letters) and those one edit away with its first letter, each with its number of units."""

    def knn(self, vector: Vectors, k: int, filters: Filters = NO_FILTERS, encoder: str = "") -> Sequence[Hit]:
        """The nearest by cosine to one vector of the named (or default) encoder; the score is the cosine."""

    def fetch(self, ids: Sequence[str]) -> list[Function]:
        """Whole records in the order asked; ids that are not there are left out."""

    def locate(self, ids: Sequence[str], filters: Filters = NO_FILTERS) -> Sequence[Hit]:
        """A hit for each of these ids in their order, score 0; without unknown ones and those that do not pass."""

    def vectors(self, ids: Sequence[str], encoder: str = "") -> Vectors:
        """One row per id, zeros where there is none."""

    def named(self, name: str, k: int, filters: Filters = NO_FILTERS) -> Sequence[Hit]:
        """Functions whose last or whole qualified name is exactly this (case kept)."""

    def phrase(self, text: str, k: int, filters: Filters = NO_FILTERS) -> Sequence[Hit]:
        """Units that contain this text as written or in their docstring, with any whitespace for whitespace.

        Case counts only when the text has an upper-case letter. The unit of that name comes first, then units whose
        name contains the text, then the rest, short ones first; the score only tells the order. A search that takes
        too long stops with what it has: `Hits.complete` is then False.
        """

    def regex(self, pattern: str, k: int, filters: Filters = NO_FILTERS) -> Sequence[Hit]:
        """The same for a regular expression; raises `InputError` for a bad one."""

    def suggest(self, prefix: str, k: int) -> list[str]:
        """Function names that begin with this in whatever case: in its own first, of each the most common first."""

    def count(self, filters: Filters = NO_FILTERS) -> int: ...

    def facets(self) -> dict[str, dict[str, int]]:
        """The number of functions per value of language, repo, partition and kind."""

    def addresses(self, filters: Filters = NO_FILTERS) -> Iterator[tuple[str, Address]]:
        """Every id that passes and where it lives, in a stable order."""

    def scan(self) -> Iterator[Function]:
        """Every whole record, streamed."""

    def artifact(self, name: str) -> bytes | None:
        """A side product stored with this generation (tree, call graph, clusters, manifest)."""

    def artifact_part(self, name: str, start: int, length: int) -> bytes | None:
        """Some bytes of a side product, read without the rest of it and without its checksum."""

    def close(self) -> None: ...


class Writer(Protocol):
    """The next generation of an index in the making; nothing of it is seen until `publish`."""

    @property
    def resumed(self) -> bytes | None:
        """The state of the last checkpoint, when an interrupted build of the same fingerprint is taken up."""

    def write(self, functions: Sequence[Function], terms: Sequence[str], vectors: Mapping[str, Vectors]) -> int:
        """Add or replace by id; how many were new. A document the engine refuses is in `rejected`."""

    @property
    def rejected(self) -> list[tuple[str, str]]:
        """(id, reason) of every document that the engine refused so far."""

    def delete(self, ids: Sequence[str]) -> int: ...

    def delete_repo(self, repo: str) -> int: ...

    def preview(self) -> Engine:
        """This generation as written so far, to build artifacts from; close it before `publish`."""

    def put_artifact(self, name: str, data: bytes) -> None: ...

    def checkpoint(self, state: bytes) -> None:
        """Make everything written so far durable together with `state`."""

    def publish(self) -> IndexInfo:
        """Finish, check the count, and make this the current generation in one atomic step."""

    def abandon(self) -> None:
        """Throw this generation away; the current one stays."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception: object) -> None:
        """Leave a checkpointed but unpublished generation in place, to be resumed."""


class Store(Protocol):
    """A place that holds named indexes: a directory, or an Elasticsearch cluster."""

    def names(self) -> list[str]: ...

    def open(self, name: str, generation: str = "") -> Engine:
        """The current generation, or another complete one; raises `IndexMissing`."""

    def begin(
        self, name: str, encoders: Sequence[EncoderSpec], fingerprint: str, *, fresh: bool = False, base: str = ""
    ) -> Writer:
        """Start the next generation as a copy of the current one (`base`: of another complete one, `fresh`: empty), or
        resume an interrupted one with the same fingerprint. Only one writer an index: a second is refused with
        `InputError`."""

    def generations(self, name: str) -> list[IndexInfo]:
        """Complete generations, newest first; the current one is marked by `current`."""

    def current(self, name: str) -> str: ...

    def info(self, name: str) -> IndexInfo:
        """The description of the current generation, which is not opened for it."""

    def artifact(self, name: str, artifact: str, generation: str = "") -> bytes | None:
        """A side product of the current (or another) generation, also of one whose form this version does not read."""

    def verify(self, name: str) -> dict[str, tuple[str, ...]]:
        """Read every file of every generation again: the damaged ones of each."""

    def roll_back(self, name: str) -> IndexInfo:
        """Reject the current generation: the newest one before it that was not rejected is current again."""

    def prune(self, name: str, keep: int = 2, spare: Collection[str] = ()) -> list[str]:
        """Remove the rejected and the oldest complete generations beyond `keep`, but none to `spare`; the names of
        those removed."""

    def drop(self, name: str) -> None: ...
