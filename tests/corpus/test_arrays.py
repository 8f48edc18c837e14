"""Arrays read without Python's parser give what numpy wrote, and refuse what it did not."""

import ast
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from treeline.corpus.arrays import map_array, read_archive

ARRAYS: dict[str, NDArray[Any]] = {
    "vector": np.arange(5, dtype=np.float16),
    "matrix": np.arange(6, dtype=np.int64).reshape(2, 3),
    "by column": np.asfortranarray(np.arange(6, dtype=np.int32).reshape(2, 3)),
    "ids": np.array([b"one", b"three"], dtype="S16"),
    "bits": np.array([True, False]),
    "number": np.array(3.5),
    "nothing": np.empty((0, 7), np.uint8),
}


@pytest.fixture
def no_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python 3.11 cannot parse in two threads at once, so a thread that reads arrays must not."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("Python's parser is used")

    monkeypatch.setattr(ast, "parse", refuse)
    monkeypatch.setattr(ast, "literal_eval", refuse)


def saved(array: NDArray[Any], folder: Path) -> Path:
    np.save(folder / "array.npy", array)
    return folder / "array.npy"


@pytest.mark.usefixtures("no_parser")
@pytest.mark.parametrize("name", ARRAYS)
def test_an_array_is_mapped_as_it_was_saved(name: str, tmp_path: Path) -> None:
    array = ARRAYS[name]
    mapped = map_array(saved(array, tmp_path))
    assert (mapped.dtype, mapped.shape) == (array.dtype, array.shape)
    assert mapped.tolist() == array.tolist()
    assert mapped.flags.f_contiguous == array.flags.f_contiguous


@pytest.mark.usefixtures("no_parser")
def test_an_archive_gives_every_array_by_name() -> None:
    buffer = BytesIO()
    np.savez(buffer, ids=ARRAYS["ids"], bits=ARRAYS["bits"])
    arrays = read_archive(buffer.getvalue())
    assert {name: array.tolist() for name, array in arrays.items()} == {
        "ids": [b"one", b"three"],
        "bits": [True, False],
    }


def test_a_mapped_array_cannot_be_written(tmp_path: Path) -> None:
    mapped = map_array(saved(np.arange(3), tmp_path))
    with pytest.raises(ValueError, match="read-only"):
        mapped[0] = 1


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:9],
        lambda data: b"\0" + data[1:],
        lambda data: data.replace(b"'<i8'", b"'<f9'"),
        lambda data: data.replace(b"'<i8'", b"'|O8'"),
        lambda data: data.replace(b"(3,)", b"3, ) "),
        lambda data: data[:-1],
    ],
    ids=["empty", "cut in the header", "magic", "type", "objects", "shape", "cut in the numbers"],
)
def test_a_damaged_array_is_refused_by_its_name(damage: Any, tmp_path: Path) -> None:
    path = saved(np.arange(3), tmp_path)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ValueError, match=r"array\.npy"):
        map_array(path)
