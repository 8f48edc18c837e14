"""A slow encoder reads each function once."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from corpus.function import Function
from encoder.cache import CachedEncoder
from encoder.protocol import Vectors
from encoder.static import StaticEncoder
from tests.encoder.functions import FUNCTIONS


class Counting:
    """The shipped encoder, counting what it is asked to read."""

    def __init__(self) -> None:
        self.inner = StaticEncoder.shipped()
        self.read = 0

    @property
    def name(self) -> str:
        return "counting"

    @property
    def dimension(self) -> int:
        return self.inner.dimension

    @property
    def usual(self) -> float:
        return self.inner.usual

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        return self.inner.encode_queries(texts)

    def encode_functions(self, functions: Sequence[Function]) -> Vectors:
        self.read += len(functions)
        return self.inner.encode_functions(functions)


def test_a_function_is_read_once_across_runs(tmp_path: Path) -> None:
    for expected in (len(FUNCTIONS), 0):
        slow = Counting()
        cached = CachedEncoder(slow, tmp_path / "vectors.sqlite")
        vectors = cached.encode_functions([*FUNCTIONS, *FUNCTIONS])
        cached.close()
        assert slow.read == expected
        assert np.allclose(vectors[: len(FUNCTIONS)], slow.inner.encode_functions(FUNCTIONS), atol=2e-3)
        assert np.array_equal(vectors[: len(FUNCTIONS)], vectors[len(FUNCTIONS) :])
