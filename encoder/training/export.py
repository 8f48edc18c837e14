"""Writing a trained encoder: matrices in int8 with a scale for each row, the rest in half precision, and its facts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

from treeline.encoder.static import CONFIG, MATRICES, TENSORS, VOCABULARY
from treeline.encoder.tokens import Tokenizer

INT8_MOST = 127


def quantise(table: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float16]]:
    """Each row to int8 with its own scale; the error is at most half a step of the row's largest value."""
    scale = (np.abs(table).max(axis=1) / INT8_MOST).astype(np.float16)
    steps = np.where(scale > 0, scale, 1.0).astype(np.float32)
    return np.clip(np.rint(table / steps[:, None]), -INT8_MOST, INT8_MOST).astype(np.int8), scale


def write(
    folder: Path,
    tokenizer: Tokenizer,
    table: NDArray[np.float32],
    small: Mapping[str, NDArray[np.float32]],
    config: Mapping[str, Any],
) -> int:
    """Write the model folder; returns its size in bytes. `small` holds weights, gates and the layers."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors: dict[str, NDArray[Any]] = {"pairs": tokenizer.pairs}
    for name, value in {"table": table, **small}.items():
        if name in MATRICES:
            tensors[name], tensors[f"{name}_scale"] = quantise(value)
        else:
            tensors[name] = value.astype(np.float16)
    # safetensors writes the memory as it lies and reads it row by row: a transposed matrix would come back scrambled
    save_file({name: np.ascontiguousarray(value) for name, value in tensors.items()}, folder / TENSORS)
    (folder / VOCABULARY).write_text("\n".join(tokenizer.vocabulary), encoding="utf-8")
    (folder / CONFIG).write_text(
        json.dumps({**config, "unknown": tokenizer.unknown}, indent=1) + "\n", encoding="utf-8"
    )
    return sum((folder / name).stat().st_size for name in (TENSORS, VOCABULARY, CONFIG))
