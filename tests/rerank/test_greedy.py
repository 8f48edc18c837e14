"""Greedy diversity: a neighbour in the tree has to be better by some margin."""

from __future__ import annotations

from tests.graph.trees import address
from tests.rerank.candidates import CONTEXT, ranked
from treeline.rerank.greedy import Greedy


def test_greedy_lets_another_repository_pass_a_sibling_of_nearly_the_same_score() -> None:
    candidates = ranked(
        [
            address("o/a", "f.py", "f"),
            address("o/a", "f.py", "g"),
            address("o/b", "f.py", "h"),
            address("o/c", "f.py", "i"),
        ],
        [1.0, 0.9, 0.88, 0.0],
    )
    found = Greedy(penalty=0.1)(candidates, CONTEXT)
    assert [candidate.id for candidate in found] == ["id0", "id2", "id1", "id3"]
    assert found[1].moved == 1
    assert "farther" in found[1].reason
    assert [candidate.id for candidate in Greedy(penalty=0.0)(candidates, CONTEXT)] == ["id0", "id1", "id2", "id3"]
