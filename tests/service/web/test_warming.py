"""A worker is warm before the first question, and nobody can tell otherwise."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from apiflask import APIFlask

from treeline.search.reading import reader_in
from treeline.search.settings import Settings
from treeline.service.http.context import warm_up


def test_pages_are_ready_and_nothing_is_counted_or_kept(app: APIFlask) -> None:
    warm_up(app)
    assert app.jinja_env.cache is not None
    assert len(app.jinja_env.cache) >= 10
    answer = app.test_client().get("/api/search?q=read+a+file").get_json()
    assert "cache" not in answer["timings"]


def test_the_model_of_the_best_quality_is_opened_if_the_settings_ask_for_it(
    shared_app: APIFlask, make_app: Callable[[Settings], APIFlask]
) -> None:
    settings = shared_app.extensions["treeline"].settings
    reader_in.cache_clear()
    warm_up(make_app(replace(settings, quality="fast")))
    assert not reader_in.cache_info().currsize
    warm_up(make_app(replace(settings, quality="best")))
    assert reader_in.cache_info().currsize


def test_without_an_index_it_is_no_failure(tmp_path: Path, make_app: Callable[[Settings], APIFlask]) -> None:
    warm_up(make_app(Settings(home=str(tmp_path / "nothing"), index="none")))
