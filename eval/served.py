"""A server of our own to measure: the real one, by gunicorn, on a free port, with its memory in view."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from treeline.corpus.errors import TreelineError

START_SECONDS = 120.0


@contextmanager
def served(
    index: str = "", engine: str = "", *, kept_answers: bool = False, extra: dict[str, str] | None = None
) -> Iterator[tuple[str, int]]:
    """(address, process id) of a server over the index without rate limits; answers are kept as the settings say, or
    not at all: then searching is measured. Index and engine are the settings' own where none is named."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    measured = {"TREELINE_RATE_PER_ADDRESS": "0", "TREELINE_LOG_LEVEL": "warning"}
    if not kept_answers:
        measured["TREELINE_ANSWER_CACHE"] = "0"
    named = {"TREELINE_INDEX": index, "TREELINE_ENGINE": engine}
    named = {name: value for name, value in named.items() if value}
    environment = {**os.environ, **measured, **named, **(extra or {})}
    environment["GUNICORN_BIND"] = f"127.0.0.1:{port}"
    command = [sys.executable, "-m", "gunicorn", "--config", "python:treeline.service.gunicorn_conf"]
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
    """Megabytes of a process and its children, what they share counted once (PSS)."""
    return sum(_pss(process) for process in (root, *children(root))) / 1024


def processor_seconds(root: int) -> float:
    """Processor time of a process and its children so far: what a request costs, however busy the machine is."""
    return sum(_ticks(process) for process in (root, *children(root))) / os.sysconf("SC_CLK_TCK")


def children(process: int) -> list[int]:
    found: list[int] = []
    try:
        for task in Path(f"/proc/{process}/task").iterdir():
            for child in map(int, (task / "children").read_text(encoding="ascii").split()):
                found += [child, *children(child)]
    except OSError:
        pass
    return found


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
    """Looks at the memory of a server again and again while something else goes on."""

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
        """Megabytes a minute over the second half, when caches are warm: the slope of a least-squares line."""
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
