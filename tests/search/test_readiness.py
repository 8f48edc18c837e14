"""Whoever asks whether the service is ready has an answer in bounded time, whatever the engine does."""

import threading
import time
from typing import cast

import pytest

from treeline.corpus.errors import EngineUnavailable, IndexMissing
from treeline.engine.protocol import Engine, IndexInfo
from treeline.search import live as module
from treeline.search.live import Readiness

INFO = IndexInfo("default", "embedded", "1", 3, (), "")


class Fake:
    """An engine that answers, raises, or waits until it is let go."""

    info = INFO

    def __init__(self) -> None:
        self.asked = 0
        self.let_go = threading.Event()
        self.let_go.set()

    def count(self) -> int:
        self.asked += 1
        self.let_go.wait(60)
        return 3


def readiness(engine: Fake, seconds: float = 60) -> Readiness:
    return Readiness(lambda: cast(Engine, engine), seconds)


def test_an_engine_that_answers_is_ready() -> None:
    assert readiness(Fake())() == INFO


def test_many_probes_ask_the_engine_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEEP_READY", 3600.0)
    engine = Fake()
    ready = readiness(engine)
    for _ in range(50):
        ready()
    assert engine.asked == 1


def test_an_engine_that_hangs_is_not_ready_within_the_time_and_is_not_asked_again_meanwhile() -> None:
    engine = Fake()
    ready = readiness(engine, seconds=1)
    engine.let_go.clear()
    begin = time.monotonic()
    for _ in range(120):
        with pytest.raises(EngineUnavailable, match="has not answered"):
            ready()
    assert time.monotonic() - begin < 60  # one second once, not every time
    assert engine.asked == 1
    assert ready.info() is None
    engine.let_go.set()
    patience = time.monotonic() + 60
    while ready.info() != INFO:
        assert time.monotonic() < patience
        time.sleep(0.05)


def test_what_keeps_the_index_from_opening_is_said() -> None:
    def missing() -> Engine:
        raise IndexMissing("there is no index")

    ready = Readiness(missing, 1)
    with pytest.raises(IndexMissing):
        ready()
    assert ready.info() is None
