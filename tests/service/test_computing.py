"""Searches one after the other on one thread: what hangs there is left behind and tried another way."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter, sleep

import pytest

from treeline.corpus.errors import InputError
from treeline.search import computing as module
from treeline.search.computing import Computing

SHORT, LONG = 0.5, 60.0  # seconds of patience: with what hangs, and with what must not be given up on a busy machine


@pytest.fixture
def computing(monkeypatch: pytest.MonkeyPatch) -> Iterator[Computing]:
    monkeypatch.setattr(module, "PATIENCE", LONG)
    made = Computing()
    yield made
    made.close()


def never() -> str:
    raise AssertionError("the careful way was not needed")


def idle(computing: Computing) -> None:
    """Wait until the thread has noticed that what hung on it came back."""
    patience = perf_counter() + LONG
    while computing._busy_since is not None and perf_counter() < patience:
        sleep(0.01)


def test_many_askers_are_served_by_one_thread_each_with_its_own_answer(computing: Computing) -> None:
    def ask(number: int) -> tuple[int, int]:
        return computing.run(lambda: (number, threading.get_ident()), lambda: (-1, 0))

    with ThreadPoolExecutor(8) as askers:
        answers = list(askers.map(ask, range(200)))
    assert [number for number, _ in answers] == list(range(200))
    assert len({thread for _, thread in answers}) == 1


def test_what_is_raised_there_is_raised_here(computing: Computing) -> None:
    def refuse() -> str:
        raise InputError("no")

    with pytest.raises(InputError, match="no"):
        computing.run(refuse, never)
    assert computing.run(lambda: "still there", never) == "still there"


def test_what_hangs_is_tried_the_other_way_and_later_ones_do_not_wait_for_it(
    computing: Computing, monkeypatch: pytest.MonkeyPatch
) -> None:
    release, begun = threading.Event(), threading.Event()

    def hang() -> str:
        begun.set()
        release.wait(600)
        return "late"

    monkeypatch.setattr(module, "PATIENCE", SHORT)
    begin = perf_counter()
    assert computing.run(hang, lambda: "careful") == "careful"
    assert perf_counter() - begin >= SHORT
    assert begun.wait(LONG)
    sleep(SHORT)  # a thread that began late has to be at it for as long
    begin = perf_counter()
    for _ in range(200):
        assert computing.run(lambda: "quick", lambda: "careful") == "careful"
    assert perf_counter() - begin < 200 * SHORT / 2
    monkeypatch.setattr(module, "PATIENCE", LONG)
    release.set()
    idle(computing)
    assert computing.run(lambda: "quick again", never) == "quick again"


def test_one_that_was_given_up_before_its_turn_is_not_begun(
    computing: Computing, monkeypatch: pytest.MonkeyPatch
) -> None:
    release, hanging, begun = threading.Event(), threading.Event(), threading.Event()

    def hang() -> bool:
        hanging.set()
        return release.wait(600)

    def mark() -> bool:
        begun.set()
        return True

    with ThreadPoolExecutor(2) as askers:
        first = askers.submit(computing.run, hang, lambda: False)
        assert hanging.wait(LONG)
        monkeypatch.setattr(module, "PATIENCE", SHORT)
        second = askers.submit(computing.run, mark, lambda: False)
        assert not second.result()
        monkeypatch.setattr(module, "PATIENCE", LONG)
        release.set()
        assert first.result()
    idle(computing)
    assert computing.run(lambda: "next", never) == "next"
    assert not begun.is_set()
