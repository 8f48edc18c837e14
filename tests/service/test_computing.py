"""Searches one after the other on one thread: what hangs there is left behind and tried another way."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter, sleep

import pytest

from corpus.errors import InputError
from service.computing import PATIENCE, Computing


@pytest.fixture
def computing() -> Iterator[Computing]:
    made = Computing()
    yield made
    made.close()


def never() -> str:
    raise AssertionError("the careful way was not needed")


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


def test_what_hangs_is_tried_the_other_way_and_later_ones_do_not_wait_for_it(computing: Computing) -> None:
    release = threading.Event()

    def hang() -> str:
        release.wait(60)
        return "late"

    begin = perf_counter()
    assert computing.run(hang, lambda: "careful") == "careful"
    assert perf_counter() - begin >= PATIENCE
    begin = perf_counter()
    for _ in range(20):
        assert computing.run(lambda: "quick", lambda: "careful") == "careful"
    assert perf_counter() - begin < PATIENCE
    release.set()
    sleep(0.1)
    assert computing.run(lambda: "quick again", never) == "quick again"


def test_one_that_was_given_up_before_its_turn_is_not_begun(computing: Computing) -> None:
    release, begun = threading.Event(), threading.Event()

    def mark() -> bool:
        begun.set()
        return True

    with ThreadPoolExecutor(2) as askers:
        first = askers.submit(computing.run, lambda: release.wait(60), lambda: False)
        sleep(0.05)
        second = askers.submit(computing.run, mark, lambda: False)
        assert (first.result(), second.result()) == (False, False)
    release.set()
    sleep(0.1)
    assert computing.run(lambda: "next", never) == "next"
    assert not begun.is_set()
