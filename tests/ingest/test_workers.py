"""Worker processes, when the load that they work for does not go well."""

from __future__ import annotations

import fcntl
import os
import resource
import signal
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

import treeline
from treeline.corpus.errors import TreelineError
from treeline.ingest.parsers.captures import is_suspect_source
from treeline.ingest.source import Parsed
from treeline.ingest.workers import Task, Workers

LONG = 600  # seconds; no worker takes as long to start, also on a busy machine


@dataclass(frozen=True)
class Slow:
    """A chunk that takes its time."""

    size: int = 1

    def parse(self) -> Parsed:
        time.sleep(LONG)
        return Parsed()


def test_whoever_interrupts_does_not_wait_for_what_is_under_way() -> None:
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt), Workers(2, {}, 0) as workers:
        under_way = workers.submit([Task("source", "unit", "digest", 0, Slow())])
        while not under_way.running():
            assert time.monotonic() - begun < LONG / 2
            time.sleep(0.01)
        raise KeyboardInterrupt
    assert time.monotonic() - begun < LONG / 2


@dataclass(frozen=True)
class Dies:
    """A chunk that ends its worker in some way."""

    how: str
    size: int = 1
    source: bytes = b""

    def parse(self) -> Parsed:
        if self.how == "exit":
            os._exit(3)
        if self.how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.how == "sending":
            os.write(results_of_this_worker(), (1 << 20).to_bytes(8, "little") + b"half a result")
            os.kill(os.getpid(), signal.SIGKILL)
        if self.how == "memory":
            resource.setrlimit(resource.RLIMIT_AS, (1, 1))
            bytearray(1 << 30)
        return Parsed()


def results_of_this_worker() -> int:
    """The descriptor that leads to the loader: the one pipe for writing beside the standard ones."""
    for descriptor in range(3, 100):
        with suppress(OSError):
            if fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_WRONLY:
                return descriptor
    raise AssertionError


@pytest.mark.timeout(60)
@pytest.mark.parametrize("how", ["exit", "kill", "sending", "memory"])
@pytest.mark.parametrize("count", [1, 2])
def test_however_a_worker_dies_what_it_read_is_rejected_and_the_rest_goes_on(how: str, count: int) -> None:
    with Workers(count, {}, 0) as workers:
        tasks = [Task("source", f"unit{n}", "digest", n, Dies(one)) for n, one in enumerate(("not", how, "not"))]
        futures = [workers.submit(tasks) for _ in range(count)]
        for future in futures:
            chunks = future.result().chunks
            assert [chunk.item.unit for chunk in chunks] == ["unit0", "unit1", "unit2"]
            assert [len(chunk.problems) for chunk in chunks] == [0, 1, 0]
            assert "a worker process died" in chunks[1].problems[0].reason


@pytest.mark.timeout(60)
def test_a_function_whose_worker_dies_is_told() -> None:
    with pytest.raises(TreelineError, match="a worker process died"), Workers(1, {}, 0) as workers:
        workers.submit([Task("source", "unit", "digest", 0, Dies("not"))]).result()
        workers.call(os._exit, 3).result()


HOSTILE = {
    "deep interpolations": b"fun f() {\n val a = " + b'"${' * 1_100,
    "the same again": b"<a " * 6_000,
    "deep brackets": b"".join(b"f%d(" % n for n in range(400)),
}


@pytest.mark.parametrize("source", HOSTILE.values(), ids=HOSTILE.keys())
def test_texts_that_grammars_crash_on_are_suspect(source: bytes) -> None:
    assert is_suspect_source(source)


def test_written_code_is_not_suspect() -> None:
    assert not any(is_suspect_source(file.read_bytes()) for file in Path(treeline.__file__).parent.rglob("*.py"))


def test_a_suspect_text_is_parsed_apart_also_in_a_small_load() -> None:
    with Workers(2, {}, 1_000_000) as workers:
        here = workers.submit([Task("source", "unit", "digest", 0, Dies("not"))]).result()
        apart = workers.submit([Task("source", "unit", "digest", 0, Dies("exit", source=b"{" * 2_000))]).result()
    assert here.process == os.getpid()
    assert [len(chunk.problems) for chunk in apart.chunks] == [1]


@pytest.mark.timeout(60)
def test_a_worker_that_cannot_start_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(TreelineError, match="a worker process died"), Workers(2, {}, 0) as workers:
        workers.submit([Task("source", "unit", "digest", 0, Dies("not"))]).result()


@pytest.mark.timeout(60)
def test_without_a_process_the_tasks_run_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/not/there")
    with Workers(2, {}, 0) as workers:
        result = workers.submit([Task("source", "unit", "digest", 0, Prints())]).result()
    assert result.process == os.getpid() and len(result.chunks) == 1


@pytest.mark.timeout(60)
def test_what_a_library_prints_does_not_get_between_the_results() -> None:
    with Workers(1, {}, 0) as workers:
        results = [workers.submit([Task("source", "unit", "digest", n, Prints())]) for n in range(3)]
        assert [len(result.result().chunks) for result in results] == [1, 1, 1]


@dataclass(frozen=True)
class Prints:
    """A chunk whose parser talks."""

    size: int = 1

    def parse(self) -> Parsed:
        print("hello")
        os.write(1, b"from below")
        return Parsed()


@pytest.mark.timeout(60)
def test_an_error_in_a_worker_is_raised_where_its_result_is_waited_for() -> None:
    with pytest.raises(ZeroDivisionError), Workers(1, {}, 0) as workers:
        workers.submit([Task("source", "unit", "digest", 0, Prints())])
        workers.call(divmod, 1, 0).result()
