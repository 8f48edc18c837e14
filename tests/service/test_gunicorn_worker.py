"""A worker with more requests at hand than threads asks clients to connect anew, so that others get their share."""

import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.service.small_index import small_store
from treeline.eval.bench.http import run_server
from treeline.service.http.gunicorn_worker import CORK


def asked(base: str, times: int) -> list[bool]:
    """Whether the server kept the connection after each of so many requests."""
    kept = []
    connection = HTTPConnection(urlsplit(base).netloc, timeout=60)
    for _ in range(times):
        connection.request("GET", "/api/search?q=convert+int+to+string")
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200
        kept.append(not answer.will_close)
    connection.close()
    return kept


def test_connections_are_kept_until_more_come_than_there_are_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_store(tmp_path)
    monkeypatch.setenv("TREELINE_HOME", str(tmp_path))
    with run_server("small", extra={"TREELINE_WORKERS": "1", "TREELINE_THREADS": "2"}) as (base, _):
        assert all(asked(base, 10))
        until(lambda: not all(crowd(base)))
        until(lambda: all(asked(base, 10)))


@pytest.mark.skipif(CORK is None, reason="only Linux can hold a packet back")
def test_head_and_body_of_an_answer_come_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_store(tmp_path)
    monkeypatch.setenv("TREELINE_HOME", str(tmp_path))
    with run_server("small", extra={"TREELINE_WORKERS": "1"}) as (base, _):
        address = urlsplit(base)
        with socket.create_connection((address.hostname, address.port), timeout=60) as client:
            for _ in range(20):
                client.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                head, _, body = client.recv(65_536).partition(b"\r\n\r\n")
                assert head.startswith(b"HTTP/1.1 200") and body


HEAD = b"POST /api/feedback HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 999\r\n"


@pytest.mark.parametrize("begun", [HEAD, HEAD + b"\r\n{"], ids=["head", "body"])
def test_clients_that_do_not_finish_their_requests_keep_nobody_out_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begun: bytes
) -> None:
    small_store(tmp_path)
    monkeypatch.setenv("TREELINE_HOME", str(tmp_path))
    with run_server("small", extra={"TREELINE_WORKERS": "1", "TREELINE_THREADS": "2"}) as (base, _):
        address = urlsplit(base)
        slow = [socket.create_connection((address.hostname, address.port)) for _ in range(2)]
        for client in slow:
            client.sendall(begun)
        asked(base, 1)  # waits for a minute at most
        for client in slow:
            client.close()


def crowd(base: str) -> list[bool]:
    with ThreadPoolExecutor(8) as clients:
        return [kept for client in clients.map(lambda _: asked(base, 20), range(8)) for kept in client]


def until(happens: Callable[[], bool]) -> None:
    """On a busy machine eight clients may come one after the other, and a connection's end may be noticed late."""
    patience = time.monotonic() + 60
    while not happens():
        assert time.monotonic() < patience
