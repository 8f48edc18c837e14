"""Candidates for the re-rankers' tests."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from corpus.function import Address
from rerank.candidate import Candidate, RerankContext
from tests.graph.trees import ADDRESSES

CONTEXT = RerankContext(query="read a csv file")


def ranked(addresses: Sequence[Address], scores: Sequence[float] = ()) -> list[Candidate]:
    """The addresses as a list ranked by falling scores."""
    given = scores or [1.0 / (60 + place) for place in range(1, len(addresses) + 1)]
    return [Candidate(f"id{i}", address, given[i]) for i, address in enumerate(addresses)]


LISTS = st.lists(ADDRESSES, max_size=130).map(ranked)
