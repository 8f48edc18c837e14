"""The rows of a generation in the making: those of the base, parts added to them, and which of all are deleted."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from treeline.corpus.arrays import map_array
from treeline.corpus.function import Function
from treeline.engine.durable import link_tree, sync_tree
from treeline.engine.embedded import scans
from treeline.engine.embedded.columns import Positions, Row, Table, merge_tables, write_rows
from treeline.engine.protocol import EncoderSpec, Filters

BASE = "base"
PART = "part-"
ROWS_IN_MEMORY = 20_000

Rows16 = NDArray[np.float16]


class RowsBuilder:
    """Columns, n-grams and vectors of all units so far. Nothing changes in place: a checkpoint is a list of parts."""

    def __init__(self, folder: Path, encoders: Sequence[EncoderSpec]) -> None:
        self._folder = folder
        self._encoders = encoders
        self._rows: list[Row] = []
        self._texts: list[str] = []
        self._row_vectors: list[list[Rows16]] = [[] for _ in encoders]
        self._tables: list[tuple[str, Table]] = []
        self._base: dict[str, Any] = {}  # the description of the generation to start from
        self._serial_of: dict[bytes, int] = {}  # of the rows in memory
        self.dead: set[int] = set()
        self.next_serial = 0

    @property
    def parts(self) -> list[str]:
        """The names of the parts that a checkpoint must keep."""
        return [name for name, _ in self._tables if name != BASE]

    def start_from(self, generation: Path) -> None:
        """Start from the rows of a complete generation."""
        link_tree(generation / "rows", self._folder / BASE)
        shutil.copyfile(generation / "info.json", self._folder / BASE / "info.json")
        self._open([])
        self.next_serial = self._base["next_serial"]

    def resume(self, parts: Sequence[str], dead: Path, next_serial: int) -> None:
        """Continue from a checkpoint."""
        self._open(parts)
        self.dead = set(map_array(dead).tolist())
        self.next_serial = next_serial

    def save_dead(self, path: Path) -> None:
        np.save(path, np.array(sorted(self.dead), dtype=np.int64))

    def serials(self, ids: Sequence[str]) -> list[int | None]:
        """The serial of each id's living row, if it has one."""
        keys = [bytes.fromhex(id) for id in ids]
        numbers: list[int | None] = [self._serial_of.get(key) for key in keys]
        for _, table in self._tables:
            for number, at in enumerate(table.positions_of_keys(keys).tolist()):
                if at >= 0 and (serial := int(table.serials[at])) not in self.dead:
                    numbers[number] = serial
        return numbers

    def add(self, row: Row, text: str) -> None:
        """A new row and its text; an older row with the same id must have been deleted before."""
        self._rows.append(row)
        self._texts.append(text)
        self._serial_of[row.id] = row.serial
        self.next_serial = row.serial + 1

    def row_of(self, function: Function) -> Row:
        size = len(function.original_string)
        return Row.of(self.next_serial, function.id, function.address, function.partition, size)

    def add_vectors(self, batches: Sequence[Rows16]) -> None:
        """The vectors of the rows just added, encoder by encoder."""
        for batches_so_far, batch in zip(self._row_vectors, batches, strict=True):
            batches_so_far.append(batch)
        if len(self._rows) >= ROWS_IN_MEMORY:
            self.flush()

    def delete(self, id: str, serial: int) -> None:
        self.dead.add(serial)
        self._serial_of.pop(bytes.fromhex(id), None)

    def delete_repo(self, repo: str) -> int:
        """Delete the rows of a repository; how many there were."""
        self.flush()
        before = len(self.dead)
        for _, table in self._tables:
            mask = table.mask(Filters(repo=repo))
            if mask is not None and mask.any():
                self.dead.update(table.serials[mask].tolist())
        return len(self.dead) - before

    def flush(self) -> None:
        """Write the rows held in memory as a part."""
        if not self._rows:
            return
        name = f"{PART}{self._rows[0].serial:012d}"
        folder = self._folder / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        write_rows(folder, self._rows)
        scans.write_signatures(folder, self._texts)
        for number, batches in enumerate(self._row_vectors):
            scans.write_vectors(folder, number, np.concatenate(batches))
            batches.clear()
        sync_tree(folder)
        self._rows.clear()
        self._texts.clear()
        self._serial_of.clear()
        self._tables.append((name, Table(folder)))

    def living_rows(self) -> list[Positions]:
        """The living rows of each table."""
        dead = np.fromiter(self.dead, np.int64, len(self.dead))
        return [np.flatnonzero(~np.isin(table.serials, dead)) for _, table in self._tables]

    def merge(self, target: Path) -> None:
        """Write the one table, the n-grams and the matrices that readers open."""
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        positions = self.living_rows()
        merge_tables(target, [table for _, table in self._tables], positions)
        folders = [self._folder / name for name, _ in self._tables]
        common = 0
        if self._base and self._base["encoders"] == [[encoder.name, encoder.dimension] for encoder in self._encoders]:
            more = sum(map(len, positions[1:]))
            common = scans.share(target, folders[0], positions[0], len(self._tables[0][1]), more)
        scans.merge_signatures(target, folders, positions, common)
        for number, encoder in enumerate(self._encoders):
            parts = [self._vectors(folder, number, encoder) for folder in folders]
            scans.merge_vectors(target, number, encoder.dimension, parts, positions, common)

    def close(self) -> None:
        self._tables.clear()

    def _open(self, parts: Sequence[str]) -> None:
        if (self._folder / BASE).exists():
            self._base = orjson.loads((self._folder / BASE / "info.json").read_bytes())
        names = [BASE, *parts] if self._base else parts
        self._tables = [(name, Table(self._folder / name)) for name in names]

    def _vectors(self, folder: Path, number: int, encoder: EncoderSpec) -> tuple[Path, int] | None:
        """A folder with the number that the encoder has in it; None for a base that does not have it."""
        if folder.name != BASE:
            return folder, number
        specs, spec = self._base.get("encoders", []), [encoder.name, encoder.dimension]
        return (folder, specs.index(spec)) if spec in specs else None
