"""Near-duplicates: one of several copies is enough."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tests.graph.trees import address
from tests.rerank.candidates import CONTEXT, ranked
from treeline.rerank.candidate import RerankContext
from treeline.rerank.near_duplicates import NearDuplicates


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
