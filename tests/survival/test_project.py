"""A project on a bad day: edited while it is read, asked twice, killed, on a full disk, without threads or a home.

Real processes, which answer or say one line; in the end the index is the one that is made at once.
"""

from __future__ import annotations

import os
import pwd
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.ingest.loading import functions
from tests.waiting import until
from treeline.corpus.errors import InputError
from treeline.engine.embedded import EmbeddedStore, manifest, writer
from treeline.ingest.generation import Generation
from treeline.ingest.pipeline import LoadOptions, load
from treeline.ingest.project import Project, find_project, listed, refresh
from treeline.ingest.source import ReadOptions
from treeline.search.settings import Settings

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="finds processes in /proc")
FILES, LARGE = 24, 140_000  # bytes; more than 3 MB, so that the first question does not wait for the index
DEATHS = 4
QUESTION = "send the receipt"
PARTIAL = "the rest is being read"
# Where programs may not be started; this one was.
NO_PROGRAM = ("-c", "import sys; sys.executable = '/dev/null'; from treeline.service.cli import main; main()")


class Shop:
    """A project with a data folder of its own."""

    def __init__(self, base: Path, size: int) -> None:
        self.root, self.home = base / "shop", base / "home"
        (self.root / ".git").mkdir(parents=True)
        for number in range(FILES):
            self.write(number, size)

    def write(self, number: int, size: int = 0, version: int = 0) -> None:
        code = f'def send_{number}(receipt):\n    """Send the receipt."""\n    return receipt + {version}\n\n\n'
        filler = "    lorem ipsum dolor sit amet consectetur adipiscing elit\n" * (size // 59)
        code += f'def other_{number}(x):\n    """Other.\n{filler}    """\n'
        (self.root / f"mail{number}.py").write_text(code, encoding="utf-8")

    @property
    def project(self) -> Project:
        return find_project(self.root, self.home)

    def start(
        self,
        *arguments: str,
        home: Path | None = None,
        python: Sequence[str] = ("-m", "treeline.service.cli"),
        set_up: Callable[[], None] | None = None,
    ) -> subprocess.Popen[str]:
        where = str(home or self.home) if home != Path() else ""
        return subprocess.Popen(
            [sys.executable, *python, *arguments, QUESTION],
            cwd=self.root,
            env={**os.environ, "TREELINE_HOME": where, "TREELINE_ENCODER": "none"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=set_up,
            text=True,
        )

    def ask(self, *arguments: str, **how: Any) -> str:
        """What is said beside an answer; there is one."""
        asked = self.start(*arguments, **how)
        answer, line = asked.communicate()
        assert asked.returncode == 0 and "send_" in answer, line
        assert line.count("\n") <= 1, line
        return line

    def processes(self, home: Path | None = None) -> list[int]:
        """Those of the data folder that go on."""
        mark = f"TREELINE_HOME={home or self.home}".encode()
        return [int(one.name) for one in Path("/proc").glob("[0-9]*") if mark in environment(one)]

    def rest(self, home: Path | None = None) -> None:
        """Wait until no process of the data folder goes on; at idle priority a busy machine would never let them."""

        def is_over() -> bool:
            processes = self.processes(home)
            for process in processes:
                with suppress(OSError):
                    os.sched_setscheduler(process, os.SCHED_OTHER, os.sched_param(0))
            return not processes

        until(is_over)

    def check(self, home: Path | None = None) -> None:
        """The index is as one that is made at once, and nothing else stays."""
        home, name = home or self.home, self.project.index
        once = home.parent / "once"
        refresh(self.project, EmbeddedStore(once), once, encoders=("none",))
        assert functions(home, name) == functions(once, name)
        assert not (home / name / "building").exists() and not list((home / ".loading").glob("*.journal*"))
        assert not list((home / ".projects").glob("*.progress")) and not list((home / ".looks").glob("*"))


def environment(process: Path) -> list[bytes]:
    with suppress(OSError):
        return (process / "environ").read_bytes().split(b"\0")
    return []


@pytest.fixture
def small(tmp_path: Path) -> Shop:
    return Shop(tmp_path, 0)


@pytest.fixture
def large(tmp_path: Path) -> Iterator[Shop]:
    """Its first question is answered from a few files."""
    shop = Shop(tmp_path, LARGE)
    yield shop
    for process in shop.processes():
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


@pytest.mark.slow
def test_a_repository_that_changes_while_it_is_read_is_in_the_end_as_one_read_at_once(large: Shop) -> None:
    asked, chance = large.start("--wait"), random.Random(0)
    version = 0
    while asked.poll() is None:
        version += 1
        number = chance.randrange(FILES)
        match chance.randrange(4):
            case 0:
                (large.root / f"mail{number}.py").unlink(missing_ok=True)
            case 1:
                with suppress(FileNotFoundError):
                    (large.root / f"mail{number}.py").rename(large.root / f"moved{version % 9}.py")
            case _:
                large.write(number, chance.randrange(LARGE), version)
        time.sleep(0.005)
    answer, line = asked.communicate()
    assert asked.returncode == 0 and "send_" in answer and line.count("\n") == 1, line
    assert version > 10, "nothing changed meanwhile"
    large.ask()
    large.check()


def test_two_questions_at_once_are_both_answered_and_one_index_is_made(large: Shop) -> None:
    questions = [large.start() for _ in range(2)]
    for question in questions:
        answer, line = question.communicate()
        assert question.returncode == 0 and "send_" in answer and PARTIAL in line, line
    large.rest()
    assert large.ask() == ""
    assert [path.name for path in (large.home / large.project.index).glob("0*")] == ["000001"]
    large.check()


@pytest.mark.slow
def test_a_background_index_killed_at_random_moments_is_taken_up_by_the_next_question(large: Shop) -> None:
    chance, deaths = random.Random(3), 0
    for _ in range(DEATHS):
        if PARTIAL not in large.ask():
            break
        time.sleep(chance.random() * 3)
        for process in large.processes():
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
                deaths += 1
    assert deaths, "the deaths came too late to mean anything"
    large.ask("--wait")
    large.check()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can mount a small disk")
def test_a_disk_that_fills_behind_an_answer_is_one_line_and_room_is_enough_to_go_on(large: Shop) -> None:
    disk = large.home.parent / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=50m", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no disk can be mounted here")
    try:
        home = disk / "home"
        assert PARTIAL in large.ask(home=home)
        fill(disk)
        large.rest(home)
        assert not (home / large.project.index / "building").exists(), "it keeps the disk full"
        fill(disk)
        asked = large.start(home=home)
        answer, line = asked.communicate()
        assert (asked.returncode, answer, line.count("\n")) == (2, "", 1)
        assert "the disk is full" in line
        (disk / "filler").unlink()
        line = large.ask(home=home)
        assert "the rest could not be read: cannot write the index" in line or PARTIAL in line
        large.rest(home)
        large.check(home)
        fill(disk)
        large.write(1, LARGE, 7)
        assert "answering from the index as it is; cannot write the index" in large.ask(home=home)
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


def fill(disk: Path) -> None:
    with (disk / "filler").open("ab", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))


def test_an_index_half_made_by_an_older_version_is_not_gone_on_with(
    small: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stopped(Exception):
        pass

    def stop(*_: object, **__: object) -> None:
        raise Stopped

    project, store = small.project, EmbeddedStore(small.home)
    options = LoadOptions(
        work=small.home / ".loading", encoders=("none",), fresh=True, workers=0, checkpoint_seconds=0.0
    )
    folder = listed(project, ReadOptions())
    with monkeypatch.context() as older:
        older.setattr(manifest, "FORMAT", manifest.FORMAT - 1)
        older.setattr(writer, "FORMAT", manifest.FORMAT)
        older.setattr(Generation, "finish", stop)
        with suppress(Stopped):
            load(store, project.index, [folder], options)
    checkpoint = orjson.loads((small.home / project.index / "building" / "checkpoint.json").read_bytes())
    assert checkpoint["format"] == manifest.FORMAT - 1
    summary = load(store, project.index, [folder], options)
    assert not summary.resumed
    small.check()


def without_threads() -> None:
    """Threads whose stacks have more room than the process may have; unlike a limit on processes it holds for root."""
    resource.setrlimit(resource.RLIMIT_STACK, (1 << 40, resource.getrlimit(resource.RLIMIT_STACK)[1]))
    resource.setrlimit(resource.RLIMIT_AS, (1 << 36, 1 << 36))


def on_one_core() -> None:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def test_without_threads_one_line_is_said(small: Shop) -> None:
    for _ in range(2):
        asked = small.start(set_up=without_threads)
        answer, line = asked.communicate()
        assert (asked.returncode, answer) == (2, "")
        assert "the system starts no more threads (raise the limit" in line and line.count("\n") == 1
    small.ask()
    small.check()


@pytest.mark.slow
def test_where_no_program_can_be_started_the_question_is_answered_and_can_wait_for_the_rest(large: Shop) -> None:
    line = large.ask(python=NO_PROGRAM)
    assert "no process can be started to read the rest (Permission denied)" in line
    assert not large.processes()
    large.ask("--wait", python=NO_PROGRAM)
    large.check()


@pytest.mark.slow
def test_one_core_is_enough(large: Shop) -> None:
    assert PARTIAL in large.ask(set_up=on_one_core)
    large.rest()
    assert large.ask(set_up=on_one_core) == ""
    large.check()


def test_a_data_folder_that_cannot_be_written_is_one_line_and_an_index_in_it_answers(small: Shop) -> None:
    small.ask()
    with read_only(small.home) as home:
        assert small.ask(home=home) == ""
        small.write(1, LARGE, 7)
        assert "answering from the index as it is; cannot write the index" in small.ask(home=home)
        other = Shop(small.home.parent / "other", 0)
        asked = other.start(home=home)
        answer, line = asked.communicate()
        assert (asked.returncode, answer, line.count("\n")) == (2, "", 1)
        assert "TREELINE_HOME" in line


def test_a_home_folder_that_is_missing_is_one_line(small: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv("HOME", "/dev/null/none")
    asked = small.start(home=Path())
    answer, line = asked.communicate()
    assert (asked.returncode, answer, line.count("\n")) == (2, "", 1)
    assert "TREELINE_HOME" in line

    def unknown(_: int) -> None:
        raise KeyError("uid not found")

    monkeypatch.delenv("HOME")
    monkeypatch.setattr(pwd, "getpwuid", unknown)  # a container under a number that has no name
    with pytest.raises(InputError, match="no home folder"):
        _ = Settings(home="").home_path
    assert small.project.root == small.root


@contextmanager
def read_only(home: Path) -> Iterator[Path]:
    """The data folder, which nobody can write to for the time being, not even root where that can mount."""
    disk = home.parent / "read-only"
    disk.mkdir()
    if os.getuid():
        modes = {path: path.stat().st_mode for path in (home, *home.rglob("*"))}
        for path, mode in modes.items():
            path.chmod(mode & ~0o222)
        yield home
        for path, mode in modes.items():
            path.chmod(mode)
    elif subprocess.run(["mount", "--bind", str(home), str(disk)], capture_output=True, check=False).returncode:
        pytest.skip("no disk can be mounted here")
    else:
        try:
            subprocess.run(["mount", "-o", "remount,bind,ro", str(disk)], check=True)
            yield disk
        finally:
            subprocess.run(["umount", "--lazy", str(disk)], check=True)
