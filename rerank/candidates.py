"""The candidates of a query in fusion and re-ranking, stored as columns.

A query brings a hundred candidates to the re-ranker and shows ten. Making objects of all of them, twice, took longer
than ranking them, so a `Candidate` is made only when it is accessed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from itertools import chain, repeat
from typing import Any, NamedTuple, Protocol, Self, overload

import numpy as np
from numpy.typing import NDArray

from treeline.corpus.frozen import frozen
from treeline.corpus.function import Address
from treeline.engine.hits import Hit, Hits, Ids, Part, Scores
from treeline.graph.history import Vote
from treeline.graph.hyperbolic import Floats
from treeline.graph.local_tree import nearest_above

Positions = NDArray[np.int64]
Labels = NDArray[np.object_]  # words, or numbers that may be None; an array, because it can be reordered at once
ABSENT = -1  # the position of a candidate that a lane did not find
NO_RANK, NO_SCORE = np.array([0]), np.array([np.nan])
DEPTH = 100  # candidates that a re-ranker reorders; the rest keep their positions
LANE_HEAD = 10  # of each lane, which it reorders too, however little the other lanes think of them


class Contribution(NamedTuple):
    """One lane's contribution: rank (from 1) and score in that lane, and its share of the fused score."""

    lane: str
    rank: int
    score: float
    share: float
    stage: str = ""  # keyword lane: exact, fuzzy or chunks; graph lane: the relation


_contribution = partial(tuple.__new__, Contribution)  # like `_make`, without a Python call for each of a page's twenty


class Candidate(NamedTuple):
    """A fused result. `score` is the sum of the contributions' shares; re-rankers reorder and annotate.

    A search makes two hundred of them, and a named tuple takes half the time of a frozen dataclass.
    """

    id: str
    address: Address
    score: float
    contributions: tuple[Contribution, ...] = ()
    cluster: int | None = None
    tree_distance: float | None = None  # to the nearest result above it; the searcher sets it for the results shown
    moved: int = 0  # places up (positive) or down by re-ranking
    reason: str = ""  # what the re-ranker did to it, in words


@frozen
class RerankContext:
    """The query, and a function that returns texts by id, for a re-ranker."""

    query: str
    texts: Callable[[Sequence[str]], Sequence[str]] | None = None
    explain: bool = True  # whether the candidates need reasons
    kind: str = ""  # of the query, see `QueryTraits`
    symbols: Sequence[str] = ()  # names in the query that are written like identifiers
    # The votes of commits near the query for each file, by repository and path.
    changes: Mapping[tuple[str, str], Vote] = field(default_factory=dict)
    files: Mapping[tuple[str, str], float] = field(default_factory=dict)  # the keyword score of each whole file


class Reranker(Protocol):
    """Takes a ranked list and returns the same candidates in a new order, each with a reason."""

    def __call__(self, candidates: Sequence[Candidate], context: RerankContext) -> Sequence[Candidate]: ...


class LaneColumns(NamedTuple):
    """One lane's list, column by column."""

    ranks: NDArray[np.int64]
    scores: Scores
    shares: Scores
    stages: Sequence[str]  # empty if the lane has none


class Evidence(NamedTuple):
    """One lane's list, and each candidate's position in it. Reordering only moves the positions."""

    lane: str
    places: Positions
    columns: LaneColumns

    def at(self, places: Positions | slice) -> Evidence:
        return Evidence(self.lane, self.places[places], self.columns)

    @property
    def ranks(self) -> NDArray[np.int64]:
        """Each candidate's rank; 0 if the lane did not find it."""
        return np.concatenate([self.columns.ranks, NO_RANK])[self.places]

    @property
    def scores(self) -> Scores:
        """Each candidate's score; NaN if the lane did not find it."""
        return np.concatenate([self.columns.scores, NO_SCORE])[self.places]

    def contributions(self) -> list[Contribution | None]:
        places, columns = self.places.tolist(), self.columns
        ranks, scores, shares = (column[self.places].tolist() for column in columns[:3])
        stages = [columns.stages[position] for position in places] if columns.stages else repeat("")
        rows = map(_contribution, zip(repeat(self.lane), ranks, scores, shares, stages, strict=False))
        return [None if position == ABSENT else one for position, one in zip(places, rows, strict=True)]


class Candidates(Sequence[Candidate]):
    """A ranked list of candidates, stored as columns; equal to a plain list of them."""

    __slots__ = ("_clusters", "_lanes", "_reasons", "_shifts", "_tiers", "hits")

    def __init__(
        self,
        hits: Hits,
        lanes: Sequence[Evidence],
        clusters: Labels | None = None,
        shifts: Positions | None = None,
        reasons: Labels | None = None,
        tiers: Positions | None = None,
    ) -> None:
        self.hits, self._lanes = hits, lanes
        self._clusters, self._shifts, self._reasons = clusters, shifts, reasons  # None if no candidate has one
        self._tiers = tiers  # a lower tier stays before a higher one, whatever reorders the list; None: all are equal

    @classmethod
    def of(cls, candidates: Sequence[Candidate]) -> Candidates:
        """A plain list as columns."""
        if isinstance(candidates, Candidates):
            return candidates
        lanes = dict.fromkeys(contribution.lane for one in candidates for contribution in one.contributions)
        return cls(
            Hits.of([Hit(one.id, one.score, one.address) for one in candidates]),
            [_evidence(lane, candidates) for lane in lanes],
            np.array([one.cluster for one in candidates], dtype=np.object_),
            np.array([one.moved for one in candidates], dtype=np.int64),
            np.array([one.reason for one in candidates], dtype=np.object_),
        )

    def __len__(self) -> int:
        return len(self.hits)

    @overload
    def __getitem__(self, position: int) -> Candidate: ...

    @overload
    def __getitem__(self, position: slice) -> Self: ...

    def __getitem__(self, position: int | slice) -> Candidate | Self:
        if isinstance(position, slice):
            whole = position.indices(len(self)) == (0, len(self), 1)
            return self if whole else self._at(position)
        return next(iter(self._at(np.arange(len(self))[[position]])))

    def __iter__(self) -> Iterator[Candidate]:
        contributions = zip(*(one.contributions() for one in self._lanes), strict=True)
        for (id_, address), score, shares, cluster, shift, reason in zip(
            self.hits.table.entries(self.hits.rows),
            self.scores.tolist(),
            contributions if self._lanes else [()] * len(self),
            _values(self._clusters, None, len(self)),
            _values(self._shifts, 0, len(self)),
            _values(self._reasons, "", len(self)),
            strict=True,
        ):
            yield Candidate(id_, address, score, tuple(filter(None, shares)), cluster, None, shift, reason)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))

    @property
    def scores(self) -> Scores:
        return self.hits.scores

    @property
    def ids(self) -> Ids:
        return self.hits.ids

    @property
    def reasons(self) -> list[str]:
        return _values(self._reasons, "", len(self))

    def parts(self, part: Part) -> list[str]:
        """One part of each candidate's address."""
        return self.hits.table.parts(part, self.hits.rows)

    def groups(self, part: Part) -> NDArray[np.integer]:
        """A number for each candidate, the same for candidates that share this part."""
        return self.hits.table.codes_of(part, self.hits.rows)

    @property
    def lanes(self) -> set[str]:
        """The lanes that found any candidate."""
        return {one.lane for one in self._lanes if (one.places != ABSENT).any()}

    def evidence(self, lane: str) -> Evidence | None:
        return next((one for one in self._lanes if one.lane == lane), None)

    def split(self, depth: int) -> tuple[Self, Self]:
        """The candidates that a re-ranker gets, the first `depth` and the first few of each lane; and the rest."""
        head = np.arange(len(self)) < depth
        for lane in self._lanes:
            head |= (lane.ranks > 0) & (lane.ranks <= LANE_HEAD)
        return self._at(np.flatnonzero(head)), self._at(np.flatnonzero(~head))

    def put_first(self, lanes: Sequence[str], *, by_rank: bool) -> Self:
        """The results of these lanes first, by rank in the lane if `by_rank`, else in the order of the lanes. They
        stay first, whatever reorders the list."""
        if not lanes:
            return self
        tiers = np.full(len(self), np.iinfo(np.int64).max)
        for number, lane in reversed(list(enumerate(lanes))):
            if (column := self.evidence(lane)) is not None:
                present = column.places != ABSENT
                tiers[present] = column.ranks[present] if by_rank else number
        return self._with(tiers=tiers)._by_tier()

    def _by_tier(self) -> Self:
        if self._tiers is None:
            return self
        order = self._tiers.argsort(kind="stable")
        shifts = order - np.arange(len(order))
        result = self._at(order)
        return result._with(shifts=shifts if result._shifts is None else result._shifts + shifts)

    def __add__(self, rest: Candidates) -> Candidates:
        """Both parts of a list, lower tiers first."""
        if not len(rest):
            return self
        pairs = zip(self._lanes, rest._lanes, strict=True)
        length = len(self)

        def join(name: str, default: object) -> Any:
            columns = [getattr(self, name), getattr(rest, name)]
            if columns[0] is None and columns[1] is None:
                return None
            values = (_values(column, default, size) for column, size in zip(columns, (length, len(rest)), strict=True))
            return np.array([*chain(*values)], dtype=np.int64 if name in ("_shifts", "_tiers") else np.object_)

        return Candidates(
            Hits(
                self.hits.table,
                np.concatenate([self.hits.rows, rest.hits.rows]),
                np.concatenate([self.scores, rest.scores]),
            ),
            [Evidence(one.lane, np.concatenate([one.places, other.places]), one.columns) for one, other in pairs],
            join("_clusters", None),
            join("_shifts", 0),
            join("_reasons", ""),
            join("_tiers", 0),
        )._by_tier()

    def with_lane(self, lane: str, places: Positions, scores: Scores, shares: Scores) -> Self:
        """The list with one more lane's scores for the candidates at `places` and what they add, sorted by the sums."""
        ranks = np.empty(len(places), dtype=np.int64)
        ranks[(-scores).argsort(kind="stable")] = np.arange(1, len(places) + 1)
        positions = np.full(len(self), ABSENT)
        positions[places] = np.arange(len(places))
        sums = self.scores.astype(np.float64)
        sums[places] += shares
        order = (-sums).argsort(kind="stable")
        result = self._at(order)
        result.hits = result.hits.with_scores(sums[order])
        result._lanes = [*result._lanes, Evidence(lane, positions[order], LaneColumns(ranks, scores, shares, ()))]
        return result._by_tier()

    def reorder(self, order: Positions, clusters: Sequence[int] | None, reasons: Labels) -> Self:
        """The candidates in this order, with clusters and reasons (indexed by old position) and how far each moved."""
        result = self._at(order)
        result._shifts, result._reasons = order - np.arange(len(order)), None
        if len(reasons):
            unsaid = np.full(len(self) - len(reasons), "", dtype=np.object_)
            result._reasons = np.concatenate([reasons, unsaid])[order]
        if clusters is not None:
            labels = np.array([*map(int, clusters)], dtype=np.object_)
            others = np.array(_values(self._clusters, None, len(self))[len(labels) :], dtype=np.object_)
            result._clusters = np.concatenate([labels, others])[order]
        return result._by_tier()

    def with_votes(self, order: Positions, reasons: Labels) -> Self:
        """The candidates in this order by votes, with reasons: moved further than the re-ranker moved them."""
        result = self._at(order)
        result._shifts = np.asarray(_values(result._shifts, 0, len(result))) + order - np.arange(len(order))
        result._reasons = reasons[order]
        return result._by_tier()

    def _with(self, **columns: Any) -> Self:
        result = self._at(slice(None))
        for name, column in columns.items():
            setattr(result, f"_{name}", column)
        return result

    def _at(self, places: Positions | slice) -> Self:
        return type(self)(
            self.hits.at(places),
            [lane.at(places) for lane in self._lanes],
            None if self._clusters is None else self._clusters[places],
            None if self._shifts is None else self._shifts[places],
            None if self._reasons is None else self._reasons[places],
            None if self._tiers is None else self._tiers[places],
        )


def _evidence(lane: str, candidates: Sequence[Candidate]) -> Evidence:
    own_rows = [next((own for own in one.contributions if own.lane == lane), None) for one in candidates]
    present = [one for one in own_rows if one is not None]
    numbers = iter(range(len(present)))
    return Evidence(
        lane,
        np.array([ABSENT if one is None else next(numbers) for one in own_rows], dtype=np.int64),
        LaneColumns(
            np.array([one.rank for one in present], dtype=np.int64),
            np.array([one.score for one in present], dtype=np.float64),
            np.array([one.share for one in present], dtype=np.float64),
            [one.stage for one in present],
        ),
    )


def _values(column: NDArray[Any] | None, otherwise: object, count: int) -> list[Any]:
    """The values of a column, or a default for all if there is none."""
    return [otherwise] * count if column is None else column.tolist()


def arrange(
    candidates: Sequence[Candidate],
    order: Sequence[int] | Positions,
    *,
    clusters: Sequence[int] | None = None,
    reasons: Sequence[str] | Labels = (),
) -> Sequence[Candidate]:
    """The candidates at `order` first (each position once), then the others in order, all annotated.

    `clusters` and `reasons` are indexed by position in the old list.
    """
    whole = np.asarray(order, dtype=np.int64)
    if len(whole) < len(candidates):
        whole = np.concatenate([whole, np.delete(np.arange(len(candidates)), whole)])
    return Candidates.of(candidates).reorder(whole, clusters, np.asarray(reasons, dtype=np.object_))


def with_tree_distances(candidates: Sequence[Candidate], start: int, end: int) -> list[Candidate]:
    """The candidates from `start` to `end`, each with its tree distance to the nearest of all those above it."""
    head = list(candidates[:end])
    distances = nearest_above([candidate.address for candidate in head])
    rows = zip(head[start:], distances[start:], strict=True)
    return [Candidate(*one[:5], distance, one.moved, one.reason) for one, distance in rows]


def min_max(values: Floats) -> Floats:
    """Min-max scaling to 0…1; missing values count as 0."""
    least, most = np.fmin.reduce(values, initial=np.nan), np.fmax.reduce(values, initial=np.nan)
    if not most > least:
        return 1.0 - np.isnan(values)
    result: Floats = np.fmax((values - least) / (most - least), 0.0)  # NaN becomes 0
    return result
