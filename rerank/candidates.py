"""Candidates as columns, from fusion through re-ranking. A `Candidate` is made only when it is looked at.

A question brings a hundred to the re-ranker and shows ten. Making each of them twice, with all that the lanes gave to
it, took longer than ranking them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import repeat
from typing import Any, NamedTuple, Self, overload

import numpy as np
from numpy.typing import NDArray

from treeline.engine.hits import Keys, Part, Rows, Scores, Shared
from treeline.engine.protocol import Hit
from treeline.rerank.candidate import Candidate, Contribution

Places = NDArray[np.int64]
Labels = NDArray[np.object_]  # words, or numbers that may be missing: taken in a new order at once, which lists are not
ABSENT = -1  # the place of what a lane did not find
NO_RANK, NO_SCORE = np.array([0]), np.array([np.nan])
_contribution = partial(tuple.__new__, Contribution)  # as `_make`, without a call in Python for each of a page's twenty


class Listed(NamedTuple):
    """One lane's list, column by column."""

    ranks: NDArray[np.int64]
    scores: Scores
    shares: Scores
    stages: Sequence[str]  # empty where the lane has none


class Given(NamedTuple):
    """What one lane gave: its list, and where in it each candidate stands. A new order moves the places alone."""

    lane: str
    places: Places
    listed: Listed

    def at(self, places: Places | slice) -> Given:
        return Given(self.lane, self.places[places], self.listed)

    @property
    def ranks(self) -> NDArray[np.int64]:
        """Each candidate's rank; 0 where the lane did not find it."""
        return np.concatenate([self.listed.ranks, NO_RANK])[self.places]

    @property
    def scores(self) -> Scores:
        """Each candidate's score; not a number where the lane did not find it."""
        return np.concatenate([self.listed.scores, NO_SCORE])[self.places]

    def contributions(self) -> list[Contribution | None]:
        places, listed = self.places.tolist(), self.listed
        ranks, scores, shares = (column[self.places].tolist() for column in listed[:3])
        stages = [listed.stages[place] for place in places] if listed.stages else repeat("")
        made = map(_contribution, zip(repeat(self.lane), ranks, scores, shares, stages, strict=False))
        return [None if place == ABSENT else one for place, one in zip(places, made, strict=True)]


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
        self._clusters, self._moved, self._reasons = clusters, moved, reasons  # none: nothing to say of anyone

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
            _told(self._clusters, None, len(self)),
            _told(self._moved, 0, len(self)),
            _told(self._reasons, "", len(self)),
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

    def groups(self, part: Shared) -> NDArray[np.integer]:
        """For each a number that is equal where the part is."""
        return self._keys.groups(part, self._rows)

    def noted(self, name: str, width: int, make: Callable[[Candidates], Scores]) -> Scores:
        """`width` numbers for each, made of nothing but its address; made once where a table can note them down."""
        notes = self._keys.notes(name, width)
        if notes is None:
            return make(self)
        found: Scores = notes[self._rows]
        unknown = np.isnan(found[:, 0]).nonzero()[0]
        if len(unknown):
            found[unknown] = notes[self._rows[unknown]] = make(self._at(unknown))
        return found

    @property
    def lanes(self) -> set[str]:
        """The lanes that found any of them."""
        return {given.lane for given in self._given if (given.places != ABSENT).any()}

    def given_by(self, lane: str) -> Given | None:
        return next((given for given in self._given if given.lane == lane), None)

    def led_by(self, lane: str) -> Self:
        """What this lane found first, the order otherwise kept."""
        given = self.given_by(lane)
        if given is None:
            return self
        order = np.argsort(given.places == ABSENT, kind="stable")
        made = self._at(order)
        further = order - np.arange(len(order))
        made._moved = further if made._moved is None else made._moved + further
        return made

    def arranged(self, order: Places, clusters: Sequence[int] | None, reasons: Labels) -> Self:
        """In this order, each with its cluster and reason (by its old place) and how far it moved."""
        made = self._at(order)
        made._moved, made._reasons = order - np.arange(len(order)), None
        if len(reasons):
            unsaid = np.full(len(self) - len(reasons), "", dtype=np.object_)
            made._reasons = np.concatenate([reasons, unsaid])[order]
        if clusters is not None:
            given = np.array([*map(int, clusters)], dtype=np.object_)
            others = np.array(_told(self._clusters, None, len(self))[len(given) :], dtype=np.object_)
            made._clusters = np.concatenate([given, others])[order]
        return made

    def _at(self, places: Places | slice) -> Self:
        return type(self)(
            self._keys,
            self._rows[places],
            self.scores[places],
            [given.at(places) for given in self._given],
            None if self._clusters is None else self._clusters[places],
            None if self._moved is None else self._moved[places],
            None if self._reasons is None else self._reasons[places],
        )


def _given(lane: str, candidates: Sequence[Candidate]) -> Given:
    found = [next((given for given in one.contributions if given.lane == lane), None) for one in candidates]
    listed = [one for one in found if one is not None]
    numbers = iter(range(len(listed)))
    return Given(
        lane,
        np.array([ABSENT if one is None else next(numbers) for one in found], dtype=np.int64),
        Listed(
            np.array([one.rank for one in listed], dtype=np.int64),
            np.array([one.score for one in listed], dtype=np.float64),
            np.array([one.share for one in listed], dtype=np.float64),
            [one.stage for one in listed],
        ),
    )


def _told(column: NDArray[Any] | None, otherwise: object, count: int) -> list[Any]:
    """What a column says of each, or the same of all where nothing was said."""
    return [otherwise] * count if column is None else column.tolist()
