"""How the workers run, each on a processor of its own where there are enough of them, and what they take."""

import os
import signal
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.service.small_index import small_store
from treeline.eval.bench.http import children, run_server


def processors(server: int) -> list[set[int]]:
    """Where each of the server's workers may run."""
    found = []
    for worker in children(server):
        with suppress(ProcessLookupError):
            found.append(os.sched_getaffinity(worker))
    return sorted(found, key=min)


def until(happened: Callable[[], bool]) -> None:
    """A server is ready before its last worker is."""
    patience = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < patience
        time.sleep(0.05)


@pytest.fixture(autouse=True)
def two() -> Iterator[list[int]]:
    """The processors that the server may use: not all of a large machine."""
    every = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(every)[:2])
    yield sorted(every)[:2]
    os.sched_setaffinity(0, every)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_store(tmp_path)
    monkeypatch.setenv("TREELINE_HOME", str(tmp_path))


def test_with_a_worker_for_every_processor_each_has_its_own_and_a_new_one_takes_the_free_one(
    two: list[int],
) -> None:
    own = [{processor} for processor in two]
    with run_server("small", extra={"TREELINE_WORKERS": str(len(two))}) as (_, server):
        until(lambda: processors(server) == own)
        first = children(server)[0]
        os.kill(first, signal.SIGKILL)
        until(lambda: first not in children(server) and processors(server) == own)


def test_fewer_workers_run_where_there_is_room(two: list[int]) -> None:
    if len(two) < 2:
        pytest.skip("one processor")
    with run_server("small", extra={"TREELINE_WORKERS": "1"}) as (_, server):
        assert processors(server) == [set(two)]


def test_a_question_of_the_greatest_length_fits_in_any_script() -> None:
    question = quote("解" * 1_000)
    with (
        run_server("small", extra={"TREELINE_WORKERS": "1"}) as (base, _),
        urllib.request.urlopen(f"{base}/api/search?q={question}") as answer,
    ):
        assert answer.status == 200
