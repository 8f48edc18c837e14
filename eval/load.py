"""Load on a running server: so many clients for so many seconds, by `wrk` where it is installed, else by threads."""

from __future__ import annotations

import http.client
import json
import random
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit

import numpy as np

# Each connection walks the questions from a place of its own; an answer that is not 200 counts as an error.
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
    """What a number of clients saw: requests a second, milliseconds, and how many did not get an answer."""

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


def drive(base: str, wanted: Sequence[str], clients: int, seconds: float, *, tool: str = "") -> Load:
    """Ask these paths of the server at `base`, as fast as it answers."""
    tool = tool or ("wrk" if shutil.which("wrk") else "threads")
    return (by_wrk if tool == "wrk" else by_threads)(base, wanted, clients, seconds)


def by_wrk(base: str, wanted: Sequence[str], clients: int, seconds: float) -> Load:
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "load.lua"
        listed = ", ".join(json.dumps(path) for path in wanted)
        script.write_text(SCRIPT.replace("PATHS", listed), encoding="utf-8")
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
        done = subprocess.run(["wrk", *flags, base], capture_output=True, text=True, timeout=seconds + 60, check=True)
    figures = json.loads(done.stdout.splitlines()[-1])
    return Load(clients=clients, tool="wrk", **figures)


def by_threads(base: str, wanted: Sequence[str], clients: int, seconds: float) -> Load:
    """One connection a thread; Python's own cost is in the figures, so `wrk` is to be preferred."""
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
