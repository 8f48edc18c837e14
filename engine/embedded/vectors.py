"""Nearest vectors by cosine: signs first, then int8, then float16, each over the best of the stage before.

The signs of 256 components are 32 bytes, so that 182,431 rows of them are gone through in .7 ms on one core; the int8
rows take 4. What the signs leave out is rarely among the nearest: see `KEPT_PER_RESULT`. Where all rows are searched,
product codes of the same length are gone through quicker, and tell so well that float16 follows at once
(`treeline.engine.embedded.product_codes`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numkong
import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from treeline.engine.embedded.columns import Mask, Positions, mapped
from treeline.engine.embedded.product_codes import ProductCodes
from treeline.engine.hits import NO_ROWS
from treeline.engine.protocol import Vectors

CHUNK = 65_536  # rows handled at once where all are gone through
BITS_CHUNK = 65_536  # rows whose signs are compared at once: what they leave in between stays in the cache
WORD = 64  # signs in one number
SCAN_SIGNS_FROM = 20_000  # rows that pass; fewer are compared as int8 in half a millisecond, and nothing is missed
SIGNS_TELL_FROM = 192  # dimensions; the signs of fewer miss too much, and their int8 rows are short
# Rows that the signs hand on for k results: 1,500 + 10 k. On 182,431 functions and 99 questions the true 100 are among
# them to 99.7 %, the true 300 to 99.1 %.
KEPT, KEPT_PER_RESULT = 1_500, 10
# The int8 order is right but for near-ties: on random unit vectors the true 100 are all among the first 150.
CANDIDATES_PER_RESULT = 2
SAMPLED, ENOUGH_OF_KEPT = 8, 0.8
FAR = np.iinfo(np.uint16).max  # the distance of rows that do not count

Int8 = NDArray[np.int8]
Float32 = NDArray[np.float32]
Bits = NDArray[np.uint64]


def quantise(vectors: NDArray[Any]) -> tuple[Int8, Float32]:
    """Rows as int8, each stretched to its own largest component, and the factors that undo the stretching."""
    rows = np.asarray(vectors, dtype=np.float32)
    largest = np.abs(rows).max(axis=1)
    scale = largest / 127
    stretched = rows / np.where(scale > 0, scale, 1)[:, None]
    return np.rint(stretched).astype(np.int8), scale.astype(np.float32)


def normalised(vectors: NDArray[Any]) -> Vectors:
    """Rows of length one; rows of zeros stay, and a row with a value that is no number becomes one of zeros."""
    rows = np.asarray(vectors, dtype=np.float32)
    finite = np.isfinite(rows)
    rows = rows if finite.all() else np.where(finite, rows, np.float32(0))
    lengths = np.sqrt(np.add.reduce(rows * rows, axis=1, keepdims=True))
    return np.asarray(rows / np.where(lengths > 0, lengths, 1), dtype=np.float32)


def signs(vectors: NDArray[Any]) -> Bits:
    """One bit a component, set where it is positive; a column a row, so that a scan reads word after word."""
    packed = np.packbits(np.asarray(vectors) > 0, axis=1)
    words = -(-packed.shape[1] * 8 // WORD)
    padded = np.zeros((len(packed), words * WORD // 8), dtype=np.uint8)
    padded[:, : packed.shape[1]] = packed
    return np.ascontiguousarray(padded.view(np.uint64).T)


def differing(bits: Bits, query: Bits) -> NDArray[np.uint16]:
    """In how many signs each row differs from the query."""
    total = bits.shape[1]
    found = np.zeros(total, dtype=np.uint16)
    apart = np.empty(min(total, BITS_CHUNK), dtype=np.uint64)
    count = np.empty(len(apart), dtype=np.uint8)
    for start in range(0, total, BITS_CHUNK):
        end = min(start + BITS_CHUNK, total)
        length = end - start
        for row, word in zip(bits, query[:, 0], strict=True):
            np.bitwise_xor(row[start:end], word, out=apart[:length])
            np.bitwise_count(apart[:length], out=count[:length])
            found[start:end] += count[:length]
    return found


def nearest_by(distances: NDArray[np.uint16], kept: int) -> Positions:
    """About the `kept` nearest, all that are as near as the last of them: the same question always finds the same.

    How near that is, every eighth row tells well enough; if the rows should happen to lie otherwise, all of them do,
    as where those of a filter are seldom the eighth. Rows that do not count are not among them, however few do.
    """
    sample, place = distances[::SAMPLED], kept // SAMPLED
    edge = np.partition(sample, place)[place]
    found = np.flatnonzero(distances <= edge) if edge < FAR else NO_ROWS
    if len(found) < kept * ENOUGH_OF_KEPT:
        edge = np.partition(distances, kept - 1)[kept - 1]
        found = np.flatnonzero(distances <= min(edge, FAR - 1))
    return found


class Matrix:
    """One encoder's vectors of a generation, by position."""

    def __init__(self, folder: Path, number: int) -> None:
        self._exact: NDArray[np.float16] = mapped(folder / f"vectors{number}.f16.npy")
        self._small: Int8 = mapped(folder / f"vectors{number}.i8.npy")
        self._scale: Float32 = mapped(folder / f"vectors{number}.scale.npy")
        self._bits: Bits = mapped(folder / f"vectors{number}.b1.npy")
        self._codes = ProductCodes.open(folder, number)

    def __len__(self) -> int:
        return len(self._scale)

    @property
    def dimension(self) -> int:
        return int(self._small.shape[1])

    @property
    def small(self) -> Int8:
        return self._small

    @property
    def exact(self) -> NDArray[np.float16]:
        return self._exact

    @property
    def scanned_in_stages(self) -> bool:
        """Whether there are enough rows, and long enough ones, that some are left out before int8."""
        return len(self) >= SCAN_SIGNS_FROM and self.dimension >= SIGNS_TELL_FROM

    @cached_property
    def _present(self) -> Mask:
        """Which rows have a vector."""
        return self._scale > 0

    @cached_property
    def _count(self) -> int:
        return int(np.count_nonzero(self._present))

    def rows(self, positions: Positions) -> Vectors:
        # numpy's own widening takes ten times as long.
        return np.asarray(numkong.astype(self._exact.take(positions, axis=0), "float32"))

    def nearest(self, query: Vectors, k: int, mask: Mask | None) -> tuple[Positions, Float32]:
        """The k best of the rows that pass, by cosine, best first; rows without a vector are never among them."""
        passed = self._present if mask is None else mask & self._present
        count = self._count if mask is None else int(np.count_nonzero(passed))
        kept = KEPT + KEPT_PER_RESULT * k
        if count < max(2 * kept, SCAN_SIGNS_FROM) or not self.scanned_in_stages:
            candidates = np.flatnonzero(passed)
        elif mask is None and self._codes is not None and self._codes.asked_again():
            candidates = self._codes.nearest(query, k)
            return self.rescore(query, candidates if count == len(self) else candidates[passed[candidates]], k)
        else:
            apart = differing(self._bits, signs(query[None]))
            if count < len(self):
                apart[~passed] = FAR
            candidates = nearest_by(apart, kept)
        return self.rescore(query, self._best(query, candidates, CANDIDATES_PER_RESULT * k), k)

    def rescore(self, query: Vectors, positions: Positions, k: int) -> tuple[Positions, Float32]:
        """The k best of these by their exact vectors."""
        # As two halves the query loses nothing in float16, and the rows need not be widened, which takes ten times as
        # long as the products.
        halves = np.empty((2, len(query)), dtype=np.float16)
        halves[0] = query
        halves[1] = query - halves[0]
        rows = self._exact.take(positions, axis=0)
        products = np.asarray(numkong.dots_packed(rows, numkong.dots_pack(halves)))
        scores: Float32 = products[:, 0] + products[:, 1]
        if k < len(scores):  # with all that are as near as the last: who is among them must not depend on the sorting
            best = (scores >= np.partition(scores, -k)[-k]).nonzero()[0]
            positions, scores = positions[best], scores[best]
        order = (-scores).argsort(kind="stable")[:k]
        return positions[order], scores[order]

    def _best(self, query: Vectors, positions: Positions, wanted: int) -> Positions:
        """The `wanted` best of these by int8."""
        if wanted >= len(positions):
            return positions
        whole = len(positions) == len(self)
        small, _ = quantise(query[None])
        rows = self._small if whole else self._small.take(positions, axis=0)
        products = np.asarray(numkong.dots_packed(rows, numkong.dots_pack(small))).ravel()
        scores = np.multiply(products, self._scale if whole else self._scale.take(positions), dtype=np.float32)
        best: Positions = positions[np.sort(np.argpartition(scores, -wanted)[-wanted:])]
        return best


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
    bits = open_memmap(folder / f"vectors{number}.b1.npy", "w+", np.uint64, (-(-dimension // WORD), total))
    start = 0
    for rows, positions in zip(parts, kept, strict=True):
        for at in range(0, len(positions), CHUNK):
            chosen = positions[at : at + CHUNK]
            end = start + len(chosen)
            if rows is not None:
                exact[start:end] = rows[chosen]
                small[start:end], scale[start:end] = quantise(exact[start:end])
                bits[:, start:end] = signs(small[start:end])
            start = end
    for array in (exact, small, scale, bits):
        array.flush()
