"""What every encoder can do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from treeline.corpus.function import Function

Vectors = NDArray[np.float32]

DEFAULT_ENCODER = "static"
NO_ENCODER = "none"
ONNX = "onnx:"  # in front of a folder with a model in int8


class Encoder(Protocol):
    """Turns questions and functions into unit vectors of one space."""

    @property
    def name(self) -> str:
        """What an index records; another name is refused when searching."""

    @property
    def dimension(self) -> int: ...

    @property
    def usual(self) -> float | None:
        """The cosine of a best answer that is neither sure nor doubtful; nothing where nobody has measured it."""

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """One unit row per text; zeros only for a text without a single known token."""

    def encode_functions(self, functions: Sequence[Function]) -> Vectors:
        """One unit row per function, from its name, docstring and code."""
