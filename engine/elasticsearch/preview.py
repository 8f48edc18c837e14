"""A generation in the making, for its side products: what this process wrote is not read back from the server.

Reading addresses and vectors back as JSON took the server as long as half of the bulk requests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np
from elasticsearch import Elasticsearch
from numpy.typing import NDArray

from treeline.corpus.function import Address, Function
from treeline.engine.elasticsearch.engine import ElasticsearchEngine
from treeline.engine.hits import Hit, Vectors, normalize
from treeline.engine.protocol import NO_FILTERS, Filters

MOST_UNITS = 2_000_000  # about 1.5 GB of addresses, and 1 GB of vectors on disk; of a larger load nothing is kept

Row = NDArray[np.int32] | None


class WriteLog:
    """The addresses and first vectors of the units that a process wrote, in order of writing.

    Vectors are in a temporary file; where there is no room for it, nothing is kept.
    """

    def __init__(self) -> None:
        self._units: dict[str, tuple[Address, int]] = {}
        self._keeps = True
        self._file: IO[bytes] | None = None  # made for the first vector: a writer that fails to start has none to close
        self._rows = 0

    def add(self, function: Function, row: Row) -> None:
        """Keep a unit; `row` are the whole numbers that the server got."""
        self._units.pop(function.id, None)  # a unit that is written again is the last in order
        if len(self._units) >= MOST_UNITS:
            self.close()
        number = self._append(row)
        if self._keeps:
            self._units[function.id] = (function.address, number)

    def discard(self, id: str) -> None:
        self._units.pop(id, None)

    def close(self) -> None:
        """Forget everything, and keep nothing more."""
        self._units, self._keeps = {}, False
        if self._file is not None:
            self._file.close()
            self._file = None

    def __len__(self) -> int:
        return len(self._units)

    def addresses(self) -> Iterator[tuple[str, Address]]:
        return ((id, address) for id, (address, _) in self._units.items())

    def address(self, id: str) -> Address | None:
        return self._units[id][0] if id in self._units else None

    def knows(self, id: str) -> bool:
        return id in self._units

    def vectors(self, ids: Sequence[str], dimension: int) -> Vectors:
        """One row per id, zeros for a unit without a vector."""
        places = np.array([self._units[id][1] for id in ids], dtype=np.int64)
        rows = np.zeros((len(ids), dimension), dtype=np.float32)
        if self._file is not None and self._rows:
            file_rows = np.memmap(self._file, np.int16, "r", shape=(self._rows, dimension))
            rows[places >= 0] = file_rows[places[places >= 0]]
        return normalize(rows)

    def _append(self, row: Row) -> int:
        """Append a vector to the file; its number there, -1 for none."""
        if row is None or not self._keeps:
            return -1
        data = row.astype(np.int16).tobytes()
        try:
            if self._file is None:
                self._file = TemporaryFile(buffering=0)  # noqa: SIM115 - closed by `close`
            is_whole = self._file.write(data) == len(data)
        except OSError:
            is_whole = False
        if not is_whole:  # no space left
            self.close()
            return -1
        self._rows += 1
        return self._rows - 1


class Preview(ElasticsearchEngine):
    """An engine that asks the server only for what this process did not write."""

    def __init__(
        self, client: Elasticsearch, name: str, generation: str, meta: Mapping[str, Any], log: WriteLog
    ) -> None:
        super().__init__(client, name, generation, meta)
        self._log = log

    def addresses(self, filters: Filters = NO_FILTERS) -> Iterator[tuple[str, Address]]:
        is_whole = not filters and len(self._log) == self.info.functions
        return self._log.addresses() if is_whole else super().addresses(filters)

    def locate(self, ids: Sequence[str], filters: Filters = NO_FILTERS) -> list[Hit]:
        if filters != NO_FILTERS or not all(map(self._log.knows, ids)):
            return super().locate(ids, filters)
        return [Hit(id, 0.0, address) for id in ids if (address := self._log.address(id)) is not None]

    def vectors(self, ids: Sequence[str], encoder: str = "") -> Vectors:
        number = self.info.encoder_number(encoder)
        if number or not all(map(self._log.knows, ids)):
            return super().vectors(ids, encoder)
        return self._log.vectors(ids, self.info.encoders[number].dimension)
