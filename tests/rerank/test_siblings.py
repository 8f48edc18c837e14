"""Siblings: who is found beside neighbours in the tree is more likely right."""

from __future__ import annotations

from tests.graph.trees import address
from tests.rerank.candidates import CONTEXT, ranked
from treeline.rerank.siblings import Siblings


def test_siblings_that_were_found_too_lift_a_candidate() -> None:
    candidates = ranked(
        [address("o/lonely", "x.py", "f"), *(address("o/team", "csv.py", f"f{i}") for i in range(3))],
        [0.0164, 0.0163, 0.0162, 0.0161],
    )
    found = Siblings()(candidates, CONTEXT)
    assert found[0].address.repo == "o/team"
    assert "neighbours in the tree add" in found[0].reason
