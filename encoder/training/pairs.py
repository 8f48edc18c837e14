"""Choosing the pairs of neighbours that get a vector: those that both questions and functions have, often."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from treeline.encoder.tokens import pair_keys

RAREST = 4  # times that questions and functions must have a pair: a vector learnt from fewer is noise


def choose_pairs(
    questions: Sequence[Sequence[int]], functions: Sequence[Sequence[int]], size: int
) -> NDArray[np.uint16]:
    """The `size` pairs of token ids with the largest geometric mean of both counts, in order."""
    asked, asked_counts = _counted(questions)
    read, read_counts = _counted(functions)
    shared, left, right = np.intersect1d(asked, read, assume_unique=True, return_indices=True)
    often = np.minimum(asked_counts[left], read_counts[right])
    score = np.where(often >= RAREST, np.sqrt(asked_counts[left].astype(float) * read_counts[right]), 0.0)
    kept = np.sort(shared[np.argsort(-score, kind="stable")[:size]][: int((score > 0).sum())])
    return np.stack([kept >> 32, kept & 0xFFFF], axis=1).astype(np.uint16)


def _counted(lists: Sequence[Sequence[int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Every pair that some text has, and how often."""
    lengths = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
    flat = np.concatenate([np.asarray(ids, dtype=np.int64) for ids in lists] or [np.empty(0, np.int64)])
    owners = np.repeat(np.arange(len(lists)), lengths)
    beside = owners[1:] == owners[:-1]
    return np.unique(pair_keys(flat[:-1], flat[1:])[beside], return_counts=True)
