"""Lanes side by side: a hanging or raising one is left out, and cannot take the others' threads."""

import os
import threading
from collections.abc import Callable, Iterator
from contextvars import copy_context
from queue import SimpleQueue
from time import perf_counter, sleep

import pytest

from treeline.corpus.errors import EngineUnavailable
from treeline.search import executor as module
from treeline.search.executor import OVERDUE, WORKERS, Executor, timed_out

LONG = 60.0  # seconds; no lane that answers takes as long, also on a busy machine


@pytest.fixture
def side_by_side() -> Iterator[Executor]:
    runner = Executor()
    yield runner
    runner.close()


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """Whatever hangs in a test hangs on this, and is let go at its end."""
    event = threading.Event()
    yield event
    event.set()


def hang_on(event: threading.Event) -> Callable[[], str]:
    def hang() -> str:
        event.wait(60)
        return "late"

    return hang


def hang_often(side_by_side: Executor, work: Callable[[], str]) -> None:
    """Until so many calls hang that the lane is skipped; one that was given up before it began does not count."""
    patience = perf_counter() + LONG
    while side_by_side.overdue() < OVERDUE:
        assert perf_counter() < patience
        side_by_side.run({"good": lambda: "found", "hung": work}, {"good": LONG, "hung": 0.02})


def fail() -> str:
    raise ValueError("no such luck")


def test_lanes_run_at_the_same_time(side_by_side: Executor) -> None:
    meeting = threading.Barrier(3, timeout=LONG)
    lanes = {name: lambda: str(meeting.wait()) for name in "abc"}
    assert side_by_side.run(lanes, dict.fromkeys("abc", LONG)).failures == {}


def test_a_hanging_lane_is_left_out_after_its_own_timeout(side_by_side: Executor, release: threading.Event) -> None:
    begin = perf_counter()
    outcome = side_by_side.run({"good": lambda: "found", "hung": hang_on(release)}, {"good": LONG, "hung": 0.1})
    assert perf_counter() - begin < LONG / 2
    assert outcome.values == {"good": "found"}
    assert outcome.failures == {"hung": "no answer within 0.1 s"}
    assert timed_out(outcome.failures["hung"])


def test_a_raising_lane_is_left_out_and_says_why(side_by_side: Executor) -> None:
    outcome = side_by_side.run({"good": lambda: "found", "bad": fail}, {"good": LONG, "bad": LONG})
    assert outcome.values == {"good": "found"}
    assert outcome.failures == {"bad": "ValueError: no such luck"}
    assert not timed_out(outcome.failures["bad"])


def test_an_error_for_people_is_said_in_its_own_words(side_by_side: Executor) -> None:
    def away() -> str:
        raise EngineUnavailable("nobody listens at port 9200", "start it")

    assert side_by_side.run({"lane": away}, {"lane": LONG}).failures == {"lane": "nobody listens at port 9200"}


def test_a_lane_that_keeps_hanging_is_soon_skipped_at_once(
    side_by_side: Executor, release: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PROBE_EVERY", 3600.0)
    hang_often(side_by_side, hang_on(release))
    begin = perf_counter()
    outcome = side_by_side.run({"good": lambda: "found", "hung": hang_on(release)}, {"good": LONG, "hung": LONG})
    assert perf_counter() - begin < LONG / 2
    assert outcome.values == {"good": "found"}
    assert "does not answer" in outcome.failures["hung"] and timed_out(outcome.failures["hung"])


def test_a_lane_that_answers_again_is_used_again(side_by_side: Executor) -> None:
    stuck = threading.Event()
    hang_often(side_by_side, hang_on(stuck))
    stuck.set()
    patience = perf_counter() + LONG
    while side_by_side.overdue():
        assert perf_counter() < patience
        sleep(0.01)
    assert side_by_side.run({"hung": lambda: "back"}, {"hung": LONG}).values == {"hung": "back"}


def test_hanging_lanes_do_not_use_up_the_threads(side_by_side: Executor, release: threading.Event) -> None:
    for _ in range(3 * WORKERS):
        lanes = {"fine": lambda: "found", "stuck": hang_on(release)}  # names of no other test, whose threads may last
        assert side_by_side.run(lanes, {"fine": LONG, "stuck": 0.005}).values == {"fine": "found"}
    assert sum(thread.name == "lane-stuck" for thread in threading.enumerate()) <= WORKERS
    assert sum(thread.name == "lane-fine" for thread in threading.enumerate()) <= 2


def test_many_searches_at_once_all_get_their_answers(side_by_side: Executor) -> None:
    answers: list[dict[str, int]] = []

    def search(number: int) -> None:
        lanes = {"a": lambda: number, "b": lambda: -number}
        answers.extend(side_by_side.run(lanes, {"a": LONG, "b": LONG}).values for _ in range(50))

    people = [threading.Thread(target=search, args=(number,)) for number in range(16)]
    for person in people:
        person.start()
    for person in people:
        person.join()
    assert len(answers) == 16 * 50
    assert all(answer["a"] == -answer["b"] for answer in answers)


def test_threads_are_kept_for_the_next_search(side_by_side: Executor) -> None:
    for _ in range(20):
        side_by_side.run({"kept": lambda: 1}, {"kept": LONG})
    assert sum(thread.name == "lane-kept" for thread in threading.enumerate()) <= 2


def test_a_forked_process_makes_threads_of_its_own(side_by_side: Executor) -> None:
    """Forked for real: the threads stay with the parent, and a call to them would never be answered."""
    side_by_side.run({"lane": lambda: 1}, {"lane": LONG})
    child = os.fork()
    if not child:
        values = side_by_side.run({"lane": lambda: 2}, {"lane": 10.0}).values
        os._exit(0 if values == {"lane": 2} else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_call_that_ends_just_when_it_is_late_is_not_overdue() -> None:
    pool, replies = module._Pool("lane", 1), SimpleQueue[module._Call]()
    call = module._Call("lane", lambda: "found", pool, replies, copy_context())
    pool.submit([call])
    assert replies.get(timeout=LONG) is call
    assert not call.give_up()
    assert (call.value, call.overdue, pool.overdue) == ("found", False, 0)
    pool.tasks.put(None)
