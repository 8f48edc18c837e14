"""Ranked lists as columns: row numbers and scores. A `Hit` with its address is made only when somebody reads it.

A query brings six hundred hits and shows ten. Making an object of each took longer than finding them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, Protocol, overload

import numpy as np
from numpy.typing import NDArray

from treeline.corpus.frozen import frozen
from treeline.corpus.function import Address

Rows = NDArray[np.int64]
Scores = NDArray[np.float64]
Vectors = NDArray[np.float32]
NO_ROWS: Rows = np.empty(0, dtype=np.int64)
Part = Literal["repo", "path", "func_name", "language", "url", "fragment", "kind"]  # of an address
Shared = Literal["repo", "language", "kind"]  # parts that many have in common


def normalize(vectors: NDArray[Any]) -> Vectors:
    """Rows of length one. Zero rows stay; NaN and infinite components count as zero."""
    rows = np.asarray(vectors, dtype=np.float32)
    finite = np.isfinite(rows)
    rows = rows if finite.all() else np.where(finite, rows, np.float32(0))
    lengths = np.sqrt(np.add.reduce(rows * rows, axis=1, keepdims=True))
    return np.asarray(rows / np.where(lengths > 0, lengths, 1), dtype=np.float32)


@frozen
class Hit:
    """One found function: its id, the lane's own score, and where it lives (so that ranking needs no fetch)."""

    id: str
    score: float
    address: Address


class Entries(Protocol):
    """A table that knows the unit of each row."""

    def entries(self, positions: Rows) -> list[tuple[str, Address]]: ...

    def ids_at(self, positions: Rows) -> list[str]: ...

    def parts(self, part: Part, positions: Rows) -> list[str]: ...

    def codes_of(self, part: Shared, positions: Rows) -> NDArray[np.integer]: ...

    def decode(self, part: Shared, codes: list[int]) -> list[str]: ...

    def constant(self, part: Shared) -> str | None: ...

    def row_cache(self, name: str, width: int) -> Scores: ...


class Hits(Sequence[Hit]):
    """Hits, best first; equal to a list of the same hits."""

    __slots__ = ("complete", "rows", "scores", "table")

    def __init__(self, table: Entries, rows: Rows, scores: Scores) -> None:
        self.table, self.rows, self.scores = table, rows, scores
        self.complete = True  # False when a search ran out of time before it had looked at everything

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, place: int) -> Hit: ...

    @overload
    def __getitem__(self, place: slice) -> Hits: ...

    def __getitem__(self, place: int | slice) -> Hit | Hits:
        if isinstance(place, slice):
            return Hits(self.table, self.rows[place], self.scores[place])
        ((id_, address),) = self.table.entries(self.rows[[place]])
        return Hit(id_, float(self.scores[place]), address)

    def __iter__(self) -> Iterator[Hit]:
        for (id_, address), score in zip(self.table.entries(self.rows), self.scores.tolist(), strict=True):
            yield Hit(id_, score, address)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))


class Ids(Sequence[str]):
    """The ids of some rows. The table they came from reads the rows instead."""

    __slots__ = ("rows", "table")

    def __init__(self, table: Entries, rows: Rows) -> None:
        self.table, self.rows = table, rows

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> Ids: ...

    def __getitem__(self, place: int | slice) -> str | Ids:
        if isinstance(place, slice):
            return Ids(self.table, self.rows[place])
        return self.table.ids_at(self.rows[[place]])[0]

    def __iter__(self) -> Iterator[str]:
        return iter(self.table.ids_at(self.rows))


class Keys:
    """The hits of several lists as numbers that can be compared across the lists.

    They are rows where every list comes from one table. Otherwise the ids are numbered as they come.
    """

    def __init__(self, lists: Sequence[Sequence[Hit]]) -> None:
        self._table = _common_table(lists)
        self._first: list[Hit] = []
        if self._table is not None:
            self.of = [hits.rows if isinstance(hits, Hits) else NO_ROWS for hits in lists]
        else:
            numbers: dict[str, int] = {}
            self.of = [self._numbered(hits, numbers) for hits in lists]

    def entries(self, keys: Rows) -> list[tuple[str, Address]]:
        """Id and address of each key."""
        if self._table is not None:
            return self._table.entries(keys)
        return [(self._first[key].id, self._first[key].address) for key in keys.tolist()]

    def ids(self, keys: Rows) -> Sequence[str]:
        if self._table is not None:
            return Ids(self._table, keys)
        return [self._first[key].id for key in keys.tolist()]

    def parts(self, part: Part, keys: Rows) -> list[str]:
        """One part of each key's address; cheaper than making addresses."""
        if self._table is not None:
            return self._table.parts(part, keys)
        return [getattr(self._first[key].address, part) for key in keys.tolist()]

    def groups(self, part: Shared, keys: Rows) -> NDArray[np.integer]:
        """Numbers that are equal for keys that share the part."""
        if self._table is not None:
            return self._table.codes_of(part, keys)
        return np.unique(np.array(self.parts(part, keys), dtype=np.str_), return_inverse=True)[1]

    def most(self, part: Shared, keys: Rows, limit: int) -> dict[str, int]:
        """How many keys have each of the most frequent values; equals by name, because codes are in that order."""
        table = self._table
        if table is not None and len(keys) and (only := table.constant(part)) is not None:
            return {only: len(keys)}
        shared = np.array(self.parts(part, keys)) if table is None else table.codes_of(part, keys)
        shared.sort()
        first = run_starts(shared)
        counts = np.bincount(first.cumsum())[1:]
        most = (-counts).argsort(kind="stable")[:limit]
        named = shared[first][most].tolist()
        return dict(zip(named if table is None else table.decode(part, named), counts[most].tolist(), strict=True))

    def row_cache(self, name: str, width: int) -> Scores | None:
        """Numbers computed before for the rows of the table; None where the keys are no rows."""
        return None if self._table is None else self._table.row_cache(name, width)

    def _numbered(self, hits: Sequence[Hit], numbers: dict[str, int]) -> Rows:
        found = np.empty(len(hits), dtype=np.int64)
        for place, hit in enumerate(hits):
            number = numbers.setdefault(hit.id, len(numbers))
            if number == len(self._first):
                self._first.append(hit)
            found[place] = number
        return found


def run_starts(ordered: NDArray[Any]) -> NDArray[np.bool_]:
    """Where runs of equal values start in a sorted array; `np.unique` takes half as long again."""
    first = np.empty(len(ordered), dtype=np.bool_)
    first[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return first


def scores_of(hits: Sequence[Hit]) -> Scores:
    """The lane's own scores, best first."""
    return hits.scores if isinstance(hits, Hits) else np.array([hit.score for hit in hits], dtype=np.float64)


def ids_of(hits: Sequence[Hit]) -> list[str]:
    """The ids, without making addresses."""
    return hits.table.ids_at(hits.rows) if isinstance(hits, Hits) else [hit.id for hit in hits]


def select(hits: Sequence[Hit], places: Sequence[int]) -> Sequence[Hit]:
    """The hits at these places."""
    if isinstance(hits, Hits):
        at = np.asarray(places, dtype=np.int64)
        return Hits(hits.table, hits.rows[at], hits.scores[at])
    return [hits[place] for place in places]


def with_scores(hits: Sequence[Hit], scores: Sequence[float]) -> Sequence[Hit]:
    """The same hits with other scores."""
    if isinstance(hits, Hits):
        return Hits(hits.table, hits.rows, np.array(scores, dtype=np.float64))
    return [Hit(hit.id, score, hit.address) for hit, score in zip(hits, scores, strict=True)]


class Distinct:
    """The distinct hits of several lists."""

    def __init__(self, lists: Sequence[Sequence[Hit]] = ()) -> None:
        self._keys = Keys(lists)
        rows = np.concatenate([NO_ROWS, *self._keys.of])
        rows.sort()
        self._rows = rows[run_starts(rows)]

    def __len__(self) -> int:
        return len(self._rows)

    def most(self, part: Shared, limit: int) -> dict[str, int]:
        """How many hits have each of the most frequent values, most first, equals by name."""
        return self._keys.most(part, self._rows, limit)


def concatenate(parts: Sequence[Sequence[Hit]], limit: int) -> tuple[Sequence[Hit], list[int]]:
    """The first `limit` distinct hits of the lists one after the other, and the number of the list of each."""
    if len(parts) == 1:
        return parts[0][:limit], [0] * min(limit, len(parts[0]))
    rows = np.concatenate(Keys(parts).of) if parts else NO_ROWS
    first = np.sort(np.unique(rows, return_index=True)[1])[:limit]
    part = np.repeat(np.arange(len(parts)), [len(hits) for hits in parts])[first].tolist()
    table = _common_table(parts)
    if table is not None:
        scores = np.concatenate([scores_of(hits) for hits in parts])
        return Hits(table, rows[first], scores[first]), part
    every = [hit for hits in parts for hit in hits]
    return [every[place] for place in first.tolist()], part


def _common_table(lists: Sequence[Sequence[Hit]]) -> Entries | None:
    tables = {id(hits.table): hits.table for hits in lists if isinstance(hits, Hits)}
    shared = len(tables) == 1 and all(isinstance(hits, Hits) or not hits for hits in lists)
    return next(iter(tables.values())) if shared else None
