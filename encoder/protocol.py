"""What every encoder can do, and helpers that all of them share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from treeline.corpus.errors import EncoderMismatch, InputError
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


def unit(vectors: NDArray[Any]) -> Vectors:
    """Each row, or the only one, divided by its length; a row of zeros stays one."""
    lengths = np.sqrt(np.add.reduce(vectors * vectors, axis=-1, keepdims=True))
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0), dtype=np.float32)


@dataclass(frozen=True, slots=True)
class AbsentEncoder:
    """Has a name and a dimension; whatever it is asked, it says why it cannot."""

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
