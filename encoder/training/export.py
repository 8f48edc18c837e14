"""Writing a trained encoder: int8 rows with a scale each, small parts in half precision, and a model card's facts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

from encoder.static import CONFIG, TENSORS, VOCABULARY

INT8_MOST = 127


def quantise(table: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float16]]:
    """Each row to int8 with its own scale; the error is at most half a step of the row's largest value."""
    scale = (np.abs(table).max(axis=1) / INT8_MOST).astype(np.float16)
    steps = np.where(scale > 0, scale, 1.0).astype(np.float32)
    return np.clip(np.rint(table / steps[:, None]), -INT8_MOST, INT8_MOST).astype(np.int8), scale


def write(
    folder: Path,
    vocabulary: Sequence[str],
    table: NDArray[np.float32],
    small: Mapping[str, NDArray[np.float32]],
    config: Mapping[str, Any],
) -> int:
    """Write the model folder; returns its size in bytes. `small` holds weights, gates and the layers."""
    folder.mkdir(parents=True, exist_ok=True)
    rows, scale = quantise(table)
    tensors: dict[str, NDArray[Any]] = {"table": rows, "scale": scale}
    tensors.update({name: np.ascontiguousarray(value, dtype=np.float16) for name, value in small.items()})
    save_file(tensors, folder / TENSORS)
    (folder / VOCABULARY).write_text("\n".join(vocabulary), encoding="utf-8")
    (folder / CONFIG).write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
    return sum((folder / name).stat().st_size for name in (TENSORS, VOCABULARY, CONFIG))
