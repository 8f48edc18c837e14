"""Searches one after the other on one thread: what hangs there is left behind and tried another way."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter, sleep
from typing import TypeVar

import pytest

from treeline.corpus.errors import InputError
from treeline.search.executor import SEARCH, Executor

SHORT, LONG = 0.5, 60.0  # seconds of patience: with what hangs, and with what must not be given up on a busy machine


Value = TypeVar("Value")


class Thread:
    """The searches' thread, with so much patience for each of them."""

    def __init__(self) -> None:
        self.executor, self.patience = Executor(), LONG

    def run(self, work: Callable[[], Value], otherwise: Callable[[], Value]) -> Value:
        try:
            return self.executor.call(SEARCH, work, self.patience)
        except TimeoutError:
            return otherwise()


@pytest.fixture
def computing() -> Iterator[Thread]:
    made = Thread()
    yield made
    made.executor.close()


def never() -> str:
    raise AssertionError("the careful way was not needed")


def idle(computing: Thread) -> None:
    """Wait until the thread has noticed that what hung on it came back."""
    patience = perf_counter() + LONG
    while computing.executor.overdue():
        assert perf_counter() < patience
        sleep(0.01)


def test_many_askers_are_served_by_one_thread_each_with_its_own_answer(computing: Thread) -> None:
    def ask(number: int) -> tuple[int, int]:
        return computing.run(lambda: (number, threading.get_ident()), lambda: (-1, 0))

    with ThreadPoolExecutor(8) as askers:
        answers = list(askers.map(ask, range(200)))
    assert [number for number, _ in answers] == list(range(200))
    assert len({thread for _, thread in answers}) == 1


def test_what_is_raised_there_is_raised_here(computing: Thread) -> None:
    def refuse() -> str:
        raise InputError("no")

    with pytest.raises(InputError, match="no"):
        computing.run(refuse, never)
    assert computing.run(lambda: "still there", never) == "still there"


def test_what_hangs_is_tried_the_other_way_and_later_ones_do_not_wait_for_it(computing: Thread) -> None:
    release, begun = threading.Event(), threading.Event()

    def hang() -> str:
        begun.set()
        release.wait(600)
        return "late"

    computing.patience = SHORT
    while not begun.is_set():  # a thread that is slow to begin is given up before
        begin = perf_counter()
        assert computing.run(hang, lambda: "careful") == "careful"
        assert perf_counter() - begin >= SHORT
    begin = perf_counter()
    for _ in range(200):
        assert computing.run(lambda: "quick", lambda: "careful") == "careful"
    assert perf_counter() - begin < 200 * SHORT / 2
    computing.patience = LONG
    release.set()
    idle(computing)
    assert computing.run(lambda: "quick again", never) == "quick again"


def test_one_that_was_given_up_before_its_turn_is_not_begun(computing: Thread) -> None:
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
        computing.patience = SHORT
        second = askers.submit(computing.run, mark, lambda: False)
        assert not second.result()
        computing.patience = LONG
        release.set()
        assert first.result()
    idle(computing)
    assert computing.run(lambda: "next", never) == "next"
    assert not begun.is_set()
