"""Named arrays in one piece of bytes, read back without copying: an artifact of any size loads at once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

ALIGNED = 16  # bytes; arrays begin at multiples of it, so that numpy may use them in place

Array = NDArray[Any]


def pack(arrays: Mapping[str, Array]) -> bytes:
    """A header that says what lies where, then the arrays."""
    rows: list[tuple[str, str, list[int], int]] = []
    offset = 0
    for name, array in arrays.items():
        rows.append((name, array.dtype.str, list(array.shape), offset))
        offset += _padded(array.nbytes)
    header = json.dumps(rows).encode()
    parts = [len(header).to_bytes(8, "little"), header, b"\0" * (_padded(8 + len(header)) - 8 - len(header))]
    for array in arrays.values():
        parts += [np.ascontiguousarray(array).tobytes(), b"\0" * (_padded(array.nbytes) - array.nbytes)]
    return b"".join(parts)


def unpack(data: bytes) -> dict[str, Array]:
    """The arrays as read-only views into the bytes."""
    length = int.from_bytes(data[:8], "little")
    start = _padded(8 + length)
    found: dict[str, Array] = {}
    for name, dtype, shape, offset in json.loads(data[8 : 8 + length]):
        count = int(np.prod(shape, dtype=np.int64))
        found[name] = np.frombuffer(data, dtype=dtype, count=count, offset=start + offset).reshape(shape)
    return found


def _padded(size: int) -> int:
    return -(-size // ALIGNED) * ALIGNED


class Strings(Sequence[str]):
    """Many strings as one array of bytes and one of ends; each is decoded when it is asked for."""

    def __init__(self, text: Array, ends: Array) -> None:
        self._text, self._ends = text.data, ends

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, number: int) -> str:  # type: ignore[override]
        return str(self._text[self._ends[number] : self._ends[number + 1]], "utf-8", "surrogatepass")

    def holding(self, part: str, shortest: int, longest: int) -> list[int]:
        """The numbers of those that have this part and so many bytes; found in all of the text at once."""
        wanted = part.encode("utf-8", "surrogatepass")
        places = np.array([found.start() for found in re.finditer(re.escape(wanted), self._text)], dtype=np.int64)
        numbers = np.searchsorted(self._ends, places, side="right") - 1
        sizes = self._ends[numbers + 1] - self._ends[numbers]
        whole = (places + len(wanted) <= self._ends[numbers + 1]) & (sizes >= shortest) & (sizes <= longest)
        found: list[int] = np.unique(numbers[whole]).tolist()
        return found


def string_arrays(name: str, strings: Iterable[str]) -> dict[str, Array]:
    """The two arrays of `Strings`, to be packed under this name."""
    encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
    ends = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([len(part) for part in encoded], out=ends[1:])
    return {f"{name}.text": np.frombuffer(b"".join(encoded), dtype=np.uint8), f"{name}.ends": ends}


def strings_of(name: str, arrays: Mapping[str, Array]) -> Strings:
    return Strings(arrays[f"{name}.text"], arrays[f"{name}.ends"])
