"""One envelope for every error, and no request that is answered with a 5xx or a traceback."""

import time
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest
from apiflask import APIFlask
from flask.testing import FlaskClient
from pytest import mark

from tests.service.web.library import INDEX
from treeline.corpus.errors import EngineUnavailable
from treeline.engine.embedded import EmbeddedStore
from treeline.search.settings import Settings
from treeline.service.http.context import Context

BAD_REQUESTS = [
    ("/api/search", 422),
    ("/api/search?q=", 422),
    ("/api/search?q=%20%20", 400),
    ("/api/search?q=x&k=0", 422),
    ("/api/search?q=x&k=-1", 422),
    ("/api/search?q=x&k=301", 400),
    ("/api/search?q=x&k=99999999999999999999999", 400),
    ("/api/search?q=x&k=ten", 422),
    ("/api/search?q=x&offset=-1", 422),
    ("/api/search?q=x&offset=10001", 400),
    ("/api/search?q=x&mode=telepathy", 422),
    ("/api/search?q=x&rerank=telepathy", 400),
    ("/api/search?q=x&quality=finest", 422),
    ("/api/search?q=x&fusion=telepathy", 400),
    ("/api/search?q=x&explain=perhaps", 422),
    ("/api/search?q=x&querry=y", 422),
    ("/api/search?q=x&repo=a&repo=b", 400),
    ("/api/map?q=x&q=y", 400),
    ("/api/search?q=" + "x" * 100_001, 400),
    ("/api/functions/nonsense", 422),
    ("/api/functions/" + "0" * 32, 404),
    ("/api/functions/" + "0" * 32 + "/similar", 404),
    ("/api/suggest?prefix=", 422),
    ("/api/map", 422),
    ("/api/status?verbose=1", 422),
    ("/api/eval?run=x", 422),
    ("/api/functions/" + "0" * 32 + "?code=false", 422),
    ("/api/functions/" + "0" * 32 + "/neighbours?k=3", 422),
    ("/api/functions/" + "0" * 32 + "/similar?k=1&k=2", 400),
    ("/api/nowhere", 404),
]


@mark.parametrize(("address", "status"), BAD_REQUESTS)
def test_a_bad_request_is_told_what_was_wrong_and_what_to_do(client: FlaskClient, address: str, status: int) -> None:
    answer = client.get(address)
    assert answer.status_code == status
    error = answer.get_json()["error"]
    assert error.keys() == {"code", "message", "hint"} and all(error.values())
    assert "Traceback" not in error["message"]


@mark.parametrize(
    ("address", "said"),
    [("/api/search?q=x&limit=3", "limit: there is no such parameter"), ("/api/search", "q: it is missing")],
)
def test_a_parameter_that_is_unknown_or_missing_is_told_in_plain_words(
    client: FlaskClient, address: str, said: str
) -> None:
    assert said in client.get(address).get_json()["error"]["message"]


@mark.parametrize(
    "question", ["\0", "\u202e", "😀" * 300, "(" * 900, "a" * 1000, "'; DROP TABLE votes;--", "*", "\\", "AND OR NOT"]
)
def test_odd_questions_are_answered(client: FlaskClient, question: str) -> None:
    answer = client.get("/api/search", query_string={"q": question})
    assert answer.status_code in {200, 400}


def test_a_method_that_is_not_there(client: FlaskClient) -> None:
    answer = client.delete("/api/search")
    assert answer.status_code == 405 and answer.get_json()["error"]["code"] == "method_not_allowed"
    assert "GET" in answer.headers["Allow"]


@mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"{", "application/json", 400),
        (b"[]", "application/json", 422),
        (b"null", "application/json", 422),
        (b'{"query": "\\ud800", "function": "%s", "signal": "up"}' % (b"0" * 32), "application/json", 400),
        (b"query=x", "application/x-www-form-urlencoded", 415),
        (b"x" * 500_001, "application/json", 413),
        (b'{"query": "x", "function": "%s", "signal": "up"}' % (b"0" * 32), "application/json", 404),
        (b'{"query": " ", "function": "%s", "signal": "up"}' % (b"0" * 32), "application/json", 422),
        (b'{"query": "x", "function": "1", "signal": "sideways"}', "application/json", 422),
    ],
)
def test_bad_bodies_are_refused(client: FlaskClient, body: bytes, kind: str, status: int) -> None:
    answer = client.post("/api/feedback", data=body, content_type=kind)
    assert answer.status_code == status
    error = answer.get_json()["error"]
    assert error["hint"]
    if body in (b"{", b"[]"):
        assert error["message"].endswith("not valid JSON." if body == b"{" else "the body is not a JSON object")


@mark.parametrize(("size", "status"), [(500_001, 413), (499_999, 400)])
def test_a_body_without_a_length_is_held_to_the_same_limit(client: FlaskClient, size: int, status: int) -> None:
    answer = client.post(
        "/api/feedback",
        input_stream=BytesIO(b"x" * size),
        content_type="application/json",
        headers={"Transfer-Encoding": "chunked"},
        environ_overrides={"wsgi.input_terminated": True},  # as the server says
    )
    assert answer.status_code == status


def test_without_an_index_the_service_says_what_to_do_and_finds_it_later(
    tmp_path: Path, library: Path, make_app: Callable[[Settings], APIFlask]
) -> None:
    home = tmp_path / "home"
    app = make_app(Settings(home=str(home), index=INDEX))
    client = app.test_client()
    refused = client.get("/api/search?q=x")
    assert refused.status_code == 503 and refused.headers["Retry-After"]
    assert refused.get_json()["error"]["code"] == "index_missing"
    assert client.get("/healthz").status_code == 200
    assert client.get("/readyz").status_code == 503
    page = client.get("/", headers={"Accept": "text/html"})
    assert page.status_code == 200 and "nothing to search yet" in page.get_data(as_text=True)
    (home / INDEX).parent.mkdir(parents=True, exist_ok=True)
    (home / INDEX).symlink_to(library / INDEX)
    until = time.monotonic() + 120
    while client.get("/readyz").status_code != 200 and time.monotonic() < until:
        time.sleep(0.2)
    assert client.get("/readyz").status_code == 200
    assert client.get("/api/search?q=heap").status_code == 200


def test_an_engine_that_is_down_is_a_503_on_the_api_and_a_page_for_people(
    app: APIFlask, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = app.extensions["treeline"]
    assert isinstance(here, Context)

    def down(*_: object) -> None:
        raise EngineUnavailable("the engine does not answer", "start it")

    monkeypatch.setattr(here.searcher, "search", down)
    client = app.test_client()
    answer = client.get("/api/search?q=x")
    assert answer.status_code == 503 and answer.get_json()["error"]["code"] == "engine_unavailable"
    page = client.get("/search?q=x", headers={"Accept": "text/html"})
    assert page.status_code == 503
    assert "The index cannot be reached" in page.get_data(as_text=True) and "Try again" in page.get_data(as_text=True)


def test_an_unforeseen_error_shows_nothing_of_the_inside(app: APIFlask, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("secret path /home/someone")

    monkeypatch.setattr(app.extensions["treeline"].searcher, "search", broken)
    answer = app.test_client().get("/api/search?q=x")
    assert answer.status_code == 500
    assert answer.get_json()["error"]["code"] == "internal_error" and "secret" not in answer.get_data(as_text=True)


def test_an_index_that_was_dropped_is_no_longer_searched(
    own_home: Path, make_app: Callable[[Settings], APIFlask]
) -> None:
    client = make_app(Settings(home=str(own_home), index=INDEX)).test_client()
    assert client.get("/api/search?q=parse").status_code == 200
    EmbeddedStore(own_home).drop(INDEX)
    patience = time.monotonic() + 120
    while (answer := client.get("/api/search?q=parse")).status_code == 200:
        assert time.monotonic() < patience
        time.sleep(0.1)
    assert (answer.status_code, answer.get_json()["error"]["code"]) == (503, "index_missing")
