"""Load is counted right: requests, errors and times, by threads and by wrk; memory is seen to grow or not."""

import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from benchmarks.http import QUESTIONS, MemoryWatch, memory, paths, processor_seconds, put_load, questions
from tests.waiting import until

WRK = pytest.mark.skipif(not shutil.which("wrk"), reason="wrk is not installed")


class Handler(BaseHTTPRequestHandler):
    """Answers 503 to every question with `bad` in it."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = b"{}"
        self.send_response(503 if "bad" in self.path else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: object) -> None:
        """Silent."""


@pytest.fixture(scope="module")
def base() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize("tool", ["threads", pytest.param("wrk", marks=WRK)])
def test_answers_are_counted_and_timed_and_refused_ones_are_errors(base: str, tool: str) -> None:
    load = put_load(base, paths(["parse json", "naïve & quoted?"]), 2, 1, tool=tool)
    assert load.requests > 10
    assert load.errors == 0
    assert 0 < load.p50 <= load.p95 <= load.p99 <= load.max
    assert load.throughput == pytest.approx(load.requests / load.seconds)
    load = put_load(base, paths(["bad"]), 2, 1, tool=tool)
    assert load.errors >= load.requests > 0


def test_a_server_that_is_not_there_is_all_errors() -> None:
    load = put_load("http://127.0.0.1:9", paths(["x"]), 1, 2, tool="threads")
    assert load.errors == load.requests > 0


def test_questions_come_from_codesearchnet_or_from_ourselves() -> None:
    assert len(questions()) in (99, len(QUESTIONS))
    assert len(set(QUESTIONS)) == len(QUESTIONS) >= 30


def test_memory_of_this_process_is_seen_and_its_growth_is_a_slope() -> None:
    assert memory(os.getpid()) > 10
    watch = MemoryWatch(os.getpid())
    watch.seen = [(second, 100 + second / 6) for second in range(120)]
    assert watch.growth_a_minute() == pytest.approx(10)
    assert watch.peak == pytest.approx(100 + 119 / 6)


def test_processor_time_counts_work_and_not_waiting() -> None:
    """Of processes of its own: this one may have a busy server among its children."""
    working, waiting = (["sh", "-c", what] for what in ("while :; do :; done", "read line"))
    with subprocess.Popen(working) as worker, subprocess.Popen(waiting, stdin=subprocess.PIPE) as waiter:
        until(lambda: processor_seconds(worker.pid) >= 0.5)
        assert processor_seconds(waiter.pid) < 0.2
        worker.kill()
        waiter.kill()
    assert processor_seconds(2**22 + 1) == 0.0
