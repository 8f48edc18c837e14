"""How the workers run: each on a processor of its own where there are enough of them, else wherever there is room."""

import os
import signal
import time
from pathlib import Path

import pytest

from eval.served import children, served
from service.gunicorn_conf import PROCESSORS
from tests.service.small_index import small_store


def processors(server: int) -> list[set[int]]:
    """Where each of the server's workers may run."""
    return [os.sched_getaffinity(worker) for worker in children(server)]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_store(tmp_path)
    monkeypatch.setenv("TREELINE_HOME", str(tmp_path))


def test_with_a_worker_for_every_processor_each_has_its_own_and_a_new_one_takes_the_free_one() -> None:
    with served("small", extra={"TREELINE_WORKERS": str(len(PROCESSORS))}) as (_, server):
        own = [{processor} for processor in PROCESSORS]
        assert sorted(processors(server), key=min) == own
        first = children(server)[0]
        os.kill(first, signal.SIGKILL)
        patience = time.monotonic() + 60
        while first in children(server) or sorted(processors(server), key=min) != own:
            assert time.monotonic() < patience
            time.sleep(0.05)


@pytest.mark.skipif(len(PROCESSORS) < 2, reason="one processor")
def test_fewer_workers_run_where_there_is_room() -> None:
    with served("small", extra={"TREELINE_WORKERS": "1"}) as (_, server):
        assert processors(server) == [set(PROCESSORS)]
