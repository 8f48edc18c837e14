"""Searches in the background are counted, timed by mode, and the failed ones say why."""

import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from benchmarks.watch import MODES, Watch
from tests.made_up_source import MadeUpSource
from treeline.engine.embedded import EmbeddedStore
from treeline.ingest.pipeline import LoadOptions, load
from treeline.search.live import open_searcher
from treeline.search.settings import Settings

SECONDS = 120.0  # only a fault takes longer


def wait_for(happened: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_every_mode_is_asked_and_an_index_that_goes_away_is_a_failure(tmp_path: Path) -> None:
    settings = Settings(home=str(tmp_path), index="watched")
    store = EmbeddedStore(settings.home_path)
    load(store, "watched", [MadeUpSource(300)], LoadOptions(work=tmp_path / ".loading", workers=0))
    with closing(open_searcher(settings)) as searcher, Watch(searcher, ["parse the json file"], pause=0.001) as watch:
        wait_for(lambda: len(watch.asked) >= 2 * len(MODES))
        before = watch.figures()
        assert before["failed"] == before["failing_seconds"] == 0
        assert before["times"].keys() == set(MODES)
        assert all(0 < times["p50"] <= times["p95"] <= before["longest_ms"] for times in before["times"].values())
        store.drop("watched")
        wait_for(lambda: bool(watch.figures()["failed"]))
        gone = len(watch.asked)
        wait_for(lambda: len(watch.asked) >= gone + 2)
        after = watch.figures(since=gone)
    assert after["failed"] == after["asked"] >= 2
    assert after["failing_seconds"] > 0
    assert "IndexMissing" in after["failures"][0]
    assert after["times"]["keyword"] == {}
