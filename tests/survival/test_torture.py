"""The torture itself: it does what it says, and a short run of it finds nothing lost."""

import errno
import os
import random
import signal
import stat
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tests.survival import rounds
from tests.survival.faults import Plan, install
from tests.survival.processes import Failure, fork, look
from tests.survival.rounds import CURRENT, KINDS, NEXT, Place
from treeline.engine import durable
from treeline.engine.durable import write_atomically
from treeline.engine.embedded.engine import EmbeddedEngine

ROUNDS = 8  # of the quick kinds; `make torture` runs a thousand of all
DEATHS = 50
ROLL_BACK = 0  # the seed of a quick round
ROOT = Path(__file__).parents[2]
stored = EmbeddedEngine.vectors


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    made = Place(tmp_path_factory.mktemp("torture") / "place")
    made.prepare()
    yield made
    made.close()


def test_a_short_run_loses_nothing(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = {name: KINDS[name] for name in ("kill", "error", "power", "damage:", "full disk:", "clock:", "edits:")}
    monkeypatch.setattr(rounds, "KINDS", quick)
    for seed in range(ROUNDS):
        done, kept = rounds.play(place, seed)
        assert "version" in kept or "refused" in kept, done


@pytest.mark.slow
def test_killed_at_fifty_random_moments_the_index_always_opens_whole_and_can_be_loaded(place: Place) -> None:
    """Also while it is in Rust or SQLite; the next load goes on, and leaves no files behind."""
    outcomes = Counter[str]()
    for seed in range(DEATHS):
        place.reset()
        outcomes[rounds.at_a_moment(place, random.Random(seed), ["kill from outside"])] += 1
    rounds.finish(place, NEXT)
    killed = outcomes[f"version {CURRENT}, exit {-signal.SIGKILL}"]
    assert killed > 5, f"the deaths came too late to mean anything: {outcomes}"


@pytest.mark.slow
def test_of_two_loads_at_once_one_is_refused_and_nothing_is_harmed(place: Place) -> None:
    place.reset()
    assert rounds.two_loads(place, random.Random(0), []).startswith(f"version {NEXT}")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (rounds.full_disk, ("the disk is full",)),
        (rounds.file_limit, ("over the allowed size",)),
        (rounds.read_only, (os.strerror(errno.EROFS).lower(), "read-only")),
    ],
)
def test_a_disk_that_takes_no_more_is_a_clear_error_and_the_old_index_stays(
    place: Place, kind: rounds.Kind, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds, "go_on", lambda *_: None)  # the next load would say its own words
    if place.small is None and kind is not rounds.file_limit:
        pytest.skip("only root can mount a small file system; the file-size limit covers the rest")
    refused = 0
    for seed in range(ROUNDS):
        place.reset()
        notes: list[str] = []
        survived = kind(place, random.Random(seed), notes)
        text = (place.base / "said.txt").read_text(encoding="utf-8").lower()
        if not survived.endswith("exit 0"):
            assert survived.startswith(f"version {CURRENT}"), notes
            refused += any(one in text for one in words)
            assert any(one in text for one in words) or text == "treeline: ", (notes, text)
    assert refused >= 2, "the disks were too large to mean anything"


@pytest.mark.slow
def test_a_read_only_folder_is_a_clear_error_and_can_still_be_searched(place: Place) -> None:
    if os.getuid() == 0:
        pytest.skip("root may write everywhere; the read-only disk above covers it")
    place.reset()
    modes = {path: path.stat().st_mode for path in (place.home, *place.home.rglob("*"))}
    for path, mode in modes.items():
        path.chmod(stat.S_IMODE(mode) & ~0o222)
    try:
        rounds.check(place, place.start("index"), (CURRENT,), {1, 2})
    finally:
        for path, mode in modes.items():
            path.chmod(mode)


def test_a_round_is_the_same_again(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "KINDS", {"kill": KINDS["kill"]})
    first, second = (rounds.play(place, ROLL_BACK) for _ in range(2))
    assert first == second
    assert "status --roll-back" in first[0]


def test_a_torn_index_is_a_failure(place: Place) -> None:
    """A version that nobody loaded, and a process that ends with a traceback."""
    place.reset()
    child = place.start("index")
    assert child.wait() == 0
    with pytest.raises(Failure, match="version"):
        rounds.check(place, child, (CURRENT,), set())
    broken = fork(lambda: [][0], place.base / "said.txt")
    with pytest.raises(Failure, match="IndexError"):
        rounds.check(place, broken, (NEXT,), {70})


def test_damage_that_nobody_names_is_a_failure(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.reset()
    whole = {"version": CURRENT, "damaged": [], "generation": "000002"}
    monkeypatch.setattr(rounds, "looked", lambda *_: whole)
    with pytest.raises(Failure, match="nothing of it is named"):
        rounds.damage(place, random.Random(0), ["damage:"])


def test_a_vector_that_belongs_to_another_unit_is_a_failure(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.reset()
    look(place.home)
    monkeypatch.setattr(EmbeddedEngine, "vectors", lambda self, ids: np.roll(stored(self, ids), 1, axis=0))
    with pytest.raises(Failure, match="not its unit's"):
        look(place.home)


@pytest.mark.parametrize("seed", range(4))
def test_without_its_syncs_a_file_does_not_survive_a_power_failure(tmp_path: Path, seed: int) -> None:
    """The simulation sees a missing fsync, which a killed process never shows: the page cache stays."""
    folder = tmp_path / "home" / "index"
    folder.mkdir(parents=True)
    file = folder / "current"
    file.write_bytes(b"old")

    def write(plan: Plan, synced: bool) -> None:
        if not synced:
            durable.sync = lambda file: file.flush()
            durable.sync_folder = lambda folder: None
        install(plan)
        write_atomically(file, b"new content")
        (folder / "later").mkdir()

    outcomes = []
    for synced in (True, False):
        file.write_bytes(b"old")
        last = 5 if synced else 4  # open, write, (fsync,) rename, (fsync the folder,) and here it dies
        plan = Plan(str(tmp_path / "home"), "power", last + synced, seed=seed)
        assert fork(partial(write, plan, synced), tmp_path / "said").wait() == -signal.SIGKILL
        outcomes.append(file.read_bytes() if file.exists() else b"")
    assert outcomes[0] == b"new content"
    assert outcomes[1] != b"new content"


def test_an_error_is_raised_at_the_change_it_is_planned_for(tmp_path: Path) -> None:
    folder = tmp_path / "home"
    folder.mkdir()

    def write() -> None:
        plan = Plan(str(folder), "error", 3, errno.ENOSPC)
        install(plan)
        (folder / "first").write_bytes(b"1")  # two changes: opened and written
        (tmp_path / "elsewhere").write_bytes(b"not counted")
        try:
            (folder / "second").write_bytes(b"2")
        except OSError as error:
            os._exit(error.errno or 0)

    assert fork(write, tmp_path / "said").wait() == errno.ENOSPC
    assert (tmp_path / "elsewhere").read_bytes() == b"not counted"


def test_the_command_says_what_was_done_and_kept() -> None:
    command = [sys.executable, "-m", "tests.survival.torture", "--rounds", "1", "--seed", "1", "--jobs", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1: kill at change" in done.stdout and "version" in done.stdout
    assert "1 rounds in" in done.stdout and "0 failed" in done.stdout
