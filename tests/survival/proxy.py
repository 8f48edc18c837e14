"""A proxy at the network's edge that fails as busy servers do: 429, 503, lost answers, single refused documents."""

import http.client
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import cycle
from typing import Any
from urllib.parse import urlsplit

HOP_BY_HOP = {"connection", "transfer-encoding", "content-length", "keep-alive"}
WAYS = ("429", "503", "lost answer", "broken off", "single documents")
OUTAGE = 6  # requests; the client itself asks four times
BUSY = {"type": "es_rejected_execution_exception", "reason": "queue is full"}

AWAY = {"type": "no_shard_available_action_exception", "reason": "No shard available"}


class FailingProxy(ThreadingHTTPServer):
    """Passes everything on, no sooner than `delay` seconds later.

    Bulk requests fail in one of the ways with the given chance. `outages` name other requests by a part of their first
    line (`PUT /index/_mapping`) and the way in which the first `OUTAGE` of them fail.
    """

    daemon_threads = True

    def __init__(
        self, target: str, chance: float, seed: int = 0, delay: float = 0.0, outages: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.target = urlsplit(target)
        self.chance = chance
        self.delay = delay
        self.random = random.Random(seed)
        self.ways = cycle(WAYS)  # in turn: by chance one might not come up in a short load
        self.happened: Counter[str] = Counter()
        self.lock = threading.Lock()
        self.outages = dict(outages or {})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def choose(self, request: str) -> str:
        with self.lock:
            for part, way in self.outages.items():
                if part in request and self.happened[part] < OUTAGE:
                    self.happened[part] += 1
                    return way
            if not request.endswith("/_bulk"):
                return "pass"
            way = "pass"
            if self.random.random() < self.chance:
                way = next(self.ways)
            self.happened[way] += 1
            return way


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FailingProxy

    def do_GET(self) -> None:
        self.forward()

    def do_POST(self) -> None:
        self.forward()

    def do_PUT(self) -> None:
        self.forward()

    def do_DELETE(self) -> None:
        self.forward()

    def do_HEAD(self) -> None:
        self.forward()

    def forward(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        time.sleep(self.server.delay)
        way = self.server.choose(f"{self.command} {self.path.partition('?')[0]}")
        if way in {"429", "503"}:
            self.answer(
                int(way), [], json.dumps({"error": {**BUSY, "root_cause": [BUSY]}, "status": int(way)}).encode()
            )
        elif way == "broken off":
            self.close_connection = True
            self.connection.close()
        elif way == "shard away":
            self.answer(
                200, [], json.dumps({"docs": [{"_id": id, "error": AWAY} for id in json.loads(body)["ids"]]}).encode()
            )
        elif way == "single documents":
            self.answer(*self.some_refused(body))
        else:
            status, headers, data = self.ask(body)
            if way == "lost answer":  # done, but the client never hears of it
                self.close_connection = True
                self.connection.close()
                return
            self.answer(status, headers, data)

    def ask(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        target = self.server.target
        connection = http.client.HTTPConnection(target.hostname or "", target.port, timeout=60)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP_BY_HOP}
        headers.pop("Accept-Encoding", None)
        try:
            connection.request(self.command, self.path, body or None, headers)
            answer = connection.getresponse()
            kept = [(name, value) for name, value in answer.getheaders() if name.lower() not in HOP_BY_HOP]
            return answer.status, kept, answer.read()
        finally:
            connection.close()

    def some_refused(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        """Every third document is not passed on but said to be refused for now, as a full queue of one shard does."""
        lines = body.rstrip(b"\n").split(b"\n")
        actions: list[tuple[bytes, ...]] = []
        at = 0
        while at < len(lines):
            width = 1 if b'"delete"' in lines[at][:12] else 2
            actions.append(tuple(lines[at : at + width]))
            at += width
        passed = [action for number, action in enumerate(actions) if number % 3]
        if not passed:
            return 429, [], json.dumps({"error": BUSY, "status": 429}).encode()
        status, headers, data = self.ask(b"\n".join(line for action in passed for line in action) + b"\n")
        results = iter(json.loads(data)["items"]) if status == 200 else iter(())
        items: list[Any] = []
        for number, action in enumerate(actions):
            if number % 3 and status == 200:
                items.append(next(results))
            else:
                [(verb, told)] = json.loads(action[0]).items()
                items.append({verb: {"_id": told["_id"], "status": 429, "error": BUSY}})
        return 200, headers, json.dumps({"errors": True, "items": items}).encode()

    def answer(self, status: int, headers: list[tuple[str, str]], data: bytes) -> None:
        self.send_response(status)
        names = {name.lower() for name, _ in headers}
        for name, value in headers:
            self.send_header(name, value)
        if "content-type" not in names:
            self.send_header("Content-Type", "application/vnd.elasticsearch+json;compatible-with=8")
        if "x-elastic-product" not in names:
            self.send_header("X-Elastic-Product", "Elasticsearch")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, *_arguments: object) -> None:
        """Silent."""


@contextmanager
def failing_proxy(
    target: str, chance: float = 0.0, seed: int = 0, delay: float = 0.0, outages: Mapping[str, str] | None = None
) -> Iterator[FailingProxy]:
    proxy = FailingProxy(target, chance, seed, delay, outages)
    thread = threading.Thread(target=proxy.serve_forever, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.shutdown()
        proxy.server_close()
        thread.join()
