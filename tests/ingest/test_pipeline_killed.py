"""A loader that is killed in the middle goes on where it was: no duplicates, no holes, nobody left behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from corpus.errors import InputError
from engine.embedded import EmbeddedStore
from ingest.pipeline import LoadOptions, load
from ingest.source import ReadOptions
from service.cli.index import fingerprint
from tests.ingest.loading import NAME, functions, loaded, record, records_file
from tests.made_up_source import MadeUpSource

ROOT = Path(__file__).parent.parent.parent
LOADER = """
import sys
from pathlib import Path
from engine.embedded import EmbeddedStore
from ingest.opening import open_source
from ingest.pipeline import LoadOptions, load

if __name__ == "__main__":
    home, source = Path(sys.argv[1]), sys.argv[2]
    options = LoadOptions(work=home / ".loading", workers=1, checkpoint_seconds=0.2)
    load(EmbeddedStore(home), "small", [open_source(source)], options)
"""
MANY = 5_000


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = [record(f"function_{n}", "\n    ".join(f"x{n % 97} = {m}" for m in range(20))) for n in range(MANY)]
    return records_file(tmp_path_factory.mktemp("source") / "many.jsonl", rows)


@pytest.fixture(scope="module")
def whole(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The index that a load makes when nobody disturbs it."""
    home = tmp_path_factory.mktemp("whole")
    loaded(home, source)
    return home


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "loader.py"
    path.write_text(LOADER)
    return path


def start(script: Path, home: Path, source: Path) -> subprocess.Popen[bytes]:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen([sys.executable, str(script), str(home), str(source)], env=environment)


def journal_size(home: Path) -> int:
    return sum(path.stat().st_size for path in (home / ".loading").glob("*.journal"))


def kill_when(loader: subprocess.Popen[bytes], home: Path, size: int) -> None:
    """Kill it, without any warning, when its journal has grown to a size."""
    deadline = time.monotonic() + 120
    while loader.poll() is None and journal_size(home) < size and time.monotonic() < deadline:
        time.sleep(0.005)
    loader.kill()
    loader.wait()


@pytest.mark.slow
def test_a_load_killed_again_and_again_ends_in_the_same_index(
    script: Path, source: Path, whole: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    for entries in (1, 3, 5, 7):
        kill_when(start(script, home, source), home, entries * 512 * 32)
        assert NAME not in EmbeddedStore(home).names()
    summary = loaded(home, source)
    assert summary.resumed
    assert (summary.read, summary.indexed, summary.total) == (MANY, MANY, MANY)
    assert functions(home) == functions(whole)
    one, other = EmbeddedStore(home).open(NAME), EmbeddedStore(whole).open(NAME)
    ids = sorted(functions(home))
    np.testing.assert_allclose(one.vectors(ids), other.vectors(ids), atol=1e-6)
    one.close()
    other.close()
    assert not list((home / ".loading").glob("*.journal"))


@pytest.mark.slow
def test_a_source_that_changes_while_the_loader_is_dead_is_read_anew(
    script: Path, source: Path, tmp_path: Path
) -> None:
    home, changing = tmp_path / "home", tmp_path / "changing.jsonl"
    changing.write_bytes(source.read_bytes())
    kill_when(start(script, home, changing), home, 4 * 512 * 32)
    records_file(changing, [record("only")])
    summary = loaded(home, changing)
    assert summary.total == 1
    assert [function.func_name for function in functions(home).values()] == ["only"]


def test_a_unit_that_vanishes_while_the_loader_is_dead_is_not_in_the_index(tmp_path: Path) -> None:
    options = LoadOptions(work=tmp_path / ".loading", encoders=("none",), workers=0, checkpoint_seconds=0)

    def stop_late(stage: str, done: int, total: int) -> None:
        if done > total * 0.7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load(EmbeddedStore(tmp_path), NAME, [MadeUpSource(20_000)], options, stop_late)
    summary = load(EmbeddedStore(tmp_path), NAME, [MadeUpSource(1_500)], options)
    assert summary.resumed
    assert summary.total == len(functions(tmp_path)) == 1_500


@pytest.mark.slow
def test_the_workers_of_a_killed_loader_end_with_it(script: Path, source: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    loader = start(script, home, source)
    deadline = time.monotonic() + 60
    while not (workers := children(loader.pid)) and time.monotonic() < deadline:
        time.sleep(0.05)
    kill_when(loader, home, 1)
    assert workers
    deadline = time.monotonic() + 30
    while any(map(runs, workers)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(map(runs, workers))


@pytest.mark.slow
def test_a_second_loader_of_the_same_index_is_refused(script: Path, source: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    first = start(script, home, source)
    deadline = time.monotonic() + 120
    while journal_size(home) == 0 and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(first.pid, signal.SIGSTOP)
    try:
        with pytest.raises(InputError):
            loaded(home, source)
    finally:
        os.kill(first.pid, signal.SIGCONT)
    assert first.wait(240) == 0
    assert len(functions(home)) == MANY


@pytest.mark.slow
def test_ctrl_c_is_one_line_and_what_was_done_is_kept(source: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    loader = subprocess.Popen(
        [sys.executable, "-m", "service.cli", "index", str(source), "--name", NAME],
        env=os.environ | {"TREELINE_HOME": str(home)},
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        start_new_session=True,
    )
    deadline = time.monotonic() + 120
    while journal_size(home) == 0 and time.monotonic() < deadline:
        time.sleep(0.01)
    os.killpg(loader.pid, signal.SIGINT)
    assert loader.communicate(timeout=240)[1].strip() == "treeline: interrupted"
    assert loader.returncode == 130
    assert NAME not in EmbeddedStore(home).names()
    summary = loaded(home, source, reading=fingerprint(ReadOptions()))
    assert (summary.indexed, summary.total) == (MANY, MANY)


def children(pid: int) -> list[int]:
    return [int(child) for path in Path(f"/proc/{pid}/task").glob("*/children") for child in path.read_text().split()]


def runs(pid: int) -> bool:
    """Not when it has ended and only waits for somebody to take note."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
