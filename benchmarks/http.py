"""Load tests of the service: 1, 8 and 64 clients against a local server, and a soak test that watches its memory."""

from __future__ import annotations

import http.client
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import click
import numpy as np

from benchmarks.figures import JSON, Report
from treeline.corpus.errors import TreelineError
from treeline.eval.sets.codesearchnet import CHECKOUT_DATA, QUERIES, read_queries
from treeline.service.cli import main
from treeline.service.cli.options import index_options, settings_for

# Each connection starts at a random question; an answer that is not 200 counts as an error.
SCRIPT = """
local paths = {PATHS}
local threads, number = {}, 0
function setup(thread) number = number + 1; thread:set("number", number); table.insert(threads, thread) end
function init() math.randomseed(number); at = math.random(#paths); bad = 0 end
function request() at = at % #paths + 1; return wrk.format("GET", paths[at]) end
function response(status) if status ~= 200 then bad = bad + 1 end end
function done(summary, latency, requests)
  local bad = 0
  for _, thread in ipairs(threads) do bad = bad + thread:get("bad") end
  local errors = summary.errors
  io.write(string.format('\\n{"requests": %d, "seconds": %f, "errors": %d, "p50": %f, "p95": %f, "p99": %f, "max": %f}',
    summary.requests, summary.duration / 1e6, bad + errors.connect + errors.read + errors.write + errors.timeout,
    latency:percentile(50) / 1e3, latency:percentile(95) / 1e3, latency:percentile(99) / 1e3, latency.max / 1e3))
end
"""


@dataclass(frozen=True, slots=True)
class Load:
    """The clients' view: requests, times in milliseconds, errors."""

    clients: int
    requests: int
    errors: int
    seconds: float
    p50: float
    p95: float
    p99: float
    max: float
    tool: str

    @property
    def throughput(self) -> float:
        return self.requests / self.seconds if self.seconds else 0.0


def paths(questions: Sequence[str], prefix: str = "/api/search?k=10&q=") -> list[str]:
    return [prefix + quote(question) for question in questions]


def put_load(base: str, wanted: Sequence[str], clients: int, seconds: float, *, tool: str = "") -> Load:
    """Request these paths from the server as fast as it answers."""
    tool = tool or ("wrk" if shutil.which("wrk") else "threads")
    return (by_wrk if tool == "wrk" else by_threads)(base, wanted, clients, seconds)


def by_wrk(base: str, wanted: Sequence[str], clients: int, seconds: float) -> Load:
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "load.lua"
        listing = ", ".join(json.dumps(path) for path in wanted)
        script.write_text(SCRIPT.replace("PATHS", listing), encoding="utf-8")
        flags = [
            "-t",
            "1",
            "-c",
            str(clients),
            "-d",
            f"{max(1, round(seconds))}s",
            "--timeout",
            "10s",
            "-s",
            str(script),
        ]
        process = subprocess.run(
            ["wrk", *flags, base], capture_output=True, text=True, timeout=seconds + 60, check=True
        )
    figures = json.loads(process.stdout.splitlines()[-1])
    return Load(clients=clients, tool="wrk", **figures)


def by_threads(base: str, wanted: Sequence[str], clients: int, seconds: float) -> Load:
    """One connection per thread. The figures include the cost of the Python client; prefer `wrk`."""
    end = time.perf_counter() + seconds
    took: list[list[float]] = [[] for _ in range(clients)]
    errors = [0] * clients
    address = urlsplit(base).netloc

    def client(number: int) -> None:
        at = random.Random(number).randrange(len(wanted))
        connection = http.client.HTTPConnection(address, timeout=10)
        while (begin := time.perf_counter()) < end:
            at = (at + 1) % len(wanted)
            try:
                connection.request("GET", wanted[at])
                answer = connection.getresponse()
                answer.read()
                errors[number] += answer.status != 200
            except (OSError, http.client.HTTPException):
                errors[number] += 1
                connection.close()
            took[number].append((time.perf_counter() - begin) * 1000)
        connection.close()

    workers = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
    begin = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    every = np.array([each for one in took for each in one])
    p50, p95, p99 = np.percentile(every, [50, 95, 99]) if len(every) else (0.0, 0.0, 0.0)
    return Load(
        clients=clients,
        requests=len(every),
        errors=sum(errors),
        seconds=time.perf_counter() - begin,
        p50=float(p50),
        p95=float(p95),
        p99=float(p99),
        max=float(every.max()) if len(every) else 0.0,
        tool="threads",
    )


START_SECONDS = 600.0


@contextmanager
def run_server(
    index: str = "", engine: str = "", *, kept_answers: bool = False, extra: dict[str, str] | None = None
) -> Iterator[tuple[str, int]]:
    """Start a server over the index without rate limits; yields its address and process id.

    The answer cache is off unless `kept_answers`, so that searching is measured. Index and engine default to the
    settings.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    measurements = {"TREELINE_RATE_PER_ADDRESS": "0", "TREELINE_LOG_LEVEL": "warning"}
    if not kept_answers:
        measurements["TREELINE_ANSWER_CACHE"] = "0"
    names = {"TREELINE_INDEX": index, "TREELINE_ENGINE": engine}
    names = {name: value for name, value in names.items() if value}
    environment = {**os.environ, **measurements, **names, **(extra or {})}
    environment["TREELINE_BIND"] = f"127.0.0.1:{port}"
    command = [sys.executable, "-m", "treeline.service.server"]
    server = subprocess.Popen(command, env=environment)
    base = f"http://127.0.0.1:{port}"
    try:
        wait_ready(base, server)
        yield base, server.pid
    finally:
        server.terminate()
        try:
            server.wait(30)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def wait_ready(base: str, server: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + START_SECONDS
    reason = "no answer"
    while time.monotonic() < end and server.poll() is None:
        try:
            with urllib.request.urlopen(f"{base}/readyz", timeout=5):  # noqa: S310 - our own address
                return
        except urllib.error.HTTPError as error:
            reason = error.read().decode(errors="replace")
        except OSError as error:
            reason = str(error)
        time.sleep(0.1)
    raise TreelineError(f"the server did not get ready: {reason}", "is there an index? `treeline status` shows them")


def memory(root: int) -> float:
    """Megabytes of a process and its children; shared pages count once (PSS)."""
    return sum(_pss(process) for process in (root, *children(root))) / 1024


def processor_seconds(root: int) -> float:
    """Processor time of a process and its children so far."""
    return sum(_ticks(process) for process in (root, *children(root))) / os.sysconf("SC_CLK_TCK")


def children(process: int) -> list[int]:
    results: list[int] = []
    try:
        for task in Path(f"/proc/{process}/task").iterdir():
            for child in map(int, (task / "children").read_text(encoding="ascii").split()):
                results += [child, *children(child)]
    except OSError:
        pass
    return results


def _ticks(process: int) -> int:
    try:
        fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])  # in user and in system mode


def _pss(process: int) -> int:
    try:
        for line in Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    except OSError:
        pass
    return 0


class MemoryWatch:
    """Samples a server's memory in a thread."""

    def __init__(self, process: int, every: float = 2.0) -> None:
        self.seen: list[tuple[float, float]] = []
        self._process, self._every = process, every
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> MemoryWatch:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stop.set()
        self._thread.join()

    @property
    def peak(self) -> float:
        return max((megabytes for _, megabytes in self.seen), default=0.0)

    def growth_a_minute(self) -> float:
        """Megabytes a minute over the second half, when caches are warm, by least squares."""
        half = self.seen[len(self.seen) // 2 :]
        if len(half) < 3:
            return 0.0
        import numpy as np

        minutes, megabytes = np.array(half).T
        return float(np.polyfit(minutes / 60, megabytes, 1)[0])

    def _watch(self) -> None:
        begin = time.monotonic()
        while not self._stop.is_set():
            self.seen.append((time.monotonic() - begin, memory(self._process)))
            self._stop.wait(self._every)


CLIENTS = (1, 8, 64)
SECONDS = 15.0
WARM_UP = 3.0
# Headings: how the figures below were measured.
COMPUTED = "every answer computed, none kept:"
KEPT = "as served by default, the last answers kept:"  # after the warm-up, all of them
GIVEN = "the server at this address, as it is set up:"
# Used if CodeSearchNet's 99 are not available: names, concepts, a typo, one word, a sentence.
QUESTIONS = (
    "convert int to string", "retry with exponential backoff", "sort list of dictionaries by key", "parse json",
    "read csv file line by line", "sha256 of a file", "http get with timeout", "camel case to snake case",
    "flatten nested list", "memoize", "thread pool", "walk directory tree", "levenshtein distance", "parse url",
    "deep merge two dicts", "format bytes human readable", "read_csv", "json.loads", "get_or_create",
    "topological sort", "connect to database", "decorator that measures time", "unzip archive", "validate email adress",
    "random string", "priority queue", "binary search", "group by", "strip html tags", "how to copy a file in python",
)  # fmt: skip


def questions(file: Path | None = None) -> list[str]:
    """CodeSearchNet's queries if they are on this machine, else our own."""
    file = file or CHECKOUT_DATA / QUERIES
    return read_queries(file) if file.exists() else list(QUESTIONS)


def run(
    index: str = "",
    *,
    engine: str = "",
    url: str = "",
    clients: Sequence[int] = CLIENTS,
    seconds: float | None = None,
    minutes: float = 0.0,
    tool: str = "",
    tell: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Measure each number of clients, and a soak if `minutes` is set; `url` measures a running server."""
    targets, seconds = paths(questions()), SECONDS if seconds is None else seconds
    with nullcontext((url, 0)) if url else run_server(index, engine) as (base, process):
        put_load(base, targets, 2, WARM_UP, tool=tool)
        begin = memory(process) if process else 0.0
        tell(GIVEN if url else COMPUTED)
        steps = load_steps(base, process, targets, clients, seconds, tool, tell)
        results: dict[str, Any] = {"steps": steps, "questions": len(targets)}
        if process:
            results["memory_mb"] = {"idle": begin, "after": memory(process)}
        if minutes:
            results["soak"] = soak(base, process, targets, minutes, tool, tell)
    if not url:
        with run_server(index, engine, kept_answers=True) as (base, process):
            put_load(base, targets, 2, WARM_UP, tool=tool)
            tell(KEPT)
            results["kept_steps"] = load_steps(base, process, targets, clients, seconds, tool, tell)
    return results


def load_steps(
    base: str,
    process: int,
    wanted: Sequence[str],
    clients: Sequence[int],
    seconds: float,
    tool: str,
    tell: Callable[[str], None],
) -> list[dict[str, Any]]:
    """One step for each number of clients, with the processor time a request takes."""
    steps = []
    tell(f"{'clients':>8} {'requests/s':>11} {'p50 ms':>8} {'p95 ms':>8} {'p99 ms':>8} {'CPU ms':>8} {'errors':>7}")
    for number in clients:
        times = processor_seconds(process) if process else 0.0
        load = put_load(base, wanted, number, seconds, tool=tool)
        times = (processor_seconds(process) - times) * 1000 / max(1, load.requests) if process else 0.0
        steps.append({**asdict(load), "throughput": load.throughput, "cpu_ms": times})
        took = f"{load.p50:>8.1f} {load.p95:>8.1f} {load.p99:>8.1f} {times:>8.2f}"
        tell(f"{number:>8} {load.throughput:>11.0f} {took} {load.errors:>7}")
    return steps


def soak(
    base: str, process: int, wanted: Sequence[str], minutes: float, tool: str, tell: Callable[[str], None]
) -> dict[str, Any]:
    """Eight clients for `minutes`: errors, and how memory grows."""
    with MemoryWatch(process) as watch:
        load = put_load(base, wanted, 8, minutes * 60, tool=tool)
    growth = watch.growth_a_minute()
    tell(
        f"soak of {minutes:g} min: {load.requests} requests, {load.errors} errors, p95 {load.p95:.1f} ms, "
        f"memory peak {watch.peak:.0f} MB, growth {growth:+.2f} MB/min"
    )
    memory_figures = {"peak": watch.peak, "growth_a_minute": growth, "seen": watch.seen}
    return {**asdict(load), "throughput": load.throughput, "minutes": minutes, "memory_mb": memory_figures}


@click.command
@index_options
@click.option("--url", default="", help="Measure this running server.")
@click.option("--clients", multiple=True, type=click.IntRange(1), help="Clients at once; repeatable.")
@click.option("--minutes", default=0.0, help="Then keep up the load this long.")
@JSON
def command(engine: str | None, name: str, url: str, clients: tuple[int, ...], minutes: float, json_file: str) -> None:
    """Measure the HTTP service under load."""
    report, settings = Report(json_file), settings_for(engine, name)
    report.write(
        run(
            settings.index,
            engine=settings.engine,
            url=url,
            clients=clients or CLIENTS,
            minutes=minutes,
            tell=report.tell,
        )
    )


if __name__ == "__main__":
    main(command)
