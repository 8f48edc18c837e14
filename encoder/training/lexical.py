"""A teacher that knows words only: BM25-like weights, in a signed sketch so that millions of questions fit a device."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from torch import Tensor
from torch.nn.functional import normalize

from encoder.static import FIELDS
from encoder.training.data import TrainingData
from encoder.training.teachers import Taught, spread

SKETCH = 1024  # dimensions of the signed hash that stands for the exact product
SATURATION = 1.2  # BM25's k1: a word said often counts little more than a word said twice
LENGTH = 0.7  # BM25's b: how far a long function has to share its words
ROWS = 200_000  # rows of the sketch made at once: millions of them would fill the memory


def lexical(data: TrainingData, device: str) -> Taught:
    """What shared words say of every question and function; a docstring does not speak for its own function."""
    words = len(data.tokenizer.vocabulary)
    asked = _counts([data.query_bags], words)
    full = _counts(data.function_bags, words)
    bare = _counts([bag for bag, field in zip(data.function_bags, FIELDS, strict=True) if field != "docstring"], words)
    rarity = _rarity(full)
    columns = _hashed(words)
    mean = float(np.mean([_norms(part).mean().item() for part in _sketched(full, rarity, columns)]))

    def known(counts: csr_matrix) -> Tensor:
        sketch = _sketched(counts, rarity, columns)
        return _on((part / ((1 - LENGTH) * mean + LENGTH * _norms(part)) for part in sketch), device)

    queries = _on((normalize(part) for part in _sketched(asked, rarity, columns)), device)
    whole = known(full)
    return Taught(queries, whole, known(bare), spread(queries, whole))


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


def _sketched(counts: csr_matrix, rarity: NDArray[np.float64], columns: csr_matrix) -> Iterator[Tensor]:
    """Saturated counts by rarity, in pieces."""
    weighted = counts.copy()
    weighted.data = counts.data * (SATURATION + 1) / (counts.data + SATURATION) * rarity[counts.indices]
    made = weighted @ columns
    for first in range(0, max(1, made.shape[0]), ROWS):
        yield torch.from_numpy(made[first : first + ROWS].toarray().astype(np.float32))


def _norms(rows: Tensor) -> Tensor:
    norms: Tensor = torch.linalg.vector_norm(rows, dim=1, keepdim=True)
    return norms.clamp_min(1e-9)


def _on(parts: Iterable[Tensor], device: str) -> Tensor:
    return torch.cat([part.to(device).to(torch.half if device != "cpu" else torch.float) for part in parts])
