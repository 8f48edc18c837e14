"""The addresses of a generation on Elasticsearch, kept beside the service.

The server's time goes into what is fetched for each hit, not into the search: at 182,431 units the best 300 cost 6 ms
with one number each and 36 ms with all address columns. So hits come back as serials, and addresses come from here.
A service that is asked again and again reads all of them once a generation, in the background; until then, and in a
command, unknown ones are fetched and remembered.
"""

from __future__ import annotations

import logging
import os
import tempfile
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from hashlib import blake2b
from itertools import islice
from pathlib import Path

import numpy as np

from treeline.corpus.errors import TreelineError
from treeline.corpus.function import Address
from treeline.engine.durable import LockHeld, WriterLock, remove
from treeline.engine.embedded.columns import Row, Table, merge_tables, write_rows
from treeline.engine.hits import Entries, Lookups, Rows

ENTRIES_CACHED = 100_000  # some 50 MB
ASKED_OFTEN = 5  # searches; a command asks one or two
ROWS_IN_MEMORY = 20_000

log = logging.getLogger(__name__)

Entry = tuple[str, Address]
Scan = Callable[[], Iterable[tuple[int, Entry]]]


class FetchedColumns(Lookups):
    """See `treeline.engine.hits.Entries`. Rows are serials; their addresses are fetched when first needed."""

    def __init__(self, fetch: Callable[[Sequence[int]], dict[int, Entry]]) -> None:
        super().__init__()
        self._fetch = fetch
        self._entries: dict[int, Entry] = {}

    def entries(self, positions: Rows) -> list[Entry]:
        serials = positions.tolist()
        cache = self._entries
        if unknown := [serial for serial in serials if serial not in cache]:
            new = self._fetch(unknown)
            cache = {**{serial: cache[serial] for serial in serials if serial in cache}, **new}
            if len(self._entries) + len(new) > ENTRIES_CACHED:
                self._entries = {}
            self._entries.update(new)
        return [cache[serial] for serial in serials]


class Columns:
    """Chooses between fetched columns and, once they are read, columns on this machine's disk.

    Those are shared by all processes of a user and read by one of them.
    """

    def __init__(self, name: str, identity: str, remote: FetchedColumns, scan: Scan) -> None:
        self._fetched, self._scan = remote, scan
        digest = blake2b(identity.encode(), digest_size=16).hexdigest()
        self._name = name
        self._folder = _private_folder() / f"{name}-{digest}" if identity else None
        self._table: Table | None = None
        self._asked = 0
        self._reading = threading.Lock()

    @property
    def are_here(self) -> bool:
        """Whether all of them are read; until then a search fetches those that it shows."""
        return self._table is not None

    def table_and_rows(self, serials: Rows) -> tuple[Entries, Rows]:
        """The columns to use for these hits, and the rows that the serials are in them."""
        table = self._local()
        return (self._fetched, serials) if table is None else (table, table.positions_of_serials(serials))

    def _local(self) -> Table | None:
        if self._table is None and self._folder is not None:
            with suppress(FileNotFoundError):  # not read yet, or removed for a newer generation
                self._table = Table(self._folder)
            if self._table is None:
                self._asked += 1
                if self._asked % ASKED_OFTEN == 0 and not self._reading.locked():
                    threading.Thread(target=self._read, name="columns", daemon=True).start()
        return self._table

    def _read(self) -> None:
        assert self._folder is not None
        with self._reading:
            try:
                with WriterLock(self._folder.with_name(f"{self._folder.name}.lock")):
                    if not self._folder.is_dir():
                        _write(self._folder, self._scan())
                        self._remove_others(self._folder)
            except LockHeld:
                pass  # another process reads them
            except (TreelineError, OSError) as error:
                log.warning("the addresses of the index could not be read ahead: %s", error)

    def _remove_others(self, folder: Path) -> None:
        """The columns of other generations of this index, and their locks; readers keep their files open."""
        for other in folder.parent.glob(f"{self._name}-*"):
            name = other.name.removesuffix(".lock")
            if len(name) == len(folder.name) and name != folder.name:
                with suppress(OSError):
                    remove(other)


def _private_folder() -> Path:
    """A folder in the temporary directory that nobody else can write to."""
    folder = Path(tempfile.gettempdir()) / f"treeline-columns-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        return Path(tempfile.mkdtemp(prefix="treeline-columns-"))
    return folder


def _write(folder: Path, rows: Iterable[tuple[int, Entry]]) -> None:
    """Write a table in parts and put it in place by one rename."""
    rest, tables = iter(rows), list[Table]()
    with tempfile.TemporaryDirectory(prefix=folder.name, dir=folder.parent) as temporary:
        while some := list(islice(rest, ROWS_IN_MEMORY)):
            part = Path(temporary) / f"part-{len(tables)}"
            part.mkdir()
            write_rows(part, [Row.of(serial, *entry) for serial, entry in some])
            tables.append(Table(part))
        whole = Path(temporary) / "whole"
        whole.mkdir()
        merge_tables(whole, tables, [np.arange(len(table)) for table in tables])
        whole.rename(folder)
