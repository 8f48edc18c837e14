"""Approximate nearest vectors at a scale where a scan is too slow: a usearch HNSW graph over int8 rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from engine.protocol import Vectors
from engine.vectors import CANDIDATES_PER_RESULT, CHUNK, Matrix, quantise

if TYPE_CHECKING:
    from usearch.index import Index

SCAN_UP_TO = 400_000  # rows; measured: see docs, a scan of 182,431 x 256 takes 2 to 3 ms on two cores
CONNECTIVITY = 16
EXPANSION_ADD = 128
EXPANSION_SEARCH = 400  # for recall@100 of at least .95


class Hnsw:
    """The graph of one encoder's vectors; its keys are serials, so it stays valid when rows are renumbered."""

    def __init__(self, index: Index) -> None:
        self._index = index

    @classmethod
    def open(cls, folder: Path, number: int) -> Hnsw | None:
        """The graph of a generation, memory-mapped; nothing when it is small enough to scan."""
        path = folder / f"vectors{number}.hnsw"
        if not path.exists():
            return None
        from usearch.index import Index  # a quarter of a second that a small index never pays

        index: Any = Index.restore(str(path), view=True)
        index.expansion_search = EXPANSION_SEARCH
        return cls(index)

    def nearest(self, query: Vectors, k: int) -> NDArray[np.int64]:
        """Serials of the candidates for the k nearest."""
        small, _ = quantise(np.asarray(query, dtype=np.float32)[None])
        found = self._index.search(small[0], CANDIDATES_PER_RESULT * k)
        return np.sort(np.asarray(found.keys, dtype=np.int64))


def build(folder: Path, number: int, matrix: Matrix, serials: NDArray[np.int64]) -> None:
    """Write the graph of all rows that have a vector."""
    from usearch.compiled import MetricKind, ScalarKind
    from usearch.index import Index

    index = Index(
        ndim=matrix.dimension,
        metric=MetricKind.Cos,
        dtype=ScalarKind.I8,
        connectivity=CONNECTIVITY,
        expansion_add=EXPANSION_ADD,
    )
    for start in range(0, len(matrix), CHUNK):
        rows = np.asarray(matrix.small[start : start + CHUNK])
        there = rows.any(axis=1)
        index.add(serials[start : start + CHUNK][there].astype(np.uint64), rows[there])
    index.save(str(folder / f"vectors{number}.hnsw"))
