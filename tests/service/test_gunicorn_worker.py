"""A worker with more requests at hand than threads asks clients to connect anew, so that others get their share."""

import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from eval.served import served
from tests.service.small_index import small_store


def asked(base: str, times: int) -> list[bool]:
    """Whether the server kept the connection after each of so many requests."""
    kept = []
    connection = HTTPConnection(urlsplit(base).netloc, timeout=10)
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
    with served("small", extra={"TREELINE_WORKERS": "1", "TREELINE_THREADS": "2"}) as (base, _):
        assert all(asked(base, 10))
        with ThreadPoolExecutor(8) as clients:
            crowd = list(clients.map(lambda _: asked(base, 20), range(8)))
        assert not all(kept for client in crowd for kept in client)
        time.sleep(0.5)
        assert all(asked(base, 10))
