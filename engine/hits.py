"""Ranked lists as columns: row numbers of a table, and scores. A `Hit` with its address is made only when it is read.

A query brings six hundred hits and shows ten. Making an object of each took longer than the search.
"""

from __future__ import annotations

from collections import Counter
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

    def codes_of(self, part: Part, positions: Rows) -> NDArray[np.integer]:
        """Numbers that are equal where the parts are."""


class Lookups:
    """The rest of `Entries` for a table that only has `entries`."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}

    def entries(self, positions: Rows) -> list[tuple[str, Address]]:
        raise NotImplementedError

    def ids_at(self, positions: Rows) -> list[str]:
        return [id for id, _ in self.entries(positions)]

    def parts(self, part: Part, positions: Rows) -> list[str]:
        return [getattr(address, part) for _, address in self.entries(positions)]

    def codes_of(self, part: Part, positions: Rows) -> NDArray[np.integer]:
        return np.array([self._codes.setdefault(text, len(self._codes)) for text in self.parts(part, positions)], int)


class Listed(Lookups):
    """A table of hits in memory."""

    def __init__(self, hits: Sequence[Hit]) -> None:
        super().__init__()
        self._hits = hits

    def entries(self, positions: Rows) -> list[tuple[str, Address]]:
        return [(self._hits[row].id, self._hits[row].address) for row in positions.tolist()]


@frozen(eq=False)
class Hits(Sequence[Hit]):
    """Hits, best first; equal to a list of the same hits."""

    table: Entries
    rows: Rows
    scores: Scores
    complete: bool = True  # False when a search ran out of time before it had looked at everything

    @classmethod
    def of(cls, hits: Sequence[Hit]) -> Hits:
        """A plain list as columns."""
        if isinstance(hits, Hits):
            return hits
        return Hits(Listed(hits), np.arange(len(hits)), np.array([hit.score for hit in hits], dtype=np.float64))

    @property
    def ids(self) -> Ids:
        return Ids(self.table, self.rows)

    def at(self, positions: Sequence[int] | Rows | slice) -> Hits:
        """The hits at these positions."""
        own = positions if isinstance(positions, slice) else np.asarray(positions, dtype=np.int64)
        return Hits(self.table, self.rows[own], self.scores[own])

    def with_scores(self, scores: Sequence[float] | Scores) -> Hits:
        """The same hits with other scores."""
        return Hits(self.table, self.rows, np.array(scores, dtype=np.float64))

    def most(self, part: Part, limit: int) -> dict[str, int]:
        """The most frequent values with their numbers of hits, most first, equals by name."""
        counts = Counter(self.table.parts(part, self.rows))
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:limit])

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, position: int) -> Hit: ...

    @overload
    def __getitem__(self, position: slice) -> Hits: ...

    def __getitem__(self, position: int | slice) -> Hit | Hits:
        if isinstance(position, slice):
            return self.at(position)
        ((id_, address),) = self.table.entries(self.rows[[position]])
        return Hit(id_, float(self.scores[position]), address)

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
    def __getitem__(self, position: int) -> str: ...

    @overload
    def __getitem__(self, position: slice) -> Ids: ...

    def __getitem__(self, position: int | slice) -> str | Ids:
        if isinstance(position, slice):
            return Ids(self.table, self.rows[position])
        return self.table.ids_at(self.rows[[position]])[0]

    def __iter__(self) -> Iterator[str]:
        return iter(self.table.ids_at(self.rows))


def align(lists: Sequence[Sequence[Hit]]) -> tuple[Entries, list[Rows]]:
    """One table for several lists, and the rows of each in it. Lists of different tables are numbered by their ids."""
    columns = [Hits.of(hits) for hits in lists]
    filled = [hits for hits in columns if len(hits)] or columns[:1]
    if filled and all(hits.table is filled[0].table for hits in filled):
        return filled[0].table, [hits.rows for hits in columns]
    numbers: dict[str, int] = {}
    first: list[Hit] = []
    rows = []
    for hits in columns:
        for hit in hits:
            if numbers.setdefault(hit.id, len(first)) == len(first):
                first.append(hit)
        rows.append(np.array([numbers[id_] for id_ in hits.ids], dtype=np.int64))
    return Listed(first), rows


def distinct(lists: Sequence[Sequence[Hit]]) -> Hits:
    """The distinct hits of several lists, in no order."""
    table, rows = align(lists)
    ordered = np.sort(np.concatenate([NO_ROWS, *rows]))
    ordered = ordered[run_starts(ordered)]
    return Hits(table, ordered, np.zeros(len(ordered)))


def concatenate(parts: Sequence[Sequence[Hit]], limit: int) -> tuple[Hits, list[int]]:
    """The first `limit` distinct hits of the lists one after the other, and the number of the list of each."""
    columns = [Hits.of(hits) for hits in parts]
    if len(columns) == 1:
        return columns[0][:limit], [0] * min(limit, len(columns[0]))
    table, lists = align(columns)
    rows = np.concatenate([NO_ROWS, *lists])
    first = np.sort(np.unique(rows, return_index=True)[1])[:limit]
    part = np.repeat(np.arange(len(columns)), [len(hits) for hits in columns])[first].tolist()
    scores = np.concatenate([np.empty(0), *(hits.scores for hits in columns)])
    return Hits(table, rows[first], scores[first]), part


def run_starts(ordered: NDArray[Any]) -> NDArray[np.bool_]:
    """A mask of the starts of runs of equal values in a sorted array; `np.unique` takes half as long again."""
    first = np.empty(len(ordered), dtype=np.bool_)
    first[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return first
