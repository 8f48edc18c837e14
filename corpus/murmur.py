"""MurmurHash3, 32 bits (Austin Appleby, 2011, public domain): the hash that scikit-learn's `FeatureHasher` uses.

A question has a dozen terms. Hashing them here takes microseconds; importing scikit-learn for it takes seconds.
"""

from __future__ import annotations

MASK = 0xFFFFFFFF


def murmur3(data: bytes) -> int:
    """The hash with seed 0, as a signed number."""
    value = 0
    whole = len(data) - len(data) % 4
    for start in range(0, whole, 4):
        value ^= _mixed(int.from_bytes(data[start : start + 4], "little"))
        value = (_rotated(value, 13) * 5 + 0xE6546B64) & MASK
    value ^= _mixed(int.from_bytes(data[whole:], "little"))
    value ^= len(data)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        value = (value ^ value >> shift) * factor & MASK
    value ^= value >> 16
    return value - (1 << 32) if value >> 31 else value


def _mixed(block: int) -> int:
    return _rotated(block * 0xCC9E2D51 & MASK, 15) * 0x1B873593 & MASK


def _rotated(value: int, places: int) -> int:
    return (value << places | value >> 32 - places) & MASK
