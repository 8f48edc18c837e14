"""A teacher that knows words only: BM25-like weights, in a signed sketch so that millions of questions fit a device."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags_array
from scipy.sparse.linalg import norm
from torch import Tensor

from treeline.encoder.static import FIELDS
from treeline.encoder.training.data import TrainingData
from treeline.encoder.training.teachers import Taught, spread

SKETCH = 1024  # dimensions of the signed hash that stands for the exact product
SATURATION = 1.2  # BM25's k1: a word said often counts little more than a word said twice
LENGTH = 0.7  # BM25's b: how far a long function has to share its words
ROWS = 200_000  # rows of the sketch made at once: millions of them would fill the memory


def lexical(data: TrainingData, device: str) -> Taught:
    """What shared words say of every question and function; a docstring does not speak for its own function."""
    words = len(data.tokenizer.vocabulary)
    counts = _counts(data.function_bags, words)
    bare = _counts([bag for bag, field in zip(data.function_bags, FIELDS, strict=True) if field != "docstring"], words)
    rarity, columns = _rarity(counts), _hashed(words)
    asked, full, stripped = (
        _sketched(each, rarity, columns) for each in (_counts([data.query_bags], words), counts, bare)
    )
    mean = _lengths(full).mean()
    whole, without = (_on(rows, (1 - LENGTH) * mean + LENGTH * _lengths(rows), device) for rows in (full, stripped))
    queries = _on(asked, _lengths(asked), device)
    return Taught(queries, whole, without, spread(queries, whole))


def _counts(bags: Sequence[csr_matrix], words: int) -> csr_matrix:
    """How often each text has each word, over several fields; pairs are left out."""
    total = csr_matrix((bags[0].shape[0], words))
    for bag in bags:
        part = bag[:, :words].tocsr().astype(np.float64)
        part.data = np.expm1(part.data)
        total = total + part
    return total.tocsr()


def _rarity(counts: csr_matrix) -> NDArray[np.float64]:
    seen = np.asarray((counts > 0).sum(axis=0)).ravel()
    return np.log1p((counts.shape[0] - seen + 0.5) / (seen + 0.5))


def _hashed(words: int) -> csr_matrix:
    """Every word's column of the sketch, and its sign."""
    rng = np.random.default_rng(0)
    column, sign = rng.integers(SKETCH, size=words), rng.choice([-1.0, 1.0], size=words)
    return csr_matrix((sign, (np.arange(words), column)), shape=(words, SKETCH))


def _sketched(counts: csr_matrix, rarity: NDArray[np.float64], columns: csr_matrix) -> csr_matrix:
    """Saturated counts by rarity, in the sketch's columns."""
    weighted = counts.copy()
    weighted.data = counts.data * (SATURATION + 1) / (counts.data + SATURATION) * rarity[counts.indices]
    sketch: csr_matrix = (weighted @ columns).tocsr()
    return sketch


def _lengths(rows: csr_matrix) -> NDArray[np.float64]:
    return np.maximum(norm(rows, axis=1), 1e-9)


def _on(rows: csr_matrix, divisors: NDArray[np.float64], device: str) -> Tensor:
    """Each row by its divisor, as dense vectors on the device; made in pieces."""
    scaled = (diags_array(1 / divisors) @ rows).tocsr()
    kind = torch.half if device != "cpu" else torch.float
    firsts = range(0, max(1, scaled.shape[0]), ROWS)
    pieces = (scaled[first : first + ROWS].toarray().astype(np.float32) for first in firsts)
    return torch.cat([torch.from_numpy(piece).to(device).to(kind) for piece in pieces])
