"""A slow encoder reads each function once."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.encoder.functions import FUNCTIONS
from treeline.corpus.errors import DiskFull, TreelineError
from treeline.corpus.function import Function
from treeline.encoder.cache import CachedEncoder, digest
from treeline.encoder.protocol import Vectors
from treeline.encoder.static import StaticEncoder


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


def read_anew(file: Path, model: bytes = b"") -> int:
    """How many functions the encoder had to read to answer, with what the file has."""
    slow = Counting()
    cached = CachedEncoder(slow, file, model)
    vectors = cached.encode_functions(FUNCTIONS)
    cached.close()
    assert np.allclose(vectors, slow.inner.encode_functions(FUNCTIONS), atol=2e-3)
    return slow.read


def test_a_model_trained_again_in_the_same_folder_reads_for_itself(tmp_path: Path) -> None:
    file, folder = tmp_path / "vectors.sqlite", tmp_path / "model"
    weights = folder / "inner" / "model.safetensors"
    weights.parent.mkdir(parents=True)
    weights.write_bytes(b"one")
    first = digest(folder)
    assert [read_anew(file, first), read_anew(file, digest(folder))] == [len(FUNCTIONS), 0]
    weights.write_bytes(b"two")
    assert [read_anew(file, digest(folder)), read_anew(file, first)] == [len(FUNCTIONS), 0]
    weights.rename(folder / "model.safetensors")
    assert read_anew(file, digest(folder)) == len(FUNCTIONS)


@pytest.mark.parametrize("begin", [0, 4096])  # the head of the file, or a page of the vectors
def test_a_damaged_file_is_begun_anew(tmp_path: Path, begin: int, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "vectors.sqlite"
    read_anew(file)
    whole = file.read_bytes()
    file.write_bytes(whole[:begin] + b"\xff" * (len(whole) - begin))
    assert [read_anew(file), read_anew(file)] == [len(FUNCTIONS), 0]
    assert "damaged" in caplog.text


def test_a_full_disk_is_said(tmp_path: Path) -> None:
    cached = CachedEncoder(Counting(), tmp_path / "vectors.sqlite")
    cached._rows.execute("PRAGMA max_page_count = 2")
    with pytest.raises(DiskFull, match=r"vectors\.sqlite"):
        cached.encode_functions([replace(FUNCTIONS[0], docstring=str(number)) for number in range(50)])
    cached.close()


def test_a_file_that_cannot_be_opened_or_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(TreelineError, match="cannot open the vectors"):
        CachedEncoder(Counting(), tmp_path / "folder")
    cached = CachedEncoder(Counting(), tmp_path / "vectors.sqlite")
    cached._rows.execute("PRAGMA query_only = ON")
    with pytest.raises(TreelineError, match="cannot write the vectors"):
        cached.encode_functions(FUNCTIONS)
    cached.close()
