"""The lift: feedback moves a result a few places at most, says so, and can bury nothing.

The bound is by construction, not by tuning: a result's key is its place minus its lift, and no lift is larger than
`most` places, so a result that nobody voted on can be passed only by those within `most` places below it, however
often anybody clicks. Opens are weak evidence (people open what is on top), so they lift by one place at most and
never lower; only thumbs do more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from treeline.rerank.candidates import Candidate
from treeline.search.feedback import Votes

# How many agreeing thumbs give half of the full lift: one click moves little, ten nearly all there is.
HALF_AT = 2.0
OPENS_PER_PLACE = 5.0  # opens that make half a place
MOST_BY_OPENS = 1.0


@dataclass(frozen=True, slots=True)
class Lift:
    """How many places feedback moves a result (negative: down), and the counts behind it."""

    places: float
    ups: float
    downs: float
    opens: float


def lifts(votes: Iterable[Votes], most: int) -> dict[str, Lift]:
    """Per function the lift that its votes earn, those of similar questions counting less; none without votes."""
    sums: dict[str, list[float]] = {}
    for vote in votes:
        row = sums.setdefault(vote.function, [0.0, 0.0, 0.0])
        for column, count in enumerate((vote.ups, vote.downs, vote.opens)):
            row[column] += vote.similarity * count
    return {function: Lift(places(row[0], row[1], row[2], most), *row) for function, row in sums.items() if any(row)}


def places(ups: float, downs: float, opens: float, most: int) -> float:
    """The lift in places, within ±`most`; grows quickly at first and then hardly at all."""
    net = ups - downs
    by_thumbs = most * net / (abs(net) + HALF_AT)
    by_opens = MOST_BY_OPENS * opens / (opens + OPENS_PER_PLACE)
    return max(-float(most), min(float(most), by_thumbs + by_opens))


def apply(candidates: Sequence[Candidate], earned: dict[str, Lift]) -> Sequence[Candidate]:
    """The list with each result moved by its lift, each moved one saying so."""
    if not any(candidate.id in earned for candidate in candidates):
        return candidates
    nothing = Lift(0.0, 0.0, 0.0, 0.0)
    wanted = [(place - earned.get(candidate.id, nothing).places, place) for place, candidate in enumerate(candidates)]
    moved: list[Candidate] = []
    for new, (_, old) in enumerate(sorted(wanted)):
        candidate = candidates[old]
        if candidate.id in earned:
            candidate = explained(candidate, earned[candidate.id], old - new)
        moved.append(candidate)
    return moved


def explained(candidate: Candidate, lift: Lift, up: int) -> Candidate:
    counts = [
        f"{number:.0f} {word if round(number) == 1 else plural}"
        for number, word, plural in (
            (lift.ups, "thumb up", "thumbs up"),
            (lift.downs, "thumb down", "thumbs down"),
            (lift.opens, "open", "opens"),
        )
        if round(number)
    ]
    way = f"{abs(up)} {'place' if abs(up) == 1 else 'places'} {'up' if up > 0 else 'down'}" if up else "not moved"
    said = f"feedback for this question ({', '.join(counts)}): {way}"
    reason = f"{candidate.reason}; {said}" if candidate.reason else said
    return candidate._replace(moved=candidate.moved + up, reason=reason)
