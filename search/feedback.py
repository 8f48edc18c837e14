"""Feedback on results: the protocol of vote stores, and how votes reorder a list.

Votes move a result a few places at most, and can bury nothing. This holds by construction, not by tuning: a result's
key is its position minus its lift, and no lift is larger than `most` places. So only those within `most` places below
it can pass a result without votes, however many clicks there are. Opens are weak evidence, because people open what is
on top: they lift by at most one place and never lower.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, Protocol

import numpy as np

from treeline.corpus.analysis import terms
from treeline.corpus.frozen import frozen
from treeline.rerank.candidates import Candidate, Candidates

Signal = Literal["up", "down", "open"]
COLUMNS: dict[Signal, str] = {"up": "ups", "down": "downs", "open": "opens"}

SIMILAR_FROM = 0.75  # Jaccard similarity of two queries' terms from which one's votes count for the other
MAX_TERMS = 32  # of a query, so that rows stay small
HALF_AT = 2.0  # net thumbs for half of the full lift: one click moves little, ten nearly all
OPENS_PER_PLACE = 5.0  # opens for half a place
MOST_BY_OPENS = 1.0


@frozen
class Votes:
    """The votes on one function for one query, and how similar (0–1) that query is to ours."""

    function: str
    ups: int
    downs: int
    opens: int
    similarity: float = 1.0


class FeedbackStore(Protocol):
    """Counts votes per (query, function); safe to use from several threads and processes."""

    def record(
        self, question: str, function: str, signal: Signal, amount: int = 1, voter: str = "", most: int = 0
    ) -> None:
        """Store one vote durably. An `amount` of −1 takes one back; counts do not go below zero.

        A named voter has at most `most` votes on a function for a query, and takes back only votes of its own.
        """

    def votes(self, question: str) -> list[Votes]:
        """The votes for this query and for very similar ones."""


class NoFeedback:
    """Stores nothing: feedback is switched off."""

    def record(
        self, question: str, function: str, signal: Signal, amount: int = 1, voter: str = "", most: int = 0
    ) -> None:
        return

    def votes(self, question: str) -> list[Votes]:
        return []


def question_terms(text: str) -> tuple[str, ...]:
    """A query as feedback stores it: its distinct terms in alphabetical order."""
    return tuple(sorted(set(terms(text))))[:MAX_TERMS]


def similarity(ours: frozenset[str], theirs: frozenset[str]) -> float:
    """Jaccard similarity of two queries' terms."""
    return len(ours & theirs) / len(ours | theirs) if ours and theirs else 0.0


@frozen
class Lift:
    """The number of places that votes move a result (negative: down), and the counts behind it."""

    places: float
    ups: float
    downs: float
    opens: float


NO_LIFT = Lift(0.0, 0.0, 0.0, 0.0)


def reorder(candidates: Sequence[Candidate], votes: Iterable[Votes], most: int, depth: int) -> Sequence[Candidate]:
    """The list with its first `depth` results moved by votes, the same for every page."""
    every = lifts(votes, most)
    if not every:
        return candidates
    table = Candidates.of(candidates)
    return apply(table[:depth], every) + table[depth:]


def lifts(votes: Iterable[Votes], most: int) -> dict[str, Lift]:
    """The lift of each function; votes on similar queries count less."""
    sums: dict[str, list[float]] = {}
    for vote in votes:
        row = sums.setdefault(vote.function, [0.0, 0.0, 0.0])
        for column, count in enumerate((vote.ups, vote.downs, vote.opens)):
            row[column] += vote.similarity * count
    return {function: Lift(places(row[0], row[1], row[2], most), *row) for function, row in sums.items() if any(row)}


def places(ups: float, downs: float, opens: float, most: int) -> float:
    """The lift in places, within ±`most`, saturating."""
    net = ups - downs
    by_thumbs = most * net / (abs(net) + HALF_AT)
    by_opens = MOST_BY_OPENS * opens / (opens + OPENS_PER_PLACE)
    return max(-float(most), min(float(most), by_thumbs + by_opens))


def apply(candidates: Sequence[Candidate], lift_of: dict[str, Lift]) -> Candidates:
    """The list with each result moved by its lift, with the reason."""
    table = Candidates.of(candidates)
    ids = list(table.ids)
    if lift_of.keys().isdisjoint(ids):
        return table
    order = np.argsort([rank - lift_of.get(id_, NO_LIFT).places for rank, id_ in enumerate(ids)], kind="stable")
    reasons = np.array(table.reasons, dtype=np.object_)
    for new, old in enumerate(order.tolist()):
        if ids[old] in lift_of:
            reasons[old] = explain(reasons[old], lift_of[ids[old]], old - new)
    return table.with_votes(order, reasons)


def explain(reason: str, lift: Lift, up: int) -> str:
    """The reason with what the votes did."""
    counts = [
        f"{number:.0f} {word if round(number) == 1 else plural}"
        for number, word, plural in (
            (lift.ups, "thumb up", "thumbs up"),
            (lift.downs, "thumb down", "thumbs down"),
            (lift.opens, "open", "opens"),
        )
        if round(number)
    ]
    move = f"{abs(up)} {'place' if abs(up) == 1 else 'places'} {'up' if up > 0 else 'down'}" if up else "not moved"
    message = f"feedback for this question ({', '.join(counts)}): {move}"
    return f"{reason}; {message}" if reason else message
