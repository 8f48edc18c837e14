"""Waits for an event, with a limit that only a fault exceeds."""

import time
from collections.abc import Callable

LIMIT_S = 300.0


def until(happened: Callable[[], object], message: str = "") -> None:
    end = time.monotonic() + LIMIT_S
    while not happened():
        assert time.monotonic() < end, message
        time.sleep(0.01)
