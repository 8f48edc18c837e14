"""A lane that hangs or raises is left out and named; when the whole engine is down, that is an error that says so."""

import threading
from collections.abc import Callable, Iterator
from time import perf_counter, sleep
from typing import Any

import pytest

from tests.search.small_index import shipped, small_store
from treeline.corpus.errors import EngineUnavailable
from treeline.search.executor import OVERDUE, WORKERS, Inline
from treeline.search.query import Query
from treeline.search.searcher import Searcher
from treeline.search.settings import Settings

QUICK = Settings(lane_timeout=3.0)  # the lanes that do answer take far less, also on a busy machine


class Failing:
    """The real engine, but for the methods that a test makes fail: a hanging engine cannot be had otherwise."""

    def __init__(self, engine: Any, **failures: Callable[..., Any]) -> None:
        self._engine, self._failures = engine, failures

    def __getattr__(self, name: str) -> Any:
        return self._failures.get(name) or getattr(self._engine, name)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    engine = small_store(tmp_path_factory.mktemp("home")).open("small")
    Searcher(engine, {shipped().name: shipped()}).search(Query("convert int to string"))  # what is slow the first time
    yield engine
    engine.close()


@pytest.fixture
def released() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def hang(released: threading.Event) -> Callable[..., Any]:
    return lambda *_args, **_named: released.wait(60)


def away(*_args: Any, **_named: Any) -> Any:
    raise EngineUnavailable("the engine at 127.0.0.1:9200 does not answer", "start it")


def searcher(engine: Any, **failures: Callable[..., Any]) -> Searcher:
    return Searcher(Failing(engine, **failures), {shipped().name: shipped()}, QUICK)


def test_a_hanging_lane_is_left_out_and_named(engine: Any, hang: Callable[..., Any]) -> None:
    begin = perf_counter()
    answer = searcher(engine, knn=hang).search(Query("convert int to string"))
    assert perf_counter() - begin < 30  # not the minute that the lane hangs
    assert answer.results[0].function.func_name == "int_to_string"
    assert [(one.lane, one.reason) for one in answer.degraded] == [("dense", "no answer within 3 s")]


def test_a_raising_lane_is_left_out_and_named(engine: Any) -> None:
    def broken(*_args: Any, **_named: Any) -> Any:
        raise RuntimeError("segment 3 is unreadable")

    answer = searcher(engine, keyword=broken).search(Query("convert int to string"))
    assert answer.results[0].function.func_name == "int_to_string"
    assert [(one.lane, one.reason) for one in answer.degraded] == [("keyword", "RuntimeError: segment 3 is unreadable")]


def test_an_engine_that_is_down_is_an_error_that_says_so(engine: Any) -> None:
    down = searcher(engine, keyword=away, fuzzy=away, knn=away, locate=away, named=away, artifact=away)
    for text in ("convert int to string", "parse_url", "what calls parse_url"):
        with pytest.raises(EngineUnavailable, match="does not answer"):
            down.search(Query(text))
    with pytest.raises(EngineUnavailable, match=r"127\.0\.0\.1:9200"):
        down.search(Query("convert int to string", mode="keyword"))


def test_where_no_lane_answers_every_reason_is_said(engine: Any) -> None:
    def broken(*_args: Any, **_named: Any) -> Any:
        raise RuntimeError("segment 3 is unreadable")

    with pytest.raises(EngineUnavailable, match=r"\(keyword: RuntimeError: segment 3 is unreadable\)"):
        searcher(engine, keyword=broken).search(Query("convert int to string", mode="keyword"))
    both = searcher(engine, keyword=away, fuzzy=away, knn=away)
    with pytest.raises(EngineUnavailable, match=r"\(keyword: the engine .*; dense: the engine .*\)"):
        both.search(Query("convert int to string"))


def test_an_engine_that_goes_down_before_the_bodies_is_an_error_that_says_so(engine: Any) -> None:
    with pytest.raises(EngineUnavailable, match="does not answer"):
        searcher(engine, fetch=away).search(Query("convert int to string"))


def test_an_engine_that_hangs_altogether_is_an_error_within_the_timeout(engine: Any, hang: Callable[..., Any]) -> None:
    begin = perf_counter()
    with pytest.raises(EngineUnavailable, match="no lane answered"):
        searcher(engine, keyword=hang, fuzzy=hang, knn=hang).search(Query("convert int to string"))
    assert perf_counter() - begin < 30  # not the minute that the lane hangs


def test_searching_goes_on_while_a_lane_hangs_for_good(engine: Any, hang: Callable[..., Any]) -> None:
    half = searcher(engine, knn=hang)
    begin = perf_counter()
    for _ in range(2 * WORKERS):
        answer = half.search(Query("convert int to string"))
        assert [one.lane for one in answer.degraded] == ["dense"]
        assert answer.results[0].function.func_name == "int_to_string"
    # The first few wait for the time-out, the rest do not: far less than if each had waited, also on a busy machine.
    assert perf_counter() - begin < QUICK.lane_timeout * WORKERS


def test_a_lane_that_recovers_is_used_again(engine: Any) -> None:
    stuck = threading.Event()

    def slow(*args: Any, **named: Any) -> Any:
        stuck.wait(60)
        return engine.knn(*args, **named)

    recovering = searcher(engine, knn=slow)
    for _ in range(OVERDUE + 1):
        assert recovering.search(Query("convert int to string")).degraded
    stuck.set()
    patience = perf_counter() + 60
    while recovering.search(Query("convert int to string")).degraded:
        assert perf_counter() < patience


@pytest.mark.parametrize("mode", ["hybrid", "dense"])
def test_a_command_that_searches_once_waits_for_every_lane(engine: Any, mode: str) -> None:
    def slow(*args: Any, **named: Any) -> Any:
        sleep(0.5)
        return engine.knn(*args, **named)

    once = Searcher(
        Failing(engine, knn=slow), {shipped().name: shipped()}, Settings(lane_timeout=0.05), executor=Inline()
    )
    answer = once.search(Query("convert int to string", mode=mode))
    assert answer.results[0].function.func_name == "int_to_string"
    assert not answer.degraded
