"""Addresses read ahead from Elasticsearch: read by one process, and tried again after a failure."""

import logging
import threading
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from treeline.corpus.errors import EngineUnavailable
from treeline.corpus.function import Address
from treeline.engine.durable import WriterLock
from treeline.engine.elasticsearch import columns
from treeline.engine.elasticsearch.columns import ASKED_OFTEN, Columns, Entry, FetchedColumns, Scan

ENTRIES: dict[int, Entry] = {
    serial: (f"{serial:032x}", Address("octo/cat", f"cat{serial}.py", "purr", "python", "https://x/cat.py#L1-L2"))
    for serial in range(3)
}
SERIALS = np.array([2, 0])


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(columns, "_private_folder", lambda: tmp_path)
    return tmp_path


def some_columns(scan: Scan = lambda: ENTRIES.items(), name: str = "cats", identity: str = "generation") -> Columns:
    fetched = FetchedColumns(lambda serials: {serial: ENTRIES[serial] for serial in serials})
    return Columns(name, identity, fetched, scan)


def ask_often(some: Columns) -> None:
    """Ask until the columns are read ahead, and wait for the thread that reads them."""
    for _ in range(ASKED_OFTEN):
        table, rows = some.table_and_rows(SERIALS)
        assert table.entries(rows) == [ENTRIES[2], ENTRIES[0]]
    for thread in threading.enumerate():
        if thread.name == "columns":
            thread.join(60)


def is_local(some: Columns) -> bool:
    return not isinstance(some.table_and_rows(SERIALS)[0], FetchedColumns)


def test_columns_that_are_asked_for_often_are_read_ahead() -> None:
    some = some_columns()
    ask_often(some)
    table, rows = some.table_and_rows(SERIALS)
    assert not isinstance(table, FetchedColumns)
    assert table.entries(rows) == [ENTRIES[2], ENTRIES[0]]


def test_the_columns_of_the_generation_before_are_removed_with_their_lock(own_folder: Path) -> None:
    for name, identity in (("cats", "before"), ("cats.v2", "other"), ("cats", "now")):
        some = some_columns(name=name, identity=identity)
        assert not some.are_here
        ask_often(some)
        assert is_local(some)
        assert some.are_here
    left = [path.name.removesuffix(".lock").rpartition("-")[0] for path in own_folder.iterdir()]
    assert sorted(left) == ["cats", "cats", "cats.v2", "cats.v2"]


def test_columns_that_another_process_reads_are_not_read_twice(
    own_folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    scans = []

    def scan() -> Iterable[tuple[int, Entry]]:
        scans.append(1)
        return ENTRIES.items()

    some = some_columns(scan)
    assert some._folder is not None
    with WriterLock(own_folder / f"{some._folder.name}.lock"):
        ask_often(some)
        assert not scans and not is_local(some)
    assert not caplog.records
    ask_often(some)
    assert scans and is_local(some)


@pytest.mark.parametrize("failure", [EngineUnavailable("the server is gone"), OSError("the disk is gone")])
def test_a_failed_scan_is_logged_and_tried_again(failure: Exception, caplog: pytest.LogCaptureFixture) -> None:
    failures = [failure]

    def scan() -> Iterable[tuple[int, Entry]]:
        yield 0, ENTRIES[0]
        if failures:
            raise failures.pop()
        yield from list(ENTRIES.items())[1:]

    some = some_columns(scan)
    with caplog.at_level(logging.WARNING):
        ask_often(some)
    assert [str(failure) in record.getMessage() for record in caplog.records] == [True]
    assert not is_local(some)
    ask_often(some)
    assert is_local(some)
