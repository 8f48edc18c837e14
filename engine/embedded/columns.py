"""The rows of a generation as memory-mapped columns: ids, addresses and sizes, by position.

Hundreds of hits get their address in a fraction of a millisecond, and a million units open at once.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, lru_cache
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treeline.corpus.arrays import map_array
from treeline.corpus.frozen import frozen
from treeline.corpus.function import Address
from treeline.engine.embedded.manifest import Health, damage_check
from treeline.engine.hits import Ids
from treeline.engine.patterns import of_paths, path_test, prefixes
from treeline.engine.protocol import NO_FILTERS, Filters, Values

# A URL is cut at its `#`: what stands before is shared by all units of a file, so it is stored once.
COLUMNS = ("repo", "path", "func_name", "language", "partition", "url", "fragment", "kind")
REPO, PATH, NAME, LANGUAGE, PARTITION, URL, FRAGMENT, KIND = range(len(COLUMNS))
WHOLE_FIELDS = (LANGUAGE, REPO, PARTITION, KIND)  # by whole values
STRINGS_CACHED = 200_000  # a column
ENTRIES_CACHED = 20_000  # some 10 MB; what is shown once is often shown again
ID_BYTES = 16
Positions = NDArray[np.int64]
Mask = NDArray[np.bool_]


@frozen
class Row:
    """One unit on its way into a table; `serial` is its number for life, in order of writing."""

    serial: int
    id: bytes
    size: int
    values: tuple[str, ...]

    @classmethod
    def of(cls, serial: int, id: str, address: Address, partition: str = "", size: int = 0) -> Row:
        url, mark, fragment = address.url.partition("#")
        where = (address.repo, address.path, address.func_name, address.language)
        return cls(serial, bytes.fromhex(id), size, (*where, partition, url, mark + fragment, address.kind))


class Strings(Sequence[str]):
    """Distinct strings in order, memory-mapped, decoded on demand."""

    def __init__(self, folder: Path, name: str) -> None:
        self._ends = map_array(folder / f"{name}.ends.npy")
        self._utf8 = map_array(folder / f"{name}.utf8.npy")
        ends, utf8 = self._ends.data, self._utf8.data  # so that the cache does not keep this object alive
        self._read = lambda code: str(utf8[ends[code] : ends[code + 1]], "utf-8")
        self._decode = lru_cache(STRINGS_CACHED)(self._read)

    @staticmethod
    def write(folder: Path, name: str, strings: Sequence[str]) -> None:
        parts = [string.encode() for string in strings]
        lengths = np.array([len(part) for part in parts], dtype=np.int64)
        _save_strings(folder, name, lengths, np.frombuffer(b"".join(parts), dtype=np.uint8))

    def write_with(
        self, folder: Path, name: str, is_used: Mask, places: NDArray[np.int64], parts: Sequence[bytes]
    ) -> None:
        """Write the used strings, and each of `parts` before the used string at its place."""
        all_lengths = np.diff(self._ends)
        lengths, utf8 = all_lengths[is_used], self._utf8[:-1][np.repeat(is_used, all_lengths)]
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        more = np.array([len(part) for part in parts], dtype=np.int64)
        letters = np.frombuffer(b"".join(parts), dtype=np.uint8)
        utf8 = np.insert(utf8, np.repeat(ends[places], more), letters)
        _save_strings(folder, name, np.insert(lengths, places, more), utf8)

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, code: int) -> str:  # type: ignore[override]
        return self._decode(code)

    def many(self, codes: Iterable[int]) -> list[str]:
        """The strings of these codes."""
        return list(map(self._decode, codes))

    def read(self, codes: Iterable[int]) -> list[str]:
        """The same without the cache, which takes three times the memory of the strings: for going through many."""
        return list(map(self._read, codes))

    def code(self, string: str) -> int | None:
        at = bisect_left(self, string)
        return at if at < len(self) and self[at] == string else None

    def codes_with_prefix(self, prefix: str) -> tuple[int, int]:
        """The half-open range of codes whose strings start with this."""
        first = bisect_left(self, prefix)
        return first, bisect_left(self, True, lo=first, key=lambda string: not string.startswith(prefix))

    @cached_property
    def _lower(self) -> bytes:
        return bytes(self._utf8).lower()

    def codes_containing(self, text: str) -> NDArray[np.int64]:
        """The codes of strings that contain this, whatever its case (of ASCII letters)."""
        needle = text.lower().encode()
        starts, at = [], self._lower.find(needle)
        while at >= 0:
            starts.append(at)
            at = self._lower.find(needle, at + 1)
        offsets = np.array(starts, dtype=np.int64)
        codes = np.searchsorted(self._ends, offsets, side="right") - 1
        codes = codes[codes < len(self)]
        inside = offsets[: len(codes)] + len(needle) <= self._ends[codes + 1]
        return distinct_codes(codes[inside])


def _save_strings(folder: Path, name: str, lengths: NDArray[np.int64], utf8: NDArray[np.uint8]) -> None:
    np.save(folder / f"{name}.ends.npy", np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]))
    # One spare byte, because an empty file cannot be mapped.
    np.save(folder / f"{name}.utf8.npy", np.append(utf8, np.uint8(0)))


class Table:
    """The rows of a generation, or of a part in the making, by position.

    Hits read their addresses from here after the engine's method has returned, so these reads are guarded as well.
    """

    def __init__(self, folder: Path, health: Health | None = None) -> None:
        self.health = health
        self.serials: NDArray[np.int64] = map_array(folder / "serial.npy")
        self.ids: NDArray[np.bytes_] = map_array(folder / "id.npy")
        self.sizes: NDArray[np.int32] = map_array(folder / "size.npy")
        self.by_id: NDArray[np.int32] = map_array(folder / "by_id.npy")
        self.codes: NDArray[np.int32] = map_array(folder / "codes.npy")
        self.strings = tuple(Strings(folder, name) for name in COLUMNS)
        self._entry = lru_cache(ENTRIES_CACHED)(_entry_reader(self.ids, self.codes, self.strings))
        # Serials count from the first load on; as long as nothing was deleted since, there are no gaps.
        self._path_mask: tuple[Filters, Mask] = (NO_FILTERS, np.zeros(0, dtype=np.bool_))
        self._gapless = bool(len(self)) and int(self.serials[-1] - self.serials[0]) == len(self) - 1

    def __len__(self) -> int:
        return len(self.serials)

    def positions_of_serials(self, serials: Sequence[int] | NDArray[np.int64]) -> Positions:
        """The positions of rows with these serials, all of which must exist."""
        numbers = np.asarray(serials, dtype=np.int64)
        return numbers - self.serials[0] if self._gapless else np.searchsorted(self.serials, numbers).astype(np.int64)

    def positions_of_keys(self, keys: Sequence[bytes]) -> Positions:
        """The positions of rows with these ids (as bytes); -1 for unknown ones."""
        if not len(self) or not keys:
            return np.full(len(keys), -1, dtype=np.int64)
        keys_array = np.array(keys, dtype=f"S{ID_BYTES}")
        at = np.minimum(np.searchsorted(self.ids, keys_array, sorter=self.by_id), len(self) - 1)
        positions = self.by_id[at].astype(np.int64)
        return np.where(self.ids[positions] == keys_array, positions, -1)

    def positions_of(self, ids: Sequence[str]) -> Positions:
        """The positions of rows with these ids; -1 for unknown ones."""
        if isinstance(ids, Ids) and ids.table is self:
            return ids.rows
        return self.positions_of_keys([id_bytes(id) for id in ids])

    @damage_check
    def entries(self, positions: Positions) -> list[tuple[str, Address]]:
        """Id and address of each position, cached."""
        return list(map(self._entry, positions.tolist()))

    def read_entries(self, positions: Positions) -> list[tuple[str, Address]]:
        """Id and address of each position, without the cache: for going through all rows."""
        columns = self.codes.take(positions, axis=0).T.tolist()
        repos, paths, names, languages, _, urls, fragments, kinds = (
            strings.many(codes) for strings, codes in zip(self.strings, columns, strict=True)
        )
        addresses = map(Address, repos, paths, names, languages, map(add, urls, fragments), kinds)
        return list(zip(self.ids_at(positions), addresses, strict=True))

    @damage_check
    def ids_at(self, positions: Positions) -> list[str]:
        """The id of each position."""
        digits = self.ids.take(positions).tobytes().hex()
        return [digits[start : start + 2 * ID_BYTES] for start in range(0, len(digits), 2 * ID_BYTES)]

    @damage_check
    def parts(self, part: str, positions: Positions) -> list[str]:
        """One part of the address of each position."""
        column = COLUMNS.index(part)
        texts = self._strings_at(column, positions)
        return texts if column != URL else list(map(add, texts, self._strings_at(FRAGMENT, positions)))

    @damage_check
    def codes_of(self, part: str, positions: Positions) -> NDArray[np.integer]:
        """The code of each position's part; equal codes are equal strings, and in their order."""
        return self.codes[:, COLUMNS.index(part)][positions]

    def mask(self, filters: Filters) -> Mask | None:
        """A mask of the rows that pass; None when all do."""
        if not filters:
            return None
        masks = [self._mask_of(column, filters.values(COLUMNS[column])) for column in WHOLE_FIELDS]
        every = [mask for mask in (*masks, self.path_mask(filters)) if mask is not None]
        return np.logical_and.reduce(every) if every else None

    def _mask_of(self, column: int, values: Values) -> Mask | None:
        """A mask of the rows with one of the values, and with none of the exclude ones."""
        masks = [
            np.isin(self.codes[:, column], [self._code(column, value) for value in some], invert=number == 1)
            for number, some in enumerate(values)
            if some
        ]
        return np.logical_and.reduce(masks) if masks else None

    def _code(self, column: int, value: str) -> int:
        code = self.strings[column].code(value)
        return -1 if code is None else code

    def path_mask(self, filters: Filters) -> Mask | None:
        """A mask of the rows whose paths pass; None when all do."""
        filters = of_paths(filters)
        if not filters:
            return None
        last, mask = self._path_mask
        if last != filters:  # the lanes of one search ask for the same
            mask = self.passing_paths(filters)[self.codes[:, PATH]]
            self._path_mask = filters, mask
        return mask

    def passing_paths(self, filters: Filters) -> Mask:
        """Of each distinct path whether it passes."""
        strings, passes = self.strings[PATH], path_test(filters)
        result = np.zeros(len(strings), dtype=np.bool_)
        for prefix in prefixes(filters) or ("",):
            first, end = strings.codes_with_prefix(prefix)
            result[first:end] = [passes(path) for path in strings.many(range(first, end))]
        return result

    def counts(self, column: int) -> dict[str, int]:
        """The number of rows per value of a column, most common first."""
        numbers = np.bincount(self.codes[:, column], minlength=len(self.strings[column]))
        order = np.argsort(-numbers, kind="stable")
        return {self.strings[column][int(code)]: int(numbers[code]) for code in order if numbers[code]}

    def partition(self, position: int) -> str:
        return self.strings[PARTITION][int(self.codes[position, PARTITION])]

    def _strings_at(self, column: int, positions: Positions) -> list[str]:
        return self.strings[column].many(self.codes[:, column][positions].tolist())


def _entry_reader(
    ids: NDArray[np.bytes_], codes: NDArray[np.int32], strings: Sequence[Strings]
) -> Callable[[int], tuple[str, Address]]:
    """Apart from `Table`, so that its cache does not keep the table alive."""

    def entry(position: int) -> tuple[str, Address]:
        row = codes[position].tolist()
        repo, path, name, language, _, url, fragment, kind = (
            column[code] for column, code in zip(strings, row, strict=True)
        )
        return ids[position : position + 1].tobytes().hex(), Address(repo, path, name, language, url + fragment, kind)

    return entry


def id_bytes(id: str) -> bytes:
    """An id as the columns keep it; what is no id becomes one that nobody has."""
    try:
        return bytes.fromhex(id).ljust(ID_BYTES, b"\0") if len(id) == 2 * ID_BYTES else b""
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
    sizes = np.array([row.size for row in rows], dtype=np.int32)
    ids = np.array([row.id for row in rows], f"S{ID_BYTES}")
    _save(folder, serial=serials, id=ids, size=sizes, codes=codes, by_id=np.argsort(ids, kind="stable"))


def relocate(folder: Path, old: str, new: str) -> None:
    """Let the URLs that begin with one folder's begin with another's. All do, so their order stays."""
    urls = Strings(folder, COLUMNS[URL])
    texts = [new + url.removeprefix(old) for url in urls]
    for path in folder.glob(f"{COLUMNS[URL]}.*.npy"):  # links, which must not be written through
        path.unlink()
    Strings.write(folder, COLUMNS[URL], texts)


def distinct_codes(codes: NDArray[np.integer]) -> NDArray[np.int64]:
    """Each code once, in order; `np.unique` imports masked arrays for it, which costs a small index 30 ms."""
    return np.flatnonzero(np.bincount(codes))


def merge_tables(folder: Path, tables: Sequence[Table], positions: Sequence[Positions]) -> None:
    """One table of the kept rows of several, whose serials follow upon each other.

    The first is copied without looking at its strings: after a small change it has nearly all rows.
    """
    if not tables:
        write_rows(folder, [])
        return
    pairs = list(zip(tables, positions, strict=True))
    codes = np.concatenate([table.codes[at] for table, at in pairs])
    first = len(positions[0])
    for column, name in enumerate(COLUMNS):
        used = [distinct_codes(table.codes[at, column]) for table, at in pairs[1:]]
        texts = [table.strings[column].read(some.tolist()) for (table, _), some in zip(pairs[1:], used, strict=True)]
        more = sorted(set().union(*texts))
        old = codes[:first, column]
        new_codes, more_codes = _merge_strings(folder, name, tables[0].strings[column], distinct_codes(old), more)
        codes[:first, column] = new_codes[old]
        code_of, start = dict(zip(more, more_codes.tolist(), strict=True)), first
        for some, own, at in zip(used, texts, positions[1:], strict=True):
            new_codes = np.zeros(int(some.max(initial=0)) + 1, dtype=np.int32)
            new_codes[some] = [code_of[text] for text in own]
            codes[start : start + len(at), column] = new_codes[codes[start : start + len(at), column]]
            start += len(at)
    serials = np.concatenate([table.serials[at] for table, at in pairs])
    ids = np.concatenate([table.ids[at] for table, at in pairs])
    sizes = np.concatenate([table.sizes[at] for table, at in pairs])
    by_id = _merge_order(tables[0].by_id, positions[0], ids)
    _save(folder, serial=serials, id=ids, size=sizes, codes=codes, by_id=by_id)


def _merge_strings(
    folder: Path, name: str, base: Strings, codes: NDArray[np.int64], more: Sequence[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Write the strings of a base with these codes and `more`, all in order; the new codes of both."""
    is_used = np.zeros(len(base), dtype=np.bool_)
    is_used[codes] = True
    texts = base.read(range(len(base))) if len(more) > len(base) else base
    at = np.array([bisect_left(texts, text) for text in more], dtype=np.int64)
    pairs = zip(at.tolist(), more, strict=True)
    is_new = np.array([code == len(base) or base[code] != text for code, text in pairs], dtype=np.bool_)
    is_used[at[~is_new]] = True
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(is_used)])  # used strings below each code
    inserts = before[at[is_new]]
    new_codes = before[:-1] + np.searchsorted(inserts, before[:-1], side="right")
    more_codes = np.empty(len(more), dtype=np.int64)
    more_codes[~is_new] = new_codes[at[~is_new]]
    more_codes[is_new] = inserts + np.arange(len(inserts))
    base.write_with(
        folder, name, is_used, inserts, [more[number].encode() for number in np.flatnonzero(is_new).tolist()]
    )
    return new_codes, more_codes


def _merge_order(by_id: NDArray[np.int32], positions: Positions, ids: NDArray[np.bytes_]) -> NDArray[np.int64]:
    """The order of all ids, the first of which are those at some positions of a table in the order `by_id`."""
    row_of = np.full(len(by_id), -1, dtype=np.int64)
    row_of[positions] = np.arange(len(positions))
    old = row_of[by_id]
    old = old[old >= 0]
    new = len(positions) + np.argsort(ids[len(positions) :], kind="stable")
    return np.insert(old, np.searchsorted(ids[old], ids[new]), new)


def _save(folder: Path, by_id: NDArray[np.integer], **columns: NDArray[Any]) -> None:
    columns["by_id"] = by_id.astype(np.int32)
    for name, column in columns.items():
        np.save(folder / f"{name}.npy", column)
