"""What a feedback store can do: count a signal, and give the counts for the same or a very similar question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from treeline.corpus.analysis import terms

Signal = Literal["up", "down", "open"]
COLUMNS: dict[Signal, str] = {"up": "ups", "down": "downs", "open": "opens"}

# Share of terms that two questions must have in common (Jaccard) for one's feedback to count for the other.
SIMILAR_FROM = 0.75
MAX_TERMS = 32  # of a question, so that one row cannot grow without bound


@dataclass(frozen=True, slots=True)
class Votes:
    """What people signalled about one function for one question, and how alike (0–1) that question is to ours."""

    function: str
    ups: int
    downs: int
    opens: int
    similarity: float = 1.0


def question_terms(text: str) -> tuple[str, ...]:
    """The question as feedback knows it: its distinct terms in order of the alphabet. Nothing else of it is kept."""
    return tuple(sorted(set(terms(text))))[:MAX_TERMS]


def similarity(ours: frozenset[str], theirs: frozenset[str]) -> float:
    """Jaccard similarity of two questions' terms."""
    return len(ours & theirs) / len(ours | theirs) if ours and theirs else 0.0


class FeedbackStore(Protocol):
    """Counts of signals per (question, function); safe to use from several threads and processes."""

    def record(self, question: str, function: str, signal: Signal, amount: int = 1) -> None:
        """Count one signal durably (`amount` −1 takes one back; counts do not go below zero)."""

    def votes(self, question: str) -> list[Votes]:
        """The counts for this and for very similar questions."""


class NoFeedback:
    """Keeps nothing: feedback is switched off."""

    def record(self, question: str, function: str, signal: Signal, amount: int = 1) -> None:
        return

    def votes(self, question: str) -> list[Votes]:
        return []
