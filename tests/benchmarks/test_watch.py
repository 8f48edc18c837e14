"""Searches in the background are counted, timed by mode, and the failed ones say why."""

from contextlib import closing
from pathlib import Path

from benchmarks.watch import MODES, Watch
from tests.made_up_source import MadeUpSource
from tests.waiting import until
from treeline.engine.embedded import EmbeddedStore
from treeline.ingest.pipeline import LoadOptions, load
from treeline.search.live import open_searcher
from treeline.search.settings import Settings


def test_every_mode_is_asked_and_an_index_that_goes_away_is_a_failure(tmp_path: Path) -> None:
    settings = Settings(home=str(tmp_path), index="watched")
    store = EmbeddedStore(settings.home_path)
    load(store, "watched", [MadeUpSource(300)], LoadOptions(work=tmp_path / ".loading", workers=0))
    with closing(open_searcher(settings)) as searcher, Watch(searcher, ["parse the json file"], pause=0.001) as watch:
        until(lambda: len(watch.asked) >= 2 * len(MODES))
        before = watch.figures()
        assert before["failed"] == before["failing_seconds"] == 0
        assert before["times"].keys() == set(MODES)
        assert all(0 < times["p50"] <= times["p95"] <= before["longest_ms"] for times in before["times"].values())
        store.drop("watched")
        until(lambda: bool(watch.figures()["failed"]))
        gone = len(watch.asked)
        until(lambda: len(watch.asked) >= gone + 2)
        after = watch.figures(since=gone)
    assert after["failed"] == after["asked"] >= 2
    assert after["failing_seconds"] > 0
    assert "IndexMissing" in after["failures"][0]
    assert after["times"]["keyword"] == {}
