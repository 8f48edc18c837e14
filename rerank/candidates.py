"""Candidates as columns, from fusion through re-ranking. A `Candidate` is made only when it is looked at.

A question brings a hundred to the re-ranker and shows ten. Making each of them twice, with all that the lanes gave to
it, took longer than ranking them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import NamedTuple, Self, overload

import numpy as np
from numpy.typing import NDArray

from engine.hits import Keys, Part, Rows, Scores, Shared
from engine.protocol import Hit
from rerank.candidate import Candidate, Contribution

Places = NDArray[np.int64]
Labels = NDArray[np.object_]  # words, or numbers that may be missing: taken in a new order at once, which lists are not
UNLABELLED: Labels = np.empty(0, dtype=np.object_)


class Given(NamedTuple):
    """What one lane gave to each candidate; a rank of 0 says that it did not find it."""

    lane: str
    ranks: NDArray[np.int64]
    scores: Scores
    shares: Scores
    stages: Labels  # empty where the lane has none

    def at(self, places: Places | slice) -> Given:
        stages = self.stages[places] if len(self.stages) else self.stages
        return Given(self.lane, self.ranks[places], self.scores[places], self.shares[places], stages)

    def contributions(self) -> Iterator[Contribution | None]:
        columns = zip(self.ranks.tolist(), self.scores.tolist(), self.shares.tolist(), strict=True)
        for (rank, score, share), stage in zip(columns, self.stages.tolist() or [""] * len(self.ranks), strict=True):
            yield Contribution(self.lane, rank, score, share, stage) if rank else None


class Candidates(Sequence[Candidate]):
    """A ranked list; equal to the list of its candidates."""

    __slots__ = ("_clusters", "_given", "_keys", "_moved", "_reasons", "_rows", "scores")

    def __init__(
        self,
        keys: Keys,
        rows: Rows,
        scores: Scores,
        given: Sequence[Given],
        clusters: Labels | None = None,
        moved: Places | None = None,
        reasons: Labels | None = None,
    ) -> None:
        self._keys, self._rows, self.scores, self._given = keys, rows, scores, given
        self._clusters: Labels = np.empty(len(rows), dtype=np.object_) if clusters is None else clusters
        self._moved: Places = np.zeros(len(rows), dtype=np.int64) if moved is None else moved
        self._reasons: Labels = np.full(len(rows), "", dtype=np.object_) if reasons is None else reasons

    @classmethod
    def of(cls, candidates: Sequence[Candidate]) -> Candidates:
        """A plain list as columns."""
        if isinstance(candidates, Candidates):
            return candidates
        keys = Keys([[Hit(one.id, one.score, one.address) for one in candidates]])
        lanes = dict.fromkeys(given.lane for one in candidates for given in one.contributions)
        return cls(
            keys,
            keys.of[0],
            np.array([one.score for one in candidates], dtype=np.float64),
            [_given(lane, candidates) for lane in lanes],
            np.array([one.cluster for one in candidates], dtype=np.object_),
            np.array([one.moved for one in candidates], dtype=np.int64),
            np.array([one.reason for one in candidates], dtype=np.object_),
        )

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, place: int) -> Candidate: ...

    @overload
    def __getitem__(self, place: slice) -> Self: ...

    def __getitem__(self, place: int | slice) -> Candidate | Self:
        if isinstance(place, slice):
            whole = place.indices(len(self)) == (0, len(self), 1)
            return self if whole else self._at(place)
        return next(iter(self._at(np.arange(len(self))[[place]])))

    def __iter__(self) -> Iterator[Candidate]:
        contributions = zip(*(given.contributions() for given in self._given), strict=True)
        for (id_, address), score, given, cluster, moved, reason in zip(
            self._keys.entries(self._rows),
            self.scores.tolist(),
            contributions if self._given else [()] * len(self),
            self._clusters.tolist(),
            self._moved.tolist(),
            self._reasons.tolist(),
            strict=True,
        ):
            yield Candidate(id_, address, score, tuple(filter(None, given)), cluster, None, moved, reason)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))

    @property
    def ids(self) -> Sequence[str]:
        return self._keys.ids(self._rows)

    def parts(self, part: Part) -> list[str]:
        """One part of each one's address."""
        return self._keys.parts(part, self._rows)

    def groups(self, part: Shared) -> Sequence[Hashable]:
        """For each something that is equal where the part is."""
        return self._keys.groups(part, self._rows)

    def noted(self, name: str, width: int, make: Callable[[Candidates], Scores]) -> Scores:
        """`width` numbers for each, made of nothing but its address; made once where a table can note them down."""
        notes = self._keys.notes(name, width)
        if notes is None:
            return make(self)
        found: Scores = notes[self._rows]
        unknown = np.flatnonzero(np.isnan(found[:, 0]))
        if len(unknown):
            found[unknown] = notes[self._rows[unknown]] = make(self._at(unknown))
        return found

    @property
    def lanes(self) -> set[str]:
        """The lanes that found any of them."""
        return {given.lane for given in self._given if given.ranks.any()}

    def given_by(self, lane: str) -> Given | None:
        return next((given for given in self._given if given.lane == lane), None)

    def led_by(self, lane: str) -> Self:
        """What this lane found first, the order otherwise kept."""
        given = self.given_by(lane)
        if given is None:
            return self
        order = np.argsort(given.ranks == 0, kind="stable")
        made = self._at(order)
        made._moved += order - np.arange(len(order))
        return made

    def arranged(self, order: Places, clusters: Sequence[int] | None, reasons: Labels) -> Self:
        """In this order, each with its cluster and reason (by its old place) and how far it moved."""
        made = self._at(order)
        made._moved = order - np.arange(len(order))
        made._reasons = np.concatenate([reasons, np.full(len(self) - len(reasons), "", dtype=np.object_)])[order]
        if clusters is not None:
            given = np.array([*map(int, clusters)], dtype=np.object_)
            made._clusters = np.concatenate([given, self._clusters[len(given) :]])[order]
        return made

    def _at(self, places: Places | slice) -> Self:
        return type(self)(
            self._keys,
            self._rows[places],
            self.scores[places],
            [given.at(places) for given in self._given],
            self._clusters[places],
            self._moved[places],
            self._reasons[places],
        )


def _given(lane: str, candidates: Sequence[Candidate]) -> Given:
    nothing = Contribution(lane, 0, np.nan, 0.0)
    found = [next((given for given in one.contributions if given.lane == lane), nothing) for one in candidates]
    return Given(
        lane,
        np.array([one.rank for one in found], dtype=np.int64),
        np.array([one.score for one in found], dtype=np.float64),
        np.array([one.share for one in found], dtype=np.float64),
        np.array([one.stage for one in found], dtype=np.object_),
    )
