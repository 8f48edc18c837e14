"""Searches that compute here take turns, and their lanes run one after the other; what hangs holds up no other."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter, sleep

import pytest

from treeline.corpus.errors import InputError
from treeline.search.executor import TURN_TIMEOUT_S, Executor, Outcome

LONG = 60.0  # seconds; nothing that answers takes as long, also on a busy machine
LANES = ("a", "b", "c")
TIMEOUTS = dict.fromkeys(LANES, LONG)


@pytest.fixture
def executor() -> Iterator[Executor]:
    made = Executor()
    yield made
    made.close()


def wait_for_threads(executor: Executor) -> None:
    """Wait until the threads have noticed that what hung on them came back."""
    until = perf_counter() + LONG
    while executor.overdue():
        assert perf_counter() < until
        sleep(0.01)


def test_searches_take_turns_and_run_their_lanes_in_one_thread(executor: Executor) -> None:
    running: list[int] = []

    def search(number: int) -> Outcome[tuple[int, int]]:
        def lane() -> tuple[int, int]:
            running.append(number)
            alone = len(running)
            sleep(0.001)
            running.remove(number)
            return alone, threading.get_ident()

        with executor.turn(computes_here=True) as run:
            return run(dict.fromkeys(LANES, lane), TIMEOUTS)

    with ThreadPoolExecutor(4) as clients:
        outcomes = list(clients.map(search, range(12)))
    assert all(outcome.values.keys() == set(LANES) for outcome in outcomes)
    assert all(alone == 1 for outcome in outcomes for alone, _ in outcome.values.values())
    assert all(len({thread for _, thread in outcome.values.values()}) == 1 for outcome in outcomes)


def test_a_search_that_computes_elsewhere_takes_no_turn(executor: Executor) -> None:
    meeting = threading.Barrier(len(LANES), timeout=LONG)
    with (
        executor.turn(computes_here=True),
        executor.turn(computes_here=False) as run,
    ):
        assert run({lane: lambda: str(meeting.wait()) for lane in LANES}, TIMEOUTS).failures == {}


def test_what_a_search_raises_gives_the_turn_to_the_next(executor: Executor) -> None:
    with pytest.raises(InputError, match="no"), executor.turn(computes_here=True):
        raise InputError("no")
    with executor.turn(computes_here=True) as run:
        assert run == executor.run_in_turn


def test_a_search_waits_for_the_one_before_only_so_long(executor: Executor) -> None:
    with executor.turn(computes_here=True):
        begin = perf_counter()
        with executor.turn(computes_here=True) as run:
            assert run == executor.run
        assert TURN_TIMEOUT_S <= perf_counter() - begin < LONG


def test_lanes_behind_one_that_hangs_are_run_once_beside_it(executor: Executor) -> None:
    release, runs = threading.Event(), list[str]()

    def hang() -> str:
        runs.append("hung")
        release.wait(LONG)
        return "late"

    def quick() -> str:
        runs.append("quick")
        return "hit"

    begin = perf_counter()
    outcome = executor.run_in_turn({"hung": hang, "quick": quick}, {"hung": 1.0, "quick": LONG})
    assert perf_counter() - begin < LONG / 2
    assert outcome.values == {"quick": "hit"}
    assert outcome.failures == {"hung": "no answer within 1 s"}
    release.set()
    wait_for_threads(executor)
    assert executor.run_in_turn({"hung": lambda: "back"}, {"hung": LONG}).values == {"hung": "back"}
    assert runs == ["hung", "quick"]


def test_a_lane_that_was_given_up_before_it_began_does_not_begin(executor: Executor) -> None:
    release, begun = threading.Event(), threading.Event()

    def mark() -> bool:
        begun.set()
        return True

    def hang() -> bool:
        return release.wait(LONG)

    outcome = executor.run_in_turn({"hung": hang, "behind": mark}, {"hung": 0.2, "behind": 0.1})
    assert outcome.values == {}
    release.set()
    wait_for_threads(executor)
    assert executor.run_in_turn({"next": lambda: "next"}, {"next": LONG}).values == {"next": "next"}
    assert not begun.is_set()
