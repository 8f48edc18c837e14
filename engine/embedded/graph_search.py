"""Approximate nearest vectors at a scale where a scan is too slow: a usearch HNSW graph over int8 rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from treeline.engine.embedded.vectors import CANDIDATES_PER_RESULT, CHUNK, Matrix, quantise
from treeline.engine.protocol import Vectors

if TYPE_CHECKING:
    from usearch.index import Index

# Rows; beyond, a scan takes more than about 10 ms. At 547,290 the scan by signs took 5.4 ms and the graph 4.6, and
# building the graph halved the rate of loading.
SCAN_UP_TO = 1_000_000
CONNECTIVITY = 16
EXPANSION_ADD = 128
# Rows that are added one after the other before two processors add theirs side by side: of 400 rows added by two, two
# or three were found by no way, of 12,000 five, and half as many with this beginning; none where one adds all.
ALONE = 2_000
REBUILD_OVER = 0.3  # share of rows gone; a graph full of holes is slow and misses
# On 182,431 functions and 99 questions: recall@100 .984 at 200, .991 at 400, .993 at 800 (2.7 ms): room to grow.
EXPANSION_SEARCH = 800


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


def build(folder: Path, number: int, matrix: Matrix, serials: NDArray[np.int64], base: Path | None = None) -> None:
    """Write the graph of all rows that have a vector, from the graph of the generation before where there is one."""
    index = _index_of(matrix.dimension, base)
    known = np.asarray(index.keys, dtype=np.int64) if len(index) else np.zeros(0, dtype=np.int64)
    gone = np.setdiff1d(known, serials)
    if len(gone) > REBUILD_OVER * len(known):
        index = _index_of(matrix.dimension, None)
        known = gone = known[:0]
    if len(gone):
        index.remove(gone.astype(np.uint64))
    for start in range(0, len(matrix), CHUNK):
        rows = np.asarray(matrix.small[start : start + CHUNK])
        keys = serials[start : start + CHUNK]
        new = rows.any(axis=1) & ~np.isin(keys, known)
        _add(index, keys[new].astype(np.uint64), rows[new])
    index.save(str(folder / f"vectors{number}.hnsw"))


def _add(index: Index, keys: NDArray[np.uint64], rows: NDArray[np.int8]) -> None:
    """Add rows by all processors, but for the first: a row put into a graph that hardly is may be found by no way."""
    alone = max(0, ALONE - len(index))
    for part, threads in ((slice(None, alone), 1), (slice(alone, None), 0)):
        if len(keys[part]):
            index.add(keys[part], rows[part], threads=threads)


def _index_of(dimension: int, base: Path | None) -> Index:
    from usearch.compiled import MetricKind, ScalarKind
    from usearch.index import Index

    index = Index(
        ndim=dimension,
        metric=MetricKind.Cos,
        dtype=ScalarKind.I8,
        connectivity=CONNECTIVITY,
        expansion_add=EXPANSION_ADD,
    )
    if base is not None and base.exists():
        index.load(str(base))
    return index
