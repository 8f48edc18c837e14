"""Rows of length one, which make a product of two of them their cosine."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treeline.encoder.protocol import Vectors


def unit(vectors: NDArray[Any]) -> Vectors:
    """Each row, or the only one, divided by its length; a row of zeros stays one."""
    lengths = np.sqrt(np.add.reduce(vectors * vectors, axis=-1, keepdims=True))
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0), dtype=np.float32)
