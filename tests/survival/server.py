"""Rounds against a running server: killed processes, slow or dead clients, and loads and damage meanwhile."""

import json
import os
import random
import shutil
import socket
import struct
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import ExitStack
from http.client import HTTPException
from pathlib import Path
from typing import Any

from tests.survival.processes import INDEX, LONGEST, Failure

QUESTION = "/api/search?q=sort+the+matrix&code=true&k=3"
SLOW, GONE = 60, 40  # clients
TRIES = 5  # answers in a row that must be right


class Server:
    """`treeline serve` on its own home."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.version = 0
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.start()

    def start(self) -> None:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("TREELINE_")}
        environment |= {"TREELINE_HOME": str(self.home), "TREELINE_ANSWER_CACHE": "0"}
        order = [sys.executable, "-m", "treeline.service.cli", "serve", "--name", INDEX, "--port", str(self.port)]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(order, env=environment, stdout=log, stderr=log)

    @property
    def log(self) -> Path:
        return self.home.with_suffix(".log")

    def ask(self) -> tuple[int, int]:
        """The status (0: no answer) and the version of the answer (0: none)."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{QUESTION}", timeout=30) as answer:
                found: list[dict[str, Any]] = json.loads(answer.read())["results"]
                return 200, int(found[0]["code"].rpartition("+ ")[2], 10) if found else 0
        except urllib.error.HTTPError as error:
            return error.code, 0
        except (OSError, HTTPException):
            return 0, 0

    def settle(self, versions: set[int]) -> int:
        """Wait for several right answers in a row; a 500 or another version fails at once."""
        end, right, version = time.monotonic() + LONGEST, 0, 0
        while right < TRIES:
            status, version = self.ask()
            if status not in {0, 200, 503} or (status == 200 and version > max(versions)):
                raise Failure(f"the server answers {status} with version {version}: {self.said()}")
            right = right + 1 if status == 200 and version in versions else 0
            if time.monotonic() > end:
                raise Failure(f"no right answer in {LONGEST:.0f} s, but {status} with version {version}: {self.said()}")
            if not right:
                time.sleep(0.1)
        return version

    def answers(self, statuses: set[int], versions: set[int]) -> None:
        """Wait for any of these answers."""
        end = time.monotonic() + LONGEST
        while True:
            status, version = self.ask()
            if status in statuses and (status != 200 or version in versions):
                return
            if status not in {0, 503} or time.monotonic() > end:
                raise Failure(f"the server answers {status} with version {version}: {self.said()}")
            time.sleep(0.1)

    def said(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")[-600:]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.kill()


def disturb(server: Server, what: str, chance: random.Random, clients: ExitStack) -> None:
    """Disturb a server, which must survive it; `clients` closes the sockets at the end."""
    if what == "the server killed":
        server.kill()
        server.start()
    elif what == "slow clients":
        for _ in range(SLOW):
            client = clients.enter_context(socket.create_connection(("127.0.0.1", server.port), 10))
            client.sendall(f"GET {QUESTION} HTTP/1.1\r\nHost: x".encode()[: chance.randint(1, 60)])
    elif what == "dead clients":
        for _ in range(GONE):
            with socket.create_connection(("127.0.0.1", server.port), 10) as client:
                client.sendall(f"GET {QUESTION} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # close with a reset
    elif what == "damage":
        pointer = (server.home / INDEX / "current").read_text(encoding="utf-8")
        files = sorted(path for path in (server.home / INDEX / pointer / "rows").iterdir() if path.stat().st_size)
        file = chance.choice(files)
        data = bytearray(file.read_bytes())
        data[chance.randrange(len(data))] ^= 1
        file.unlink()
        file.write_bytes(data)
        server.kill()  # a new process opens the damaged file
        server.start()


def new_server(template: Path, base: Path) -> Server:
    home = base / "server"
    shutil.copytree(template, home)
    return Server(home)
