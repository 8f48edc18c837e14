"""Worker processes, when the load that they work for does not go well."""

from __future__ import annotations

import time
from dataclasses import dataclass

import pytest

from treeline.ingest.source import Parsed
from treeline.ingest.workers import Task, Workers

LONG = 60


@dataclass(frozen=True)
class Slow:
    """A chunk that takes its time."""

    size: int = 1

    def parse(self) -> Parsed:
        time.sleep(LONG)
        return Parsed()


def test_whoever_interrupts_does_not_wait_for_what_is_under_way() -> None:
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt), Workers(2, {}, 0) as workers:
        under_way = workers.submit([Task("source", "unit", "digest", 0, Slow())])
        while not under_way.running():
            time.sleep(0.01)
        raise KeyboardInterrupt
    assert time.monotonic() - begun < LONG / 2
