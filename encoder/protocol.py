"""What every encoder can do, and how one is had by name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from corpus.function import Function

Vectors = NDArray[np.float32]

DEFAULT_ENCODER = "static"
NO_ENCODER = "none"


class Encoder(Protocol):
    """Turns questions and functions into unit vectors of one space."""

    @property
    def name(self) -> str:
        """What an index records; another name is refused when searching."""

    @property
    def dimension(self) -> int: ...

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """One unit row per text; zeros only for a text without a single known token."""

    def encode_functions(self, functions: Sequence[Function]) -> Vectors:
        """One unit row per function, from its name, docstring and code."""


def load(name: str = DEFAULT_ENCODER, cache: Path | None = None) -> Encoder | None:
    """The encoder of that name: `static` (shipped), a sentence-transformers name or folder, `onnx:FOLDER`, `none`.

    With `cache`, a transformer's function vectors are kept in that file by content.
    """
    if name == NO_ENCODER:
        return None
    if name == DEFAULT_ENCODER or name.startswith(DEFAULT_ENCODER + ":"):
        from encoder.static import StaticEncoder

        return StaticEncoder.shipped(name)
    encoder = _transformer(name)
    if cache is None:
        return encoder
    from encoder.cache import CachedEncoder

    return CachedEncoder(encoder, cache)


def _transformer(name: str) -> Encoder:
    if name.startswith("onnx:"):
        from encoder.onnx import OnnxEncoder

        return OnnxEncoder(name)
    from encoder.transformer import TransformerEncoder

    return TransformerEncoder(name)
