"""Candidates as columns, from fusion through re-ranking. A `Candidate` is made only when it is looked at.

A question brings a hundred to the re-ranker and shows ten. Making each of them twice, with all that the lanes gave to
it, took longer than ranking them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import NamedTuple, Self, overload

import numpy as np
from numpy.typing import NDArray

from engine.hits import Keys, Part, Rows, Scores, Shared
from engine.protocol import Hit
from rerank.candidate import Candidate, Contribution

Places = NDArray[np.int64]


class Given(NamedTuple):
    """What one lane gave to each candidate; a rank of 0 says that it did not find it."""

    lane: str
    ranks: NDArray[np.int64]
    scores: Scores
    shares: Scores
    stages: Sequence[str]

    def at(self, places: Places) -> Given:
        stages = self.stages
        taken = [stages[place] for place in places.tolist()] if stages else stages
        return Given(self.lane, self.ranks[places], self.scores[places], self.shares[places], taken)

    def contributions(self) -> Iterator[Contribution | None]:
        columns = zip(self.ranks.tolist(), self.scores.tolist(), self.shares.tolist(), strict=True)
        for (rank, score, share), stage in zip(columns, self.stages or [""] * len(self.ranks), strict=True):
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
        clusters: Sequence[int | None] = (),
        moved: Sequence[int] = (),
        reasons: Sequence[str] = (),
    ) -> None:
        self._keys, self._rows, self.scores, self._given = keys, rows, scores, given
        self._clusters = clusters or [None] * len(rows)
        self._moved = moved or [0] * len(rows)
        self._reasons = reasons or [""] * len(rows)

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
            [one.cluster for one in candidates],
            [one.moved for one in candidates],
            [one.reason for one in candidates],
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
            return self if whole else self._at(np.arange(len(self))[place])
        return next(iter(self._at(np.arange(len(self))[[place]])))

    def __iter__(self) -> Iterator[Candidate]:
        contributions = zip(*(given.contributions() for given in self._given), strict=True)
        for (id_, address), score, given, cluster, moved, reason in zip(
            self._keys.entries(self._rows),
            self.scores.tolist(),
            contributions if self._given else [()] * len(self),
            self._clusters,
            self._moved,
            self._reasons,
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

    def counts(self, part: Shared) -> Counter[str]:
        """How many there are of each."""
        return self._keys.counts(part, self._rows)

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
        order = [] if given is None else np.argsort(given.ranks == 0, kind="stable").tolist()
        if order == list(range(len(order))):
            return self
        made = self._at(np.array(order, dtype=np.int64))
        made._moved = [moved + old - new for new, (moved, old) in enumerate(zip(made._moved, order, strict=True))]
        return made

    def arranged(self, order: Sequence[int], clusters: Sequence[int] | None, reasons: Sequence[str]) -> Self:
        """In this order, each with its cluster and reason (by its old place) and how far it moved."""
        made = self._at(np.array(order, dtype=np.int64))
        made._moved = [old - new for new, old in enumerate(order)]
        made._reasons = [reasons[old] if old < len(reasons) else "" for old in order]
        if clusters is not None:
            made._clusters = [int(clusters[old]) if old < len(clusters) else self._clusters[old] for old in order]
        return made

    def _at(self, places: Places) -> Self:
        at = places.tolist()
        return type(self)(
            self._keys,
            self._rows[places],
            self.scores[places],
            [given.at(places) for given in self._given],
            [self._clusters[place] for place in at],
            [self._moved[place] for place in at],
            [self._reasons[place] for place in at],
        )


def _given(lane: str, candidates: Sequence[Candidate]) -> Given:
    nothing = Contribution(lane, 0, np.nan, 0.0)
    found = [next((given for given in one.contributions if given.lane == lane), nothing) for one in candidates]
    return Given(
        lane,
        np.array([one.rank for one in found], dtype=np.int64),
        np.array([one.score for one in found], dtype=np.float64),
        np.array([one.share for one in found], dtype=np.float64),
        [one.stage for one in found],
    )
