"""Arrays in files as `numpy.save` and `numpy.savez` write them, read without Python's parser.

numpy reads the header of an array as Python code, and so does Flask with its routes. Python 3.11 fails when two threads
parse at once (python/cpython#106905). Here a regular expression reads the header.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import IO, Any, NamedTuple
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray

FIRST_FORMAT = b"\x93NUMPY\x01\x00"  # of all but arrays with very many fields, which we have none of
# Numbers, truth values and bytes alone: no Python objects, no fields.
HEADER = re.compile(
    rb"\{'descr': '([<>|][biufS][0-9]{1,4})', 'fortran_order': (True|False), 'shape': \(([0-9, ]{0,99})\), \}\s*"
)


def map_array(path: Path) -> NDArray[Any]:
    """The array in a file, memory-mapped, read-only.

    A plain array, because slicing numpy's own `memmap` is slower, and so is opening it: a generation has two dozen.
    """
    with path.open("rb") as file:
        header = _read_header(file, path.name)
        return header.array(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def read_archive(data: bytes) -> Mapping[str, NDArray[Any]]:
    """The arrays of an archive by `numpy.savez`, by name, read-only."""
    arrays = {}
    with ZipFile(BytesIO(data)) as archive:
        for name in archive.namelist():
            member = archive.read(name)
            arrays[name.removesuffix(".npy")] = _read_header(BytesIO(member), name).array(member)
    return arrays


class _Header(NamedTuple):
    """The header of an array, whose numbers begin at byte `start` of the file `name`."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    is_fortran: bool
    start: int

    def array(self, file: mmap.mmap | bytes) -> NDArray[Any]:
        """The array in the memory of the whole file."""
        try:
            return np.ndarray(self.shape, self.dtype, file, self.start, order="F" if self.is_fortran else "C")
        except TypeError as error:
            raise ValueError(f"{self.name} is shorter than its header says") from error


def _read_header(file: IO[bytes], name: str) -> _Header:
    prefix = file.read(len(FIRST_FORMAT) + 2)
    size = int.from_bytes(prefix[len(FIRST_FORMAT) :], "little")
    match = HEADER.fullmatch(file.read(size)) if prefix.startswith(FIRST_FORMAT) else None
    refusal = ValueError(f"{name} is not an array as `numpy.save` writes it")
    if not match:
        raise refusal
    dtype, is_fortran, shape = (group.decode() for group in match.groups())
    try:
        kind = np.dtype(dtype)
    except TypeError:
        raise refusal from None
    lengths = tuple(int(length) for length in shape.split(",") if length.strip())
    return _Header(name, kind, lengths, is_fortran == "True", len(prefix) + size)
