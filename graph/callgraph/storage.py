"""The storage format of a call graph: named arrays in one run of bytes, one part per repository.

Names never resolve across repositories, so a part whose files have not changed is kept. A part numbers its nodes from
0. The artifact concatenates the parts, sorted by repository name, so a part can be cut out without reading any name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from treeline.corpus.frozen import frozen
from treeline.graph.references import last_of

# How an edge was found; a stored graph encodes it by its position in `HOWS`.
OWN_CLASS, SAME_FILE, SAME_PACKAGE, BY_IMPORT = "own class", "same file", "same package", "import"
ONLY_ONE = "only one of that name"
ALL_METHODS = "has all its methods"
POSSIBLE = "possible: the only method of that name"  # the receiver's type is not known
BY_TYPE = "declared type"  # of the receiver
HOWS = (OWN_CLASS, SAME_FILE, BY_IMPORT, SAME_PACKAGE, ONLY_ONE, ALL_METHODS, POSSIBLE, BY_TYPE)

ALIGNMENT = 16  # bytes; arrays start at multiples of it, so numpy can use them in place

Array = NDArray[Any]
Arrays = dict[str, Array]


def pack(arrays: Mapping[str, Array]) -> bytes:
    """One run of bytes: a header with each array's position, then the arrays."""
    rows: list[tuple[str, str, list[int], int]] = []
    offset = 0
    for name, array in arrays.items():
        rows.append((name, array.dtype.str, list(array.shape), offset))
        offset += _aligned_size(array.nbytes)
    header = json.dumps(rows).encode()
    parts = [len(header).to_bytes(8, "little"), header, b"\0" * (_aligned_size(8 + len(header)) - 8 - len(header))]
    for array in arrays.values():
        parts += [np.ascontiguousarray(array).tobytes(), b"\0" * (_aligned_size(array.nbytes) - array.nbytes)]
    return b"".join(parts)


def unpack(data: bytes) -> dict[str, Array]:
    """The arrays as read-only views into the bytes."""
    length = int.from_bytes(data[:8], "little")
    start = _aligned_size(8 + length)
    arrays: dict[str, Array] = {}
    for name, dtype, shape, offset in json.loads(data[8 : 8 + length]):
        count = int(np.prod(shape, dtype=np.int64))
        arrays[name] = np.frombuffer(data, dtype=dtype, count=count, offset=start + offset).reshape(shape)
    return arrays


def _aligned_size(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


class Strings(Sequence[str]):
    """Many strings as one array of bytes and one of ends, each decoded on access."""

    def __init__(self, text: Array, ends: Array) -> None:
        self._text, self._ends = text.data, ends

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, number: int) -> str:  # type: ignore[override]
        return str(self._text[self._ends[number] : self._ends[number + 1]], "utf-8", "surrogatepass")

    def holding(self, part: str, shortest: int, longest: int) -> list[int]:
        """The positions of the strings that contain `part` and have `shortest` to `longest` bytes, in one scan."""
        key = part.encode("utf-8", "surrogatepass")
        places = np.array([match.start() for match in re.finditer(re.escape(key), self._text)], dtype=np.int64)
        numbers = np.searchsorted(self._ends, places, side="right") - 1
        sizes = self._ends[numbers + 1] - self._ends[numbers]
        whole = (places + len(key) <= self._ends[numbers + 1]) & (sizes >= shortest) & (sizes <= longest)
        holders: list[int] = np.unique(numbers[whole]).tolist()
        return holders


def string_arrays(name: str, strings: Iterable[str]) -> dict[str, Array]:
    """The two arrays of `Strings`, to be packed under this name."""
    parts = [string.encode("utf-8", "surrogatepass") for string in strings]
    ends = np.zeros(len(parts) + 1, dtype=np.int64)
    np.cumsum([len(part) for part in parts], out=ends[1:])
    return {f"{name}.text": np.frombuffer(b"".join(parts), dtype=np.uint8), f"{name}.ends": ends}


def strings_of(name: str, arrays: Mapping[str, Array]) -> Strings:
    return Strings(arrays[f"{name}.text"], arrays[f"{name}.ends"])


FORMAT = 2  # raised when the arrays change, to tell an older index from a broken one
DTYPES: dict[str, DTypeLike] = {"node_kind": np.uint8, "node_line": np.int32}  # one value per node
EDGES = ("nodes", "relations", "hows")
# Lists per node (those of `OF_FILES`: per file), each with an array of ends: the arrays of their items.
TEXTS = ("names", "bases", "paths", "imports", "types")
LISTS: dict[str, tuple[str, ...]] = {name: (f"{name}.text",) for name in TEXTS}
LISTS |= {name: (name,) for name in ("members", "inherits", "ids", "facts")}
LISTS |= {name: tuple(f"{name}.{part}" for part in EDGES) for name in ("out", "in")}
OF_FILES = frozenset({"paths", "imports", "types", "facts"})
ITEMS: dict[str, DTypeLike] = {"ids": "S16", "facts": np.uint64}  # of the lists that are neither text nor edges
SEPARATOR = "\0"  # in `imports` and `types`
POINTING = frozenset({"members", "inherits", "out.nodes", "in.nodes"})  # arrays that hold node numbers


@frozen
class Part:
    """The graph of one repository; `ids` are the functions' ids, in node order."""

    repo: str
    arrays: Arrays

    @property
    def nodes(self) -> int:
        return len(self.arrays["node_file"])

    @property
    def files(self) -> int:
        return len(self.arrays["file_language"])

    def dump(self) -> bytes:
        return pack(self.arrays)

    def functions(self) -> list[tuple[str, str, str]]:
        """The id, path and name of every function that has a node."""
        names, paths = strings_of("names", self.arrays), strings_of("paths", self.arrays)
        holders = np.repeat(np.arange(self.nodes), np.diff(self.arrays["ids.ends"])).tolist()
        files = self.arrays["node_file"][holders].tolist()
        ids = (id_.ljust(16, b"\0").hex() for id_ in self.arrays["ids"].tolist())
        return [(id_, paths[file], names[node]) for id_, node, file in zip(ids, holders, files, strict=True)]

    def with_ids(self, functions: Iterable[tuple[str, str, str]]) -> Part:
        """The same graph with the ids of these functions (id, path, name). Unparsed functions have no node."""
        names, paths = strings_of("names", self.arrays), list(strings_of("paths", self.arrays))
        node_of = {(paths[file], names[node]): node for node, file in enumerate(self.arrays["node_file"].tolist())}
        rows = sorted(
            (node, bytes.fromhex(id_))
            for id_, path, name in functions
            if (node := node_of.get((path, name))) is not None
        )
        counts = np.bincount([node for node, _ in rows], minlength=self.nodes) if rows else np.zeros(self.nodes)
        ids = np.array([id_ for _, id_ in rows], dtype="S16")
        return Part(self.repo, self.arrays | {"ids": ids, "ids.ends": ends_of(counts.astype(np.int64))})


def load_part(repo: str, data: bytes) -> Part:
    return Part(repo, unpack(data))


def assemble(parts: Iterable[Part]) -> bytes:
    """The artifact: all parts concatenated, with lookups from name and from id to node."""
    in_order = sorted(parts, key=lambda part: part.repo)
    node_at = np.cumsum([0, *(part.nodes for part in in_order)])
    file_at = np.cumsum([0, *(part.files for part in in_order)])
    languages = sorted({language for part in in_order for language in strings_of("languages", part.arrays)})
    whole: Arrays = {
        "format": np.array([FORMAT], dtype=np.int32),
        **string_arrays("repos", (part.repo for part in in_order)),
        **string_arrays("languages", languages),
        **string_arrays("hows", HOWS),
        "file_repo": np.repeat(np.arange(len(in_order), dtype=np.int32), [part.files for part in in_order]),
        "file_language": _join([_language_codes(part.arrays, languages) for part in in_order], np.int16),
        "node_file": _join([part.arrays["node_file"] for part in in_order], np.int32, file_at),
    }
    for name, dtype in DTYPES.items():
        whole[name] = _join([part.arrays[name] for part in in_order], dtype)
    for name, columns in LISTS.items():
        counts = [np.diff(part.arrays[f"{name}.ends"]) for part in in_order]
        whole[f"{name}.ends"] = ends_of(np.concatenate([np.zeros(0, dtype=np.int64), *counts]))
        for items in columns:
            dtype = ITEMS.get(items, np.int32 if items in POINTING else np.uint8)
            shifts = node_at if items in POINTING else None
            whole[items] = _join([part.arrays[items] for part in in_order], dtype, shifts)
    id_counts = np.diff(whole["ids.ends"])
    whole["ids.node"] = np.repeat(np.arange(len(id_counts), dtype=np.int32), id_counts)
    whole["ids.order"] = np.argsort(whole["ids"], kind="stable").astype(np.int32)
    return pack(whole | _by_last_name(strings_of("names", whole)))


def split(data: bytes) -> dict[str, Part]:
    """The parts of an artifact by repository; none if an older version made it."""
    arrays = unpack(data)
    file_repo = arrays.get("file_repo", np.zeros(0, dtype=np.int32))
    node_repo = file_repo[arrays["node_file"]] if "node_file" in arrays else file_repo
    if "facts" not in arrays or (np.diff(node_repo) < 0).any() or (np.diff(file_repo) < 0).any():
        return {}
    repos = list(strings_of("repos", arrays))
    nodes = np.searchsorted(node_repo, np.arange(len(repos) + 1))
    files = np.searchsorted(file_repo, np.arange(len(repos) + 1))
    return {
        repo: Part(repo, _cut(arrays, slice(*nodes[at : at + 2]), slice(*files[at : at + 2])))
        for at, repo in enumerate(repos)
    }


def _cut(arrays: Mapping[str, Array], nodes: slice, files: slice) -> Arrays:
    result: Arrays = {
        "languages.text": arrays["languages.text"],
        "languages.ends": arrays["languages.ends"],
        "file_language": arrays["file_language"][files],
        "node_file": arrays["node_file"][nodes] - np.int32(files.start),
    }
    result |= {name: arrays[name][nodes] for name in DTYPES}
    for name, columns in LISTS.items():
        some = files if name in OF_FILES else nodes
        ends = arrays[f"{name}.ends"][some.start : some.stop + 1]
        result[f"{name}.ends"] = ends - ends[0]
        for items in columns:
            values = arrays[items][int(ends[0]) : int(ends[-1])]
            result[items] = values - np.int32(some.start) if items in POINTING else values
    return result


def _join(pieces: Sequence[Array], dtype: DTypeLike, shifts: Array | None = None) -> Array:
    if shifts is not None:
        pieces = [piece + shift for piece, shift in zip(pieces, shifts, strict=False)]
    return np.concatenate([np.zeros(0, dtype=dtype), *pieces]).astype(dtype)


def _language_codes(arrays: Arrays, languages: Sequence[str]) -> Array:
    numbers = np.array([languages.index(language) for language in strings_of("languages", arrays)], dtype=np.int16)
    return numbers[arrays["file_language"]]


def _by_last_name(names: Strings) -> Arrays:
    """Nodes by the lower-case last part of their name, which `CallGraph.named` finds by bisection."""
    lasts = [(last_of(name).lower(), node) for node, name in enumerate(names) if name]
    numbers = {last: number for number, last in enumerate(sorted({last for last, _ in lasts}))}
    nodes = np.array([node for _, node in lasts], dtype=np.int64)
    keys = np.array([numbers[last] for last, _ in lasts], dtype=np.int64)
    return {**string_arrays("lasts", numbers), **group_arrays("lasts.nodes", nodes, keys, len(numbers))}


def group_arrays(name: str, values: NDArray[Any], keys: NDArray[Any], groups: int) -> Arrays:
    """The values sorted by key, and where each key's values end."""
    order = np.argsort(keys, kind="stable")
    return {name: values[order].astype(np.int32), f"{name}.ends": ends_of(np.bincount(keys, minlength=groups))}


def ends_of(counts: NDArray[Any]) -> NDArray[np.int64]:
    ends = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=ends[1:])
    return ends
