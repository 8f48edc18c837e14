"""The `Encoder` protocol and shared helpers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from treeline.corpus.errors import EncoderMismatch, InputError
from treeline.corpus.frozen import frozen
from treeline.corpus.function import Function

Vectors = NDArray[np.float32]

DEFAULT_ENCODER = "static"
DEEP_ENCODER = "deep"
NO_ENCODER = "none"
ONNX = "onnx:"  # prefix of a folder that holds an int8 model


class Encoder(Protocol):
    """Turns queries and functions into unit vectors of one space."""

    @property
    def name(self) -> str:
        """Recorded in an index, which then refuses other encoders."""

    @property
    def dimension(self) -> int: ...

    @property
    def usual(self) -> float | None:
        """The typical cosine of a best result; None if it was not measured."""

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """One unit row per text; zeros only for a text without a single known token."""

    def encode_functions(self, functions: Sequence[Function]) -> Vectors:
        """One unit row per function, from its name, docstring and code."""


def unit(vectors: NDArray[Any]) -> Vectors:
    """Rows (or one vector) divided by their length; zeros stay zeros."""
    lengths = np.sqrt(np.add.reduce(vectors * vectors, axis=-1, keepdims=True))
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0), dtype=np.float32)


@frozen
class AbsentEncoder:
    """Stands for an encoder that cannot be loaded; every call raises the reason."""

    name: str
    dimension: int
    why: InputError
    usual: None = None

    def encode_queries(self, texts: Sequence[str]) -> NoReturn:
        self._say()

    def encode_functions(self, functions: Sequence[Function]) -> NoReturn:
        self._say()

    def _say(self) -> NoReturn:
        raise EncoderMismatch(f"{self.why.message}; {self.why.hint}" if self.why.hint else self.why.message)
