"""Scans of arrays in the embedded engine: for the nearest vectors, and for candidates of exact text.

**Nearest vectors** by cosine: the signs of the components choose candidates, float16 ranks them. The signs of 256
components are 32 bytes; a scan of 182,431 rows takes .7 ms on one quiet core and one of a million 4. Few rows, or short
vectors, are ranked in float16 at once. docs/research/engine-paths.md compares int8, product codes and HNSW, which this
replaces.

**Exact text**: a signature of hashed character n-grams for each unit, stored bit by bit. Signature files as in
Faloutsos & Christodoulakis, "Signature Files" (TOIS 1984), cut into bit slices as in BitFunnel (Goodwin et al., SIGIR
2017). A string's candidates are the AND of a few slices of N bits. Measured on 20,000 Python functions with 4,096 bits
(512 bytes a unit): random strings of 8, 12 and 20 characters leave 32, 11 and 2 false candidates; trigrams alone in
2,048 bits leave 195, 67 and 7.

The vectors and slices of an index take a kilobyte a unit. A generation that changes little shares these files with the
one before: LIVING lists the rows of them that it still has, which come first, and a second, small file has the others.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numkong
import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from treeline.corpus.arrays import map_array
from treeline.engine.durable import link_or_copy
from treeline.engine.embedded.columns import Mask, Positions
from treeline.engine.hits import NO_ROWS, Vectors
from treeline.engine.text import fold

CHUNK = 65_536  # rows handled at once; what the signs leave in between stays in the cache
WORD = 64  # signs in one number
SIGNS_FROM_ROWS = 20_000  # fewer are ranked in float16 in about a millisecond, and nothing is missed
SIGNS_FROM_DIMENSIONS = 192  # the signs of fewer miss too much
# Rows that the signs hand on for k results: 1,500 + 10 k. On 182,431 functions and 99 questions they hold 99.9 % of the
# true 100 and 98.6 % of the true 300.
CANDIDATES, CANDIDATES_PER_RESULT = 1_500, 10
SAMPLE_STEP, ENOUGH = 8, 0.8
FAR = np.iinfo(np.uint16).max  # the distance of rows that do not count

Float16 = NDArray[np.float16]
Float32 = NDArray[np.float32]
Bits = NDArray[np.uint64]
BITS = 4_096
SIZES = (3, 5)  # characters (bytes) in an n-gram
SLICES = "grams.npy"  # of a generation: one row a bit
SIGNATURES = "signatures.npy"  # of a part: one row a unit
LIVING = "living.npy"
DELTA = ".delta.npy"
SHARE_FROM_ROWS = 20_000  # fewer are written again in some hundredths of a second
MOST_CHANGED = 1 / 8  # of a shared file's rows, before it is written again
ROWS_AT_ONCE = 1_024
BLOCK = 8_192  # rows turned from slices into signatures at once
_MIX = [np.uint32(odd) for odd in (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1)]
_SHIFT = np.uint32(32 - BITS.bit_length() + 1)

Bytes = NDArray[np.uint8]


def signs(vectors: NDArray[Any]) -> Bits:
    """One bit a component, set where it is positive; a column a row, so that a scan reads word after word."""
    bits = np.packbits(np.asarray(vectors) > 0, axis=1)
    words = -(-bits.shape[1] * 8 // WORD)
    words_of_bits = np.zeros((len(bits), words * WORD // 8), dtype=np.uint8)
    words_of_bits[:, : bits.shape[1]] = bits
    return np.ascontiguousarray(words_of_bits.view(np.uint64).T)


def sign_distances(bits: Bits, query: Bits) -> NDArray[np.uint16]:
    """In how many signs each row differs from the query."""
    total = bits.shape[1]
    distances = np.zeros(total, dtype=np.uint16)
    apart = np.empty(min(total, CHUNK), dtype=np.uint64)
    count = np.empty(len(apart), dtype=np.uint8)
    for start in range(0, total, CHUNK):
        end = min(start + CHUNK, total)
        length = end - start
        for row, word in zip(bits, query[:, 0], strict=True):
            np.bitwise_xor(row[start:end], word, out=apart[:length])
            np.bitwise_count(apart[:length], out=count[:length])
            distances[start:end] += count[:length]
    return distances


def nearest_by(distances: NDArray[np.uint16], limit: int) -> Positions:
    """About `kept` nearest rows, with all that are as near as the last, so that the answer never varies.

    Every eighth row tells how near that is. If those leave too few, as under some filters, all rows are looked at.
    """
    sample, rank = distances[::SAMPLE_STEP], limit // SAMPLE_STEP
    edge = np.partition(sample, rank)[rank]
    rows = np.flatnonzero(distances <= edge) if edge < FAR else NO_ROWS
    if len(rows) < limit * ENOUGH:
        edge = np.partition(distances, limit - 1)[limit - 1]
        rows = np.flatnonzero(distances <= min(edge, FAR - 1))
    return rows


class Matrix:
    """One encoder's vectors of a generation, by position."""

    def __init__(self, folder: Path, number: int) -> None:
        self._rows: Float16 = map_array(folder / _vectors(number))
        self._signs: Bits = map_array(folder / f"vectors{number}.signs.npy")
        self._present: Mask = map_array(folder / f"vectors{number}.present.npy")
        self._living = living_rows(folder)
        self._delta: Float16 | None = None if self._living is None else map_array(folder / _delta(_vectors(number)))

    def __len__(self) -> int:
        return len(self._present)

    @property
    def dimension(self) -> int:
        return int(self._rows.shape[1])

    @cached_property
    def _count(self) -> int:
        return int(np.count_nonzero(self._present))

    def rows(self, positions: Positions) -> Vectors:
        # numpy's own widening takes ten times as long.
        return np.asarray(numkong.astype(self._take(positions), "float32"))

    def _take(self, positions: Positions) -> Float16:
        if self._living is None or self._delta is None:
            return self._rows.take(positions, axis=0)
        result = np.empty((len(positions), self.dimension), dtype=np.float16)
        is_old = positions < len(self._living)
        result[is_old] = self._rows.take(self._living[positions[is_old]], axis=0)
        result[~is_old] = self._delta.take(positions[~is_old] - len(self._living), axis=0)
        return result

    def nearest(self, query: Vectors, k: int, mask: Mask | None) -> tuple[Positions, Float32]:
        """The k best of the rows that pass, by cosine, best first; rows without a vector never count."""
        passing = self._present if mask is None else mask & self._present
        count = self._count if mask is None else int(np.count_nonzero(passing))
        limit = CANDIDATES + CANDIDATES_PER_RESULT * k
        if count < max(2 * limit, SIGNS_FROM_ROWS) or self.dimension < SIGNS_FROM_DIMENSIONS:
            return self._rank(query, np.flatnonzero(passing), k)
        distances = sign_distances(self._signs, signs(query[None]))
        if count < len(self):
            distances[~passing] = FAR
        return self._rank(query, nearest_by(distances, limit), k)

    def _rank(self, query: Vectors, positions: Positions, k: int) -> tuple[Positions, Float32]:
        """The k best of these by their exact vectors."""
        # As two halves the query loses nothing in float16, and the rows need not be widened, which takes ten times as
        # long as the products.
        halves = np.empty((2, len(query)), dtype=np.float16)
        halves[0] = query
        halves[1] = query - halves[0]
        is_whole = self._living is None and len(positions) == len(self)
        rows = self._rows if is_whole else self._take(positions)
        products = np.asarray(numkong.dots_packed(rows, numkong.dots_pack(halves)))
        scores: Float32 = products[:, 0] + products[:, 1]
        if k < len(scores):  # with all that score like the last: which of them stay must not depend on the sorting
            best = (scores >= np.partition(scores, -k)[-k]).nonzero()[0]
            positions, scores = positions[best], scores[best]
        order = (-scores).argsort(kind="stable")[:k]
        return positions[order], scores[order]


def write_vectors(folder: Path, number: int, vectors: Vectors | Float16) -> None:
    """The vectors of a part, as they will be kept."""
    exact = vectors.astype(np.float16)
    np.save(folder / _vectors(number), exact)
    np.save(folder / f"vectors{number}.signs.npy", signs(exact))
    np.save(folder / f"vectors{number}.present.npy", exact.any(axis=1))


def merge_vectors(
    folder: Path,
    number: int,
    dimension: int,
    parts: Sequence[tuple[Path, int] | None],
    positions_of: Sequence[Positions],
    common: int = 0,
) -> None:
    """One matrix of the kept rows of several parts, each with the number that the encoder has there; a part without
    this encoder gives zeros. The exact vectors of the first `common` rows are in a file of the base."""
    total = sum(map(len, positions_of))
    bits = np.zeros((-(-dimension // WORD), total), dtype=np.uint64)
    present = np.zeros(total, dtype=np.bool_)
    name = _delta(_vectors(number)) if common else _vectors(number)
    exact = open_memmap(folder / name, "w+", np.float16, (total - common, dimension))
    start = 0
    for part, positions in zip(parts, positions_of, strict=True):
        end = start + len(positions)
        if part is not None:
            where, old_number = part
            bits[:, start:end] = map_array(where / f"vectors{old_number}.signs.npy")[:, positions]
            present[start:end] = map_array(where / f"vectors{old_number}.present.npy")[positions]
            at = max(start - common, 0)
            for source, rows in _sources(where, _vectors(old_number), positions[max(common - start, 0) :]):
                for first in range(0, len(rows), CHUNK):
                    some = rows[first : first + CHUNK]
                    exact[at : at + len(some)] = source[some]
                    at += len(some)
                    _release(exact)
        start = end
    exact.flush()
    np.save(folder / f"vectors{number}.signs.npy", bits)
    np.save(folder / f"vectors{number}.present.npy", present)


def _release(array: NDArray[Any]) -> None:
    """Let go of the memory of a file that is being written through a map; what was written stays."""
    array.base.madvise(mmap.MADV_DONTNEED)  # type: ignore[union-attr]


def share(folder: Path, base: Path, positions: Positions, rows: int, more: int) -> int:
    """Give a new generation the large files of its base, of whose `rows` it keeps those at `positions`, unless much
    has changed; how many of the positions these files hold."""
    living = living_rows(base)
    size = rows if living is None else int(map_array(base / SLICES).shape[1]) * 8
    old = positions[: np.searchsorted(positions, rows if living is None else len(living))]
    if size < SHARE_FROM_ROWS or size - len(old) + len(positions) - len(old) + more > size * MOST_CHANGED:
        return 0
    np.save(folder / LIVING, (old if living is None else living[old]).astype(np.int32))
    for path in base.iterdir():
        if path.name == SLICES or path.name.endswith(".f16.npy"):
            link_or_copy(path, folder / path.name)
    return len(old)


def living_rows(folder: Path) -> NDArray[np.int32] | None:
    """The rows that a generation has of the files it shares with an older one; None if it shares none."""
    return map_array(folder / LIVING) if (folder / LIVING).exists() else None


def _vectors(number: int) -> str:
    return f"vectors{number}.f16.npy"


def _delta(name: str) -> str:
    """The file of the rows that a shared file of this name lacks."""
    return name.replace(".npy", DELTA)


def _sources(folder: Path, name: str, positions: Positions) -> Iterator[tuple[NDArray[Any], NDArray[np.integer]]]:
    """The arrays that hold these rows of a part or generation, each with their rows in it."""
    living, whole = living_rows(folder), map_array(folder / name)
    if living is None:
        yield whole, positions
        return
    edge = np.searchsorted(positions, len(living))
    yield whole, living[positions[:edge]]
    yield map_array(folder / _delta(name)), positions[edge:] - len(living)


def _hashes(text: Bytes, size: int) -> NDArray[np.uint32]:
    """The bit of every n-gram of this size, in order."""
    count = max(len(text) - size + 1, 0)
    wide = text.astype(np.uint32)
    hashes = np.full(count, size, dtype=np.uint32)
    for offset in range(size):
        hashes = (hashes ^ wide[offset : offset + count]) * _MIX[offset]
    return ((hashes ^ (hashes >> np.uint32(15))) * _MIX[0]) >> _SHIFT


def signatures(texts: Sequence[str]) -> Bytes:
    """One signature a row."""
    rows_of_bits = np.zeros((len(texts), BITS // 8), dtype=np.uint8)
    for start in range(0, len(texts), ROWS_AT_ONCE):
        lines = [fold(text).encode("utf-8", "replace") for text in texts[start : start + ROWS_AT_ONCE]]
        together = np.frombuffer(b"\0".join(lines) + b"\0", dtype=np.uint8)
        rows = np.repeat(np.arange(len(lines)), [len(text) + 1 for text in lines])
        bits = np.zeros(len(lines) * BITS, dtype=np.bool_)
        for size in SIZES:
            hashes = _hashes(together, size)
            bits[rows[: len(hashes)] * BITS + hashes] = True
        rows_of_bits[start : start + len(lines)] = np.packbits(bits.reshape(-1, BITS), axis=1)
    return rows_of_bits


class Grams:
    """The bit slices of a generation."""

    def __init__(self, folder: Path, rows: int) -> None:
        self._slices: Bytes = map_array(folder / SLICES)
        self._living = living_rows(folder)
        self._delta: Bytes | None = None if self._living is None else map_array(folder / _delta(SLICES))
        self._rows = rows

    def candidates(self, literals: Sequence[str]) -> Positions:
        """The rows that may contain all of these folded strings; all rows where the strings are too short."""
        bits = {bit for literal in literals for bit in _bits(literal)}
        if not bits:
            return np.arange(self._rows)
        matching = np.unpackbits(np.bitwise_and.reduce(self._slices[sorted(bits)], axis=0))
        if self._living is not None and self._delta is not None:
            more = np.unpackbits(np.bitwise_and.reduce(self._delta[sorted(bits)], axis=0))
            matching = np.concatenate([matching[self._living], more])
        return np.flatnonzero(matching[: self._rows].view(np.bool_))  # of bytes it takes ten times as long


def _bits(literal: str) -> set[int]:
    """Only ASCII: case folds beyond it differ between `str.lower` and `regex`."""
    bits: set[int] = set()
    run = b""
    for letter in [*literal, "\uffff"]:
        if letter.isascii():
            run += letter.encode()
            continue
        text = np.frombuffer(run, dtype=np.uint8)
        bits.update(bit for size in SIZES for bit in _hashes(text, size).tolist())
        run = b""
    return bits


def write_signatures(folder: Path, texts: Sequence[str]) -> None:
    """The signatures of new rows, row by row."""
    np.save(folder / SIGNATURES, signatures(texts))


def merge_signatures(folder: Path, parts: Sequence[Path], positions_of: Sequence[Positions], common: int = 0) -> None:
    """Write the slices of the kept rows of several folders: parts, or a generation to start from. The slices of the
    first `common` rows are in a file of the base."""
    total = sum(map(len, positions_of)) - common
    name = _delta(SLICES) if common else SLICES
    slices = open_memmap(folder / name, "w+", np.uint8, (BITS, max(-(-total // 8), 1)))
    pending = np.zeros((BITS, 0), dtype=np.uint8)  # rows that do not yet fill a byte, one bit a byte
    start = 0
    for bits in _bits_of_rows(parts, positions_of, common):
        pending = np.concatenate([pending, bits], axis=1) if pending.shape[1] else bits
        whole = pending.shape[1] // 8 * 8
        slices[:, start : start + whole // 8] = np.packbits(pending[:, :whole], axis=1)
        start, pending = start + whole // 8, pending[:, whole:]
        _release(slices)
    if pending.shape[1]:
        slices[:, start:] = np.packbits(pending, axis=1)
    slices.flush()


def _bits_of_rows(parts: Sequence[Path], positions_of: Sequence[Positions], common: int) -> Iterator[Bytes]:
    """The bits of the rows of some folders after the first `common`, one column a row, a block at a time."""
    for number, (part, positions) in enumerate(zip(parts, positions_of, strict=True)):
        own = positions if number else positions[common:]
        has_slices = (part / SLICES).exists()
        for source, rows in _sources(part, SLICES if has_slices else SIGNATURES, own):
            for at in range(0, len(rows), BLOCK):
                some = rows[at : at + BLOCK]
                # Never transposed as a whole: that took a second of the 1.2 that an update of 10,000 units took.
                yield _columns(source, some) if has_slices else _columns(_slices(source[some]), np.arange(len(some)))


def _slices(rows: Bytes) -> Bytes:
    """Signatures as slices, eight rows a byte: each square of eight bits is transposed as one number, as in Warren,
    "Hacker's Delight", 7-3. Transposing bits as bytes took a twelfth of the time of an index."""
    groups = -(-len(rows) // 8)
    every = np.zeros((groups * 8, rows.shape[1]), dtype=np.uint8)
    every[: len(rows)] = rows
    squares = np.ascontiguousarray(every.reshape(groups, 8, -1)[:, ::-1].transpose(0, 2, 1)).view(np.uint64)
    for shift, mask in ((7, 0x00AA00AA00AA00AA), (14, 0x0000CCCC0000CCCC), (28, 0x00000000F0F0F0F0)):
        swaps = (squares ^ (squares >> np.uint64(shift))) & np.uint64(mask)
        squares ^= swaps ^ (swaps << np.uint64(shift))
    return np.ascontiguousarray(squares.view(np.uint8)[..., ::-1].transpose(1, 2, 0)).reshape(-1, groups)


def _columns(slices: Bytes, rows: NDArray[np.integer]) -> Bytes:
    """The bits of some rows (in rising order), one column a row."""
    first, last = int(rows[0]), int(rows[-1])
    bits = np.unpackbits(slices[:, first // 8 : last // 8 + 1], axis=1)
    inner = rows - first // 8 * 8
    if len(rows) == last - first + 1:
        return bits[:, inner[0] : inner[-1] + 1]
    return np.ascontiguousarray(bits[:, inner])
