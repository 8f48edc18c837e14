"""A loader that is killed in the middle goes on where it was: no duplicates, no holes, nobody left behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.ingest.loading import NAME, functions, loaded, record, records_file
from tests.made_up_source import MadeUpSource
from treeline.corpus.errors import InputError
from treeline.engine.embedded import EmbeddedStore
from treeline.ingest.pipeline import LoadOptions, load
from treeline.ingest.source import ReadOptions
from treeline.service.cli.index import fingerprint

ROOT = Path(__file__).parent.parent.parent
# Sends itself a signal when a share of the source is done: from outside the moment could be missed.
LOADER = """
import os
import sys
from pathlib import Path
from treeline.engine.embedded import EmbeddedStore
from treeline.ingest.sources import open_source
from treeline.ingest.pipeline import LoadOptions, load

if __name__ == "__main__":
    home, source, share, number = Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
    moments = [share]

    def look(_stage: str, done: int, total: int) -> None:
        if moments and done >= moments[0] * total:
            moments.pop()
            os.kill(os.getpid(), number)

    options = LoadOptions(work=home / ".loading", workers=1, checkpoint_seconds=0)
    load(EmbeddedStore(home), "small", [open_source(source)], options, look)
"""
# The command line, stopped when it has written its first batch, or interrupted with its workers when it starts these.
COMMAND_LINE = """
import os
import signal
from treeline.ingest.generation import Generation
from treeline.ingest.workers import Workers
from treeline.service.cli import main

def after(owner, name, happens):
    original = getattr(owner, name)
    def once(*given):
        setattr(owner, name, original)
        made = original(*given)
        happens()
        return made
    setattr(owner, name, once)

signal.signal(signal.SIGINT, signal.default_int_handler)  # in a background job it is ignored
{what}
raise SystemExit(main())
"""
STOPPED = 'after(Generation, "write", lambda: os.kill(os.getpid(), signal.SIGSTOP))'
PUBLISHED = """
from treeline.engine.embedded import writer
original = writer.write_atomically
def point(path, data):
    original(path, data)
    if path.name == "current":
        os.kill(os.getpid(), {number})
writer.write_atomically = point
"""
INTERRUPTED = 'after(Workers, "submit", lambda: os.killpg(0, signal.SIGINT))'
MANY = 5_000
ENDED = {"", "Z"}  # gone, or only waiting for somebody to take note
PATIENCE = 240.0  # seconds; only what hangs takes as long
TOLD = "treeline: interrupted (the same command continues from here)"


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


def start(
    script: Path, home: Path, source: Path, share: float, number: signal.Signals = signal.SIGKILL
) -> subprocess.Popen[bytes]:
    """A loader that dies, or is sent another signal, when it has done this share."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(script), str(home), str(source), str(share), str(int(number))]
    return subprocess.Popen(command, env=environment)


def command_line(home: Path, source: Path, what: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND_LINE.format(what=what), "index", str(source), "--name", NAME],
        env=os.environ | {"TREELINE_HOME": str(home)},
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        start_new_session=True,
    )


def until(happened: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.slow
def test_a_load_killed_again_and_again_ends_in_the_same_index(
    script: Path, source: Path, whole: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    for share in (0.1, 0.3, 0.5, 0.7):
        assert start(script, home, source, share).wait(PATIENCE) == -signal.SIGKILL
        assert NAME not in EmbeddedStore(home).names()
    summary = loaded(home, source)
    assert summary.resumed
    assert (summary.read, summary.indexed, summary.total) == (MANY, MANY, MANY)
    assert functions(home) == functions(whole)
    one, other = EmbeddedStore(home).open(NAME), EmbeddedStore(whole).open(NAME)
    ids = sorted(functions(home))
    # Batches that began elsewhere may round the last digit of half precision the other way.
    np.testing.assert_allclose(one.vectors(ids), other.vectors(ids), rtol=2**-10, atol=1e-6)
    one.close()
    other.close()
    assert not list((home / ".loading").glob("*.journal"))


@pytest.mark.slow
def test_a_source_that_changes_while_the_loader_is_dead_is_read_anew(
    script: Path, source: Path, tmp_path: Path
) -> None:
    home, changing = tmp_path / "home", tmp_path / "changing.jsonl"
    changing.write_bytes(source.read_bytes())
    assert start(script, home, changing, 0.4).wait(PATIENCE) == -signal.SIGKILL
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
    loader = start(script, home, source, 0.1, signal.SIGSTOP)
    until(lambda: state(loader.pid) == "T")
    workers = children(loader.pid)
    assert workers
    loader.kill()
    loader.wait()
    until(lambda: all(state(worker) in ENDED for worker in workers))


@pytest.mark.slow
def test_a_second_loader_of_the_same_index_is_refused(script: Path, source: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    first = start(script, home, source, 0.1, signal.SIGSTOP)
    until(lambda: state(first.pid) == "T")
    try:
        with pytest.raises(InputError):
            loaded(home, source)
    finally:
        os.kill(first.pid, signal.SIGCONT)
    assert first.wait(PATIENCE) == 0
    assert len(functions(home)) == MANY


@pytest.mark.slow
@pytest.mark.parametrize("asked_to_end", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_is_one_line_and_what_was_done_is_kept(source: Path, tmp_path: Path, asked_to_end: int) -> None:
    home = tmp_path / "home"
    loader = command_line(home, source, STOPPED)
    until(lambda: state(loader.pid) == "T")
    # Ctrl-C goes to all processes of the terminal, a service manager's signal to the one it knows.
    (os.killpg if asked_to_end == signal.SIGINT else os.kill)(loader.pid, asked_to_end)
    os.killpg(loader.pid, signal.SIGCONT)
    assert loader.communicate(timeout=PATIENCE)[1].strip() == TOLD
    assert loader.returncode == 130
    assert NAME not in EmbeddedStore(home).names()
    summary = loaded(home, source, reading=fingerprint(ReadOptions()))
    assert (summary.indexed, summary.total) == (MANY, MANY)


@pytest.mark.slow
def test_ctrl_c_while_the_workers_start_is_one_line_too(source: Path, tmp_path: Path) -> None:
    loader = command_line(tmp_path / "home", source, INTERRUPTED)
    assert loader.communicate(timeout=PATIENCE)[1].strip() == TOLD
    assert loader.returncode == 130


def children(pid: int) -> list[int]:
    return [int(child) for path in Path(f"/proc/{pid}/task").glob("*/children") for child in path.read_text().split()]


def state(pid: int) -> str:
    """As `ps` shows it; nothing for a process that is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


@pytest.mark.slow
@pytest.mark.parametrize("asked_to_end", [signal.SIGINT, signal.SIGTERM])
def test_whoever_interrupts_while_it_is_published_is_told_that_it_is_done(
    source: Path, tmp_path: Path, asked_to_end: signal.Signals
) -> None:
    loader = command_line(tmp_path, source, PUBLISHED.format(number=int(asked_to_end)))
    _, said = loader.communicate(timeout=PATIENCE)
    assert (loader.returncode, said) == (0, "")
    assert len(functions(tmp_path)) == MANY
    assert not list((tmp_path / ".loading").glob("*.journal*"))
