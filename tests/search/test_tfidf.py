"""The TF-IDF lane makes its matrix when it is asked, and comes back when the engine does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.search.small_index import NAME, small_store
from treeline.corpus.errors import EngineUnavailable
from treeline.corpus.function import Function
from treeline.engine.embedded.engine import EmbeddedEngine
from treeline.engine.protocol import NO_FILTERS
from treeline.search.lanes import tfidf
from treeline.search.lanes.tfidf import TfidfLane


class Flaky(EmbeddedEngine):
    """A real index whose functions cannot be read while it is away."""

    away = True
    asked = 0

    def scan(self) -> Iterator[Function]:
        self.asked += 1
        if self.away:
            raise EngineUnavailable("the engine is away")
        return super().scan()


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Flaky]:
    monkeypatch.setattr(tfidf, "BUILD_TIMEOUT_S", 60.0)  # an import alone may take longer on a busy machine
    store = small_store(tmp_path)
    opened = Flaky(tmp_path / NAME / store.current(NAME))
    yield opened
    opened.close()


def first(lane: TfidfLane) -> str:
    return lane("convert an int to a string", 3, NO_FILTERS).hits[0].address.func_name


def test_after_a_failure_the_reason_is_told_for_a_while_and_then_it_is_tried_again(
    engine: Flaky, monkeypatch: pytest.MonkeyPatch
) -> None:
    lane = TfidfLane(engine)
    for _ in range(3):
        with pytest.raises(EngineUnavailable, match="away"):
            first(lane)
    assert engine.asked == 1
    engine.away = False
    with pytest.raises(EngineUnavailable, match="away"):
        first(lane)
    monkeypatch.setattr(tfidf, "TRY_AGAIN_AFTER", 0.0)
    assert first(lane) == "int_to_string"
    assert first(lane) == "int_to_string"
    assert engine.asked == 2


def test_a_matrix_made_in_the_foreground_ends_an_earlier_failure(engine: Flaky) -> None:
    lane = TfidfLane(engine)
    with pytest.raises(EngineUnavailable, match="away"):
        first(lane)
    engine.away = False
    lane.prepare()
    assert first(lane) == "int_to_string"


def test_a_command_does_not_wait_for_a_matrix_that_nobody_will_use(engine: Flaky) -> None:
    engine.away = False
    building = TfidfLane(engine)._builder()
    assert building.daemon
    building.join()
