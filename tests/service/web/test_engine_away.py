"""An engine that refuses or hangs is told in the error envelope and on the front page, in bounded time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from apiflask import APIFlask

from treeline.corpus.errors import CredentialsError, EngineUnavailable
from treeline.search.settings import Settings
from treeline.service.cli.index import wait
from treeline.service.http import context

# What a server of version 8.19 with security answers to a wrong password.
REFUSAL = (
    b'{"error":{"root_cause":[{"type":"security_exception","reason":"unable to authenticate user [treeline]"}],'
    b'"type":"security_exception","reason":"unable to authenticate user [treeline]"},"status":401}'
)


class Refusing(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(401)
        self.send_header("X-Elastic-Product", "Elasticsearch")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(REFUSAL)))
        self.end_headers()
        self.wfile.write(REFUSAL)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def listening(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def refusing(tmp_path: Path) -> Iterator[Settings]:
    with listening(Refusing) as url:
        yield Settings(
            home=str(tmp_path),
            engine="elasticsearch",
            elasticsearch_url=url,
            elasticsearch_user="treeline",
            elasticsearch_password="wrong",
        )


def test_wrong_credentials_are_a_service_that_cannot_answer_and_what_to_set(
    refusing: Settings, make_app: Callable[[Settings], APIFlask]
) -> None:
    client = make_app(refusing).test_client()
    for address in ("/api/search?q=parse", "/api/status", "/api/suggest?prefix=pa"):
        reply = client.get(address)
        assert reply.status_code == 503
        told = reply.get_json()["error"]
        assert told["code"] == "engine_unavailable"
        assert "refuses the credentials" in told["message"]
        assert "TREELINE_ELASTICSEARCH_USER" in told["hint"]
        assert "wrong" not in reply.text
    probe = client.get("/readyz")
    assert probe.status_code == 503
    assert probe.get_json()["error"]["message"] == "the index is not ready"  # it is open to everybody
    home = client.get("/")
    assert home.status_code == 200
    assert "The index cannot be reached" in home.text
    assert "TREELINE_ELASTICSEARCH_USER" in home.text


def test_credentials_that_are_refused_later_are_told_on_the_front_page(
    app: APIFlask, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> int:
        raise CredentialsError("Elasticsearch refuses the credentials", "set the password")

    client = app.test_client()
    assert 'class="figures"' in client.get("/").text
    monkeypatch.setattr(type(app.extensions["treeline"].searcher.engine), "count", refused)
    assert "Set the password." in client.get("/").text


def test_waiting_for_the_engine_ends_at_once_where_the_credentials_are_wrong(
    refusing: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREELINE_ENGINE", refusing.engine)
    monkeypatch.setenv("TREELINE_ELASTICSEARCH_URL", refusing.elasticsearch_url)
    with pytest.raises(CredentialsError):
        wait.main(["--seconds", "600"], standalone_mode=False)


def test_waiting_for_the_engine_says_at_once_why(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TREELINE_ENGINE", "elasticsearch")
    monkeypatch.setenv("TREELINE_ELASTICSEARCH_URL", "http://127.0.0.1:9")
    with pytest.raises(EngineUnavailable):
        wait.main(["--seconds", "3"], standalone_mode=False)
    assert capsys.readouterr().err.startswith("Waiting up to 3 s: Elasticsearch does not answer at http://127.0.0.1:9")


def test_the_front_page_does_not_wait_for_an_engine_that_hangs(app: APIFlask, monkeypatch: pytest.MonkeyPatch) -> None:
    let_go = threading.Event()

    def hang(*_: object) -> int:
        let_go.wait(600)
        return 0

    monkeypatch.setattr(type(app.extensions["treeline"].searcher.engine), "count", hang)
    monkeypatch.setattr(app.extensions["treeline"].ready, "_seconds", 1.0)
    begun = time.monotonic()
    try:
        first, second = (app.test_client().get("/") for _ in range(2))
    finally:
        let_go.set()
    assert time.monotonic() - begun < 60  # nothing near the minutes that the engine hangs
    for page in (first, second):
        assert page.status_code == 200
        assert "The index cannot be reached" in page.text
        assert "has not answered for" in page.text
    assert context.FIGURES_SECONDS <= 2
