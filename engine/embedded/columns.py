"""Where every function lives, in memory-mapped columns: hundreds of hits get their address in a fraction of a
millisecond, and a million functions open at once."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treeline.corpus.function import Address, Function
from treeline.engine.hits import Ids
from treeline.engine.protocol import Filters

# A URL is cut at its `#`: what stands before is shared by all functions of a file, so a dictionary keeps it once.
COLUMNS = ("repo", "path", "func_name", "language", "partition", "url", "fragment", "kind")
REPO, PATH, NAME, LANGUAGE, PARTITION, URL, FRAGMENT, KIND = range(len(COLUMNS))
DECODED_AT_MOST = 200_000
ENTRIES_KEPT = 20_000  # some 10 MB; what is shown once is often shown again

Positions = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Row:
    """One function on its way into a table; `serial` is its number for life, in order of writing."""

    serial: int
    id: bytes
    values: tuple[str, ...]

    @classmethod
    def of(cls, serial: int, function: Function) -> Row:
        url, mark, fragment = function.url.partition("#")
        values = (
            function.repo,
            function.path,
            function.func_name,
            function.language,
            function.partition,
            url,
            mark + fragment,
            function.kind,
        )
        return cls(serial, bytes.fromhex(function.id), values)


class _Decoded(dict[int, str]):
    """Strings by their codes, each decoded when it is first asked for."""

    def __init__(self, ends: memoryview, utf8: memoryview) -> None:
        super().__init__()
        self._ends, self._utf8 = ends, utf8

    def __missing__(self, code: int) -> str:
        if len(self) >= DECODED_AT_MOST:
            self.clear()
        found = self[code] = str(self._utf8[self._ends[code] : self._ends[code + 1]], "utf-8")
        return found


class Strings(Sequence[str]):
    """Distinct strings in order, memory-mapped, decoded when asked for."""

    def __init__(self, folder: Path, name: str) -> None:
        self._ends = memoryview(np.load(folder / f"{name}.ends.npy", mmap_mode="r"))
        self._bytes = memoryview(np.load(folder / f"{name}.utf8.npy", mmap_mode="r"))
        self._decoded = _Decoded(self._ends, self._bytes)

    @staticmethod
    def write(folder: Path, name: str, strings: Sequence[str]) -> None:
        encoded = [string.encode() for string in strings]
        ends = np.zeros(len(encoded) + 1, dtype=np.int64)
        np.cumsum([len(part) for part in encoded], out=ends[1:])
        np.save(folder / f"{name}.ends.npy", ends)
        # One spare byte, because an empty file cannot be mapped.
        np.save(folder / f"{name}.utf8.npy", np.frombuffer(b"".join(encoded) + b"\0", dtype=np.uint8))

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, code: int) -> str:  # type: ignore[override]
        return self._decoded[code]

    def many(self, codes: Iterable[int]) -> list[str]:
        """The strings of these codes."""
        return list(map(self._decoded.__getitem__, codes))

    def code(self, string: str) -> int | None:
        at = bisect_left(self, string)
        return at if at < len(self) and self[at] == string else None

    def codes_with_prefix(self, prefix: str) -> tuple[int, int]:
        """The half-open range of codes whose strings begin with this."""
        first = bisect_left(self, prefix)
        return first, bisect_left(self, True, lo=first, key=lambda string: not string.startswith(prefix))


class Table:
    """The rows of a generation (or of one checkpoint's part of it), by position."""

    def __init__(self, folder: Path) -> None:
        self.serials: NDArray[np.int64] = mapped(folder / "serial.npy")
        self.ids: NDArray[np.bytes_] = mapped(folder / "id.npy")
        self._by_id: NDArray[np.int32] = mapped(folder / "by_id.npy")
        self.codes: NDArray[np.int32] = mapped(folder / "codes.npy")
        self.strings = tuple(Strings(folder, name) for name in COLUMNS)
        self._position_of: dict[str, int] = {}
        self._entries: dict[int, tuple[str, Address]] = {}
        self._notes: dict[str, NDArray[np.float64]] = {}
        # Serials count from the first load on; as long as nothing was deleted since, there are no gaps.
        self._gapless = bool(len(self)) and int(self.serials[-1] - self.serials[0]) == len(self) - 1

    def __len__(self) -> int:
        return len(self.serials)

    def positions_of_serials(self, serials: Sequence[int] | NDArray[np.int64]) -> Positions:
        """Where rows with these serials are; all of them must be there."""
        wanted = np.asarray(serials, dtype=np.int64)
        return wanted - self.serials[0] if self._gapless else np.searchsorted(self.serials, wanted).astype(np.int64)

    def positions_of_ids(self, ids: Sequence[bytes]) -> Positions:
        """Where rows with these ids are; -1 for those that are not there."""
        if not len(self) or not ids:
            return np.full(len(ids), -1, dtype=np.int64)
        wanted = np.array(ids, dtype="S16")
        at = np.minimum(np.searchsorted(self.ids, wanted, sorter=self._by_id), len(self) - 1)
        positions = self._by_id[at].astype(np.int64)
        return np.where(self.ids[positions] == wanted, positions, -1)

    def id(self, position: int) -> str:
        # numpy drops trailing zero bytes when it hands out a bytes scalar.
        return bytes(self.ids[position]).ljust(16, b"\0").hex()

    def entries(self, positions: Positions) -> list[tuple[str, Address]]:
        """Id and address of each position; of those asked for lately they are at hand."""
        kept, wanted = self._entries, positions.tolist()
        missing = [position for position in wanted if position not in kept]
        if missing:
            if len(kept) + len(missing) > ENTRIES_KEPT:
                kept = self._entries = {position: kept[position] for position in wanted if position in kept}
            kept.update(zip(missing, self.read_entries(np.array(missing)), strict=True))
        return [kept[position] for position in wanted]

    def read_entries(self, positions: Positions) -> list[tuple[str, Address]]:
        """Id and address of each position, as the columns have them."""
        columns = self.codes.take(positions, axis=0).T.tolist()
        repos, paths, names, languages, _, urls, fragments, kinds = (
            strings.many(codes) for strings, codes in zip(self.strings, columns, strict=True)
        )
        addresses = map(Address, repos, paths, names, languages, map(add, urls, fragments), kinds)
        return list(zip(self.ids_at(positions), addresses, strict=True))

    def ids_at(self, positions: Positions) -> list[str]:
        """The id of each position."""
        digits = self.ids.take(positions).tobytes().hex()
        ids = [digits[start : start + 32] for start in range(0, len(digits), 32)]
        if len(self._position_of) >= DECODED_AT_MOST:
            self._position_of.clear()
        self._position_of.update(zip(ids, positions.tolist(), strict=True))
        return ids

    def parts(self, part: str, positions: Positions) -> list[str]:
        """One part of the address of each position."""
        column = COLUMNS.index(part)
        found = self._strings_at(column, positions)
        return found if column != URL else list(map(add, found, self._strings_at(FRAGMENT, positions)))

    def codes_of(self, part: str, positions: Positions) -> NDArray[np.integer]:
        """The number of each position's part; equal numbers are equal strings, and in their order."""
        return self.codes[:, COLUMNS.index(part)][positions]

    def decoded(self, part: str, codes: list[int]) -> list[str]:
        return self.strings[COLUMNS.index(part)].many(codes)

    def only(self, part: str) -> str | None:
        """What the part is in every row, as the language often is; nothing where they differ."""
        strings = self.strings[COLUMNS.index(part)]
        return strings[0] if len(strings) == 1 else None

    def notes(self, name: str, width: int) -> NDArray[np.float64]:
        """So many numbers for each row, for whoever works them out again and again; not a number until they are."""
        if name not in self._notes:
            self._notes[name] = np.full((len(self), width), np.nan)
        return self._notes[name]

    def _strings_at(self, column: int, positions: Positions) -> list[str]:
        return self.strings[column].many(self.codes[:, column][positions].tolist())

    def positions_of(self, ids: Sequence[str]) -> Positions:
        """Where rows with these ids are; -1 for those that are not there.

        Who is asked for by id was nearly always found a moment ago: those are remembered, and not searched for.
        """
        if isinstance(ids, Ids) and ids.table is self:
            return ids.rows
        known = self._position_of
        positions = np.array([known.get(id, -1) for id in ids], dtype=np.int64)
        unknown = (positions < 0).nonzero()[0]
        if len(unknown):
            positions[unknown] = self.positions_of_ids([id_bytes(ids[place]) for place in unknown.tolist()])
        return positions

    def mask(self, filters: Filters) -> Mask | None:
        """Which rows pass; nothing when all do."""
        mask: Mask | None = None
        for column, value in (
            (LANGUAGE, filters.language),
            (REPO, filters.repo),
            (PARTITION, filters.partition),
        ):
            if value:
                code = self.strings[column].code(value)
                passed = np.zeros(len(self), dtype=np.bool_) if code is None else self.codes[:, column] == code
                mask = passed if mask is None else mask & passed
        if filters.kinds:
            wanted = [self.strings[KIND].code(kind) for kind in filters.kinds]
            passed = np.isin(self.codes[:, KIND], [code for code in wanted if code is not None])
            mask = passed if mask is None else mask & passed
        if filters.path_prefix:
            first, end = self.strings[PATH].codes_with_prefix(filters.path_prefix)
            passed = (self.codes[:, PATH] >= first) & (self.codes[:, PATH] < end)
            mask = passed if mask is None else mask & passed
        return mask

    def counts(self, column: int) -> dict[str, int]:
        """How many rows per value of a column, most common first."""
        counted = np.bincount(self.codes[:, column], minlength=len(self.strings[column]))
        order = np.argsort(-counted, kind="stable")
        return {self.strings[column][int(code)]: int(counted[code]) for code in order if counted[code]}

    def values(self, position: int) -> tuple[str, ...]:
        return tuple(strings[code] for strings, code in zip(self.strings, self.codes[position].tolist(), strict=True))


def mapped(path: Path) -> NDArray[Any]:
    """An array in a file, memory-mapped; a plain array, because numpy's own `memmap` makes every slice slower."""
    return np.asarray(np.load(path, mmap_mode="r"))


def id_bytes(id: str) -> bytes:
    """An id as the columns keep it; one that is no id becomes one that is not there."""
    try:
        return bytes.fromhex(id).ljust(16, b"\0") if len(id) == 32 else b""
    except ValueError:
        return b""


def write_rows(folder: Path, rows: Sequence[Row]) -> None:
    """A table of new rows."""
    codes = np.zeros((len(rows), len(COLUMNS)), dtype=np.int32)
    for column, name in enumerate(COLUMNS):
        strings = sorted({row.values[column] for row in rows})
        code_of = {string: code for code, string in enumerate(strings)}
        codes[:, column] = [code_of[row.values[column]] for row in rows]
        Strings.write(folder, name, strings)
    serials = np.array([row.serial for row in rows], dtype=np.int64)
    _save(folder, serials, np.array([row.id for row in rows], dtype="S16"), codes)


def merge_tables(folder: Path, tables: Sequence[Table], kept: Sequence[Positions]) -> None:
    """One table of the kept rows of several, whose serials follow upon each other."""
    codes = np.zeros((sum(map(len, kept)), len(COLUMNS)), dtype=np.int32)
    for column, name in enumerate(COLUMNS):
        used = [np.unique(table.codes[at, column]) for table, at in zip(tables, kept, strict=True)]
        strings = sorted({table.strings[column][code] for table, code in _pairs(tables, used)})
        code_of = {string: code for code, string in enumerate(strings)}
        start = 0
        for table, at, codes_used in zip(tables, kept, used, strict=True):
            if not len(at):
                continue
            renumbered = np.zeros(int(codes_used[-1]) + 1, dtype=np.int32)
            renumbered[codes_used] = [code_of[table.strings[column][code]] for code in codes_used.tolist()]
            codes[start : start + len(at), column] = renumbered[table.codes[at, column]]
            start += len(at)
        Strings.write(folder, name, strings)
    serials = np.concatenate([np.zeros(0, np.int64), *(t.serials[at] for t, at in zip(tables, kept, strict=True))])
    ids = np.concatenate([np.zeros(0, "S16"), *(table.ids[at] for table, at in zip(tables, kept, strict=True))])
    _save(folder, serials, ids, codes)


def _pairs(tables: Sequence[Table], used: Iterable[NDArray[np.int32]]) -> Iterator[tuple[Table, int]]:
    for table, codes in zip(tables, used, strict=True):
        for code in codes.tolist():
            yield table, code


def _save(folder: Path, serials: NDArray[np.int64], ids: NDArray[np.bytes_], codes: NDArray[np.int32]) -> None:
    np.save(folder / "serial.npy", serials)
    np.save(folder / "id.npy", ids)
    np.save(folder / "by_id.npy", np.argsort(ids, kind="stable").astype(np.int32))
    np.save(folder / "codes.npy", codes)
