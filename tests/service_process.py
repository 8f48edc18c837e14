"""The real service as a process: the container's own start script, on a free port, with its log in a file."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any

from tests.elasticsearch_server import free_port

LOG_SHOWN = 3_000  # characters of the log in a failure
TIMEOUT_S = 300  # seconds; only what hangs takes as long, also on a busy machine
START = Path(__file__).parent.parent / "deploy" / "start.sh"


@dataclass
class ServiceProcess:
    """A started service; `get` never raises for a status, `log` is everything it wrote."""

    base: str
    process: subprocess.Popen[bytes]
    log_file: Path

    def get(self, path: str, seconds: float = 60, headers: Mapping[str, str] | None = None) -> tuple[int, Any]:
        """(status, JSON or text); status 0 when there is no answer at all."""
        request = urllib.request.Request(self.base + path, headers=dict(headers or {}))
        try:
            with urllib.request.urlopen(request, timeout=seconds) as answer:
                status, body = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            status, body = error.code, error.read()
        except (OSError, HTTPException):
            return 0, None
        try:
            return status, json.loads(body)
        except ValueError:
            return status, body.decode(errors="replace")

    def wait_for(self, path: str, status: int, seconds: float = TIMEOUT_S) -> float:
        """Seconds until the path answers with that status."""
        begin = time.monotonic()
        while time.monotonic() - begin < seconds:
            if self.get(path, 5)[0] == status:
                return time.monotonic() - begin
            assert self.process.poll() is None, f"the service ended:\n{self.log()[-LOG_SHOWN:]}"
            time.sleep(0.1)
        raise AssertionError(f"{path} did not answer {status} in {seconds} s:\n{self.log()[-LOG_SHOWN:]}")

    def log(self) -> str:
        return self.log_file.read_text(encoding="utf-8", errors="replace")

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(TIMEOUT_S)


@contextmanager
def service(folder: Path, settings: Mapping[str, str]) -> Iterator[ServiceProcess]:
    """Run deploy/start.sh with these `TREELINE_*` settings (their names without the prefix, in small letters)."""
    port = free_port()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TREELINE_")}
    environment |= {f"TREELINE_{name.upper()}": value for name, value in settings.items()}
    environment["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment["TREELINE_BIND"] = f"127.0.0.1:{port}"
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "service.log"
    with log.open("ab") as file:
        process = subprocess.Popen([str(START)], env=environment, stdout=file, stderr=file, cwd=folder)
    running = ServiceProcess(f"http://127.0.0.1:{port}", process, log)
    try:
        yield running
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
