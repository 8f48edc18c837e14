"""Greedy diversity, near-duplicates and siblings, each by what it is for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rerank.candidate import RerankContext
from rerank.greedy import Greedy
from rerank.near_duplicates import NearDuplicates
from rerank.siblings import Siblings
from tests.graph.trees import address
from tests.rerank.candidates import CONTEXT, ranked


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


def test_a_copy_in_another_repository_goes_behind_the_others() -> None:
    candidates = ranked(
        [address("o/a", "f.py", "load"), address("o/b", "vendor/f.py", "load"), address("o/c", "g.py", "load")]
    )
    rows = {"id0": [1.0, 0.0], "id1": [1.0, 0.0], "id2": [0.6, 0.8]}

    def vectors(ids: Sequence[str]) -> NDArray[np.float32]:
        return np.array([rows[i] for i in ids], dtype=np.float32)

    found = NearDuplicates()(candidates, RerankContext("load", vectors))
    assert [candidate.id for candidate in found] == ["id0", "id2", "id1"]
    assert found[2].reason == "nearly the same as o/a's"
    assert NearDuplicates()(candidates, CONTEXT)[1].id == "id1"


def test_siblings_that_were_found_too_lift_a_candidate() -> None:
    candidates = ranked(
        [address("o/lonely", "x.py", "f"), *(address("o/team", "csv.py", f"f{i}") for i in range(3))],
        [0.0164, 0.0163, 0.0162, 0.0161],
    )
    found = Siblings()(candidates, CONTEXT)
    assert found[0].address.repo == "o/team"
    assert "neighbours in the tree add" in found[0].reason
