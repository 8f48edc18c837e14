"""Nearest vectors by cosine: an exact scan of int8 rows while that is quick, HNSW beyond, both re-scored in float16."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import numkong
import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from engine.columns import Mask, Positions
from engine.protocol import Vectors

CHUNK = 65_536  # rows handled at once where all are gone through
# Below this share of passing rows, gathering them costs less than scanning past the others.
GATHER_BELOW = 0.1
# The int8 order is right but for near-ties: on random unit vectors the true 100 are all among the first 150.
CANDIDATES_PER_RESULT = 2
SCAN_IN_ONE_BELOW = 20_000  # rows; a second thread costs more than it saves

Int8 = NDArray[np.int8]
Float32 = NDArray[np.float32]


class _Pool:
    """The threads that share a scan; made when first needed, and anew in a forked process."""

    def __init__(self) -> None:
        self.size = min(4, os.cpu_count() or 1)
        self._executor: ThreadPoolExecutor | None = None
        os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        self._executor = None

    @property
    def executor(self) -> ThreadPoolExecutor:
        if self._executor is None:
            self._executor = ThreadPoolExecutor(self.size, thread_name_prefix="scan")
        return self._executor


_pool = _Pool()


def quantise(vectors: NDArray[Any]) -> tuple[Int8, Float32]:
    """Rows as int8, each stretched to its own largest component, and the factors that undo the stretching."""
    rows = np.asarray(vectors, dtype=np.float32)
    largest = np.abs(rows).max(axis=1)
    scale = largest / 127
    stretched = rows / np.where(scale > 0, scale, 1)[:, None]
    return np.rint(stretched).astype(np.int8), scale.astype(np.float32)


def normalised(vectors: NDArray[Any]) -> Vectors:
    """Rows of length one; rows of zeros stay, and a row with a value that is no number becomes one of zeros."""
    rows = np.nan_to_num(np.asarray(vectors, dtype=np.float32), nan=0.0, posinf=0.0, neginf=0.0)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1), dtype=np.float32)


class Matrix:
    """One encoder's vectors of a generation, by position."""

    def __init__(self, folder: Path, number: int) -> None:
        self._exact: NDArray[np.float16] = np.load(folder / f"vectors{number}.f16.npy", mmap_mode="r")
        self._small: Int8 = np.load(folder / f"vectors{number}.i8.npy", mmap_mode="r")
        self._scale: Float32 = np.load(folder / f"vectors{number}.scale.npy", mmap_mode="r")

    def __len__(self) -> int:
        return len(self._scale)

    @property
    def dimension(self) -> int:
        return int(self._small.shape[1])

    @property
    def small(self) -> Int8:
        return self._small

    def rows(self, positions: Positions) -> Vectors:
        return self._exact[positions].astype(np.float32)

    def nearest(self, query: Vectors, k: int, mask: Mask | None) -> tuple[Positions, Float32]:
        """The k best of the rows that pass, by cosine, best first; rows without a vector are never among them."""
        passing = None if mask is None else np.flatnonzero(mask)
        if passing is not None and len(passing) < GATHER_BELOW * len(self):
            candidates = self._best_of(self._small[passing], self._scale[passing], query, k)
            return self.rescore(query, passing[candidates], k)
        return self.rescore(query, self._scan(query, k, mask), k)

    def rescore(self, query: Vectors, positions: Positions, k: int) -> tuple[Positions, Float32]:
        scores = self.rows(positions) @ np.asarray(query, dtype=np.float32)
        order = np.argsort(-scores, kind="stable")[:k]
        return positions[order], scores[order]

    def _scan(self, query: Vectors, k: int, mask: Mask | None) -> Positions:
        total = len(self)
        parts = 1 if total < SCAN_IN_ONE_BELOW else _pool.size
        edges = [total * part // parts for part in range(parts + 1)]
        ranges = list(pairwise(edges))

        def best(range_: tuple[int, int]) -> Positions:
            start, end = range_
            passed = None if mask is None else mask[start:end]
            return start + self._best_of(self._small[start:end], self._scale[start:end], query, k, passed)

        if parts == 1:
            return best(ranges[0])
        return np.concatenate(list(_pool.executor.map(best, ranges)))

    def _best_of(self, rows: Int8, scale: Float32, query: Vectors, k: int, mask: Mask | None = None) -> Positions:
        if not len(rows):
            return np.zeros(0, dtype=np.int64)
        small, _ = quantise(np.asarray(query, dtype=np.float32)[None])
        products = np.asarray(numkong.dots_packed(rows, numkong.dots_pack(small))).ravel()
        scores = np.multiply(products, scale, dtype=np.float32)
        passed = scale > 0 if mask is None else mask & (scale > 0)
        if not passed.all():
            scores[~passed] = -np.inf
        wanted = CANDIDATES_PER_RESULT * k
        best = np.argpartition(scores, -wanted)[-wanted:] if wanted < len(scores) else np.arange(len(scores))
        return best[passed[best]].astype(np.int64)


def write_part(folder: Path, number: int, vectors: Vectors) -> None:
    """The vectors of a part, as they will be kept."""
    np.save(folder / f"vectors{number}.f16.npy", vectors.astype(np.float16))


def part(folder: Path, number: int) -> NDArray[np.float16]:
    """The vectors of a part or of a generation, memory-mapped."""
    rows: NDArray[np.float16] = np.load(folder / f"vectors{number}.f16.npy", mmap_mode="r")
    return rows


def merge_parts(
    folder: Path, number: int, dimension: int, parts: Sequence[NDArray[np.float16] | None], kept: Sequence[Positions]
) -> None:
    """One matrix of the kept rows of several; a part that has none for this encoder gives zeros."""
    total = sum(map(len, kept))
    exact = open_memmap(folder / f"vectors{number}.f16.npy", "w+", np.float16, (total, dimension))
    small = open_memmap(folder / f"vectors{number}.i8.npy", "w+", np.int8, (total, dimension))
    scale = open_memmap(folder / f"vectors{number}.scale.npy", "w+", np.float32, (total,))
    start = 0
    for rows, positions in zip(parts, kept, strict=True):
        for at in range(0, len(positions), CHUNK):
            chosen = positions[at : at + CHUNK]
            end = start + len(chosen)
            if rows is not None:
                exact[start:end] = rows[chosen]
                small[start:end], scale[start:end] = quantise(exact[start:end])
            start = end
    for array in (exact, small, scale):
        array.flush()
