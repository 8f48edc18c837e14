"""Candidates for exact search: a signature of hashed character n-grams for each unit, stored bit by bit.

Signature files as in Faloutsos & Christodoulakis, "Signature Files" (TOIS 1984), cut into bit slices as in BitFunnel
(Goodwin et al., SIGIR 2017). A string's candidates are the AND of a few slices of N bits. Measured on 20,000 Python
functions with 4,096 bits (512 bytes a unit): random strings of 8, 12 and 20 characters leave 32, 11 and 2 false
candidates; trigrams alone in 2,048 bits leave 195, 67 and 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from treeline.corpus.arrays import map_array
from treeline.engine.embedded.columns import Positions
from treeline.engine.text import fold

BITS = 4_096
SIZES = (3, 5)  # characters (bytes) in an n-gram
SLICES = "grams.npy"  # of a generation: one row a bit
SIGNATURES = "signatures.npy"  # of a part: one row a unit
ROWS_AT_ONCE = 1_024
BLOCK = 8_192  # rows turned from slices into signatures at once
_MIX = [np.uint32(odd) for odd in (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1)]
_SHIFT = np.uint32(32 - BITS.bit_length() + 1)

Bytes = NDArray[np.uint8]


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
        bits = np.zeros((len(lines), BITS), dtype=np.bool_)
        for size in SIZES:
            hashes = _hashes(together, size)
            bits[rows[: len(hashes)], hashes] = True
        rows_of_bits[start : start + len(lines)] = np.packbits(bits, axis=1)
    return rows_of_bits


class Grams:
    """The bit slices of a generation."""

    def __init__(self, folder: Path, rows: int) -> None:
        self._slices: Bytes = map_array(folder / SLICES)
        self._rows = rows

    def candidates(self, literals: Sequence[str]) -> Positions:
        """The rows that may contain all of these folded strings; all rows where the strings are too short."""
        bits = {bit for literal in literals for bit in _bits(literal)}
        if not bits:
            return np.arange(self._rows)
        matching = np.bitwise_and.reduce(self._slices[sorted(bits)], axis=0)
        return np.unpackbits(matching, count=self._rows).nonzero()[0]


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


def write_part(folder: Path, texts: Sequence[str]) -> None:
    """The signatures of new rows, row by row."""
    np.save(folder / SIGNATURES, signatures(texts))


def merge_parts(folder: Path, parts: Sequence[Path], positions_of: Sequence[Positions]) -> None:
    """Write the slices of the kept rows of several folders: parts, or a generation to start from."""
    total = sum(map(len, positions_of))
    slices = open_memmap(folder / SLICES, "w+", np.uint8, (BITS, max(-(-total // 8), 1)))
    pending = np.zeros((BITS, 0), dtype=np.uint8)  # rows that do not yet fill a byte, one bit a byte
    start = 0
    for part, positions in zip(parts, positions_of, strict=True):
        has_slices = (part / SLICES).exists()
        source: Bytes = map_array(part / (SLICES if has_slices else SIGNATURES))
        for at in range(0, len(positions), BLOCK):
            rows = positions[at : at + BLOCK]
            # Never transposed as a whole: that took a second of the 1.2 that an update of 10,000 units took.
            bits = _columns(source, rows) if has_slices else np.unpackbits(source[rows], axis=1).T
            pending = np.concatenate([pending, bits], axis=1) if pending.shape[1] else bits
            whole = pending.shape[1] // 8 * 8
            slices[:, start : start + whole // 8] = np.packbits(pending[:, :whole], axis=1)
            start, pending = start + whole // 8, pending[:, whole:]
    if pending.shape[1]:
        slices[:, start:] = np.packbits(pending, axis=1)
    slices.flush()


def _columns(slices: Bytes, rows: Positions) -> Bytes:
    """The bits of some rows (in rising order), one column a row."""
    first, last = int(rows[0]), int(rows[-1])
    bits = np.unpackbits(slices[:, first // 8 : last // 8 + 1], axis=1)
    inner = rows - first // 8 * 8
    if len(rows) == last - first + 1:
        return bits[:, inner[0] : inner[-1] + 1]
    return np.ascontiguousarray(bits[:, inner])
