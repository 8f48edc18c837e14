"""Candidates for the re-rankers' tests."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from tests.graph.trees import ADDRESSES, address
from treeline.corpus.function import Address
from treeline.rerank.candidates import Candidate, Contribution, RerankContext

CONTEXT = RerankContext(query="read a csv file")


def ranked(addresses: Sequence[Address], scores: Sequence[float] = ()) -> list[Candidate]:
    """The addresses as a list ranked by falling scores."""
    given = scores or [1.0 / (60 + place) for place in range(1, len(addresses) + 1)]
    return [Candidate(f"id{i}", place, given[i]) for i, place in enumerate(addresses)]


LISTS = st.lists(ADDRESSES, max_size=130).map(ranked)


def found(place: Address, number: int, **lanes: tuple[int, float]) -> Candidate:
    """A candidate with (rank, score) per lane; its fused score falls with its number."""
    contributions = tuple(Contribution(lane, rank, score, 0.0) for lane, (rank, score) in lanes.items())
    return Candidate(f"id{number}", place, 1.0 / (60 + number), contributions)


def both(repos: Sequence[str], dense: Sequence[float]) -> list[Candidate]:
    return [
        found(address(f"o/{repo}", f"f{i}.py", f"f{i}"), i, keyword=(i + 1, 10.0 - i), dense=(i + 1, score))
        for i, (repo, score) in enumerate(zip(repos, dense, strict=True))
    ]


def unit(number: int, path: str, name: str, kind: str, score: float, repo: str = "o/r", *, lines: int = 9) -> Candidate:
    where = Address(repo, path, name, "python", f"https://example.org/{path}#L{number + 1}-L{number + lines}", kind)
    lanes = (Contribution("keyword", 1, score, score / 2), Contribution("dense", 1, score, score / 2))
    return Candidate(f"id{number}", where, score, lanes)


def units(*rows: tuple[str, str, str, float]) -> list[Candidate]:
    return [unit(number, *row) for number, row in enumerate(rows)]
