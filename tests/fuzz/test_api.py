"""Whatever is sent to the service, it answers in time and never with a fault of its own."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from flask.testing import FlaskClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.bad_texts import BAD_TEXTS, SHORT_BAD_TEXTS, within
from tests.fuzz.random_requests import Requests, fault_of
from tests.made_up_source import MadeUpSource, made_up
from treeline.engine.embedded import EmbeddedStore
from treeline.ingest.pipeline import LoadOptions, load
from treeline.search.settings import Settings
from treeline.service.app import create_app

READING = ("/api/search", "/api/suggest", "/api/map", "/search", "/")
PARAMETERS = ("q", "k", "offset", "mode", "fusion", "rerank", "language", "repo", "path", "explain", "expand", "prefix")
NUMBERS = ("-1", "0", "1e9", "99999999999999999999", "NaN", "0x10", "1.5", "", "١", "true")
FUNCTION = made_up(1).id


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    home: Path = tmp_path_factory.mktemp("home")
    options = LoadOptions(work=home / ".loading", workers=0)
    load(EmbeddedStore(home), "default", [MadeUpSource(300)], options)
    app = create_app(Settings(home=str(home)))
    yield app.test_client()
    app.extensions["treeline"].searcher.close()


def encoded(text: str) -> str:
    """As bytes that need not be UTF-8: lone surrogates arrive as what they are."""
    return quote(text.encode("utf-8", "surrogatepass"))


def check(client: FlaskClient, path: str, seconds: float = 10, **request: Any) -> int:
    with within(seconds):
        answer = client.open(path, **request)
        status = answer.status_code
        body = answer.get_data()
    assert status < 500, (path[:200], status, body[:300])
    if status >= 400 and answer.mimetype == "application/json" and request.get("method") != "HEAD":
        error = json.loads(body)["error"]
        assert error.keys() >= {"code", "message", "hint"}
        assert "Traceback" not in body.decode()
    return status


@pytest.mark.parametrize("name", SHORT_BAD_TEXTS)
@pytest.mark.parametrize("path", READING)
def test_any_question_is_answered(client: FlaskClient, path: str, name: str) -> None:
    check(client, f"{path}?q={encoded(SHORT_BAD_TEXTS[name])}&prefix={encoded(SHORT_BAD_TEXTS[name])}")


@pytest.mark.parametrize("name", BAD_TEXTS)
def test_a_question_of_any_length_is_answered_or_refused(client: FlaskClient, name: str) -> None:
    check(client, f"/api/search?q={encoded(BAD_TEXTS[name])}")


@pytest.mark.parametrize("parameter", PARAMETERS)
@pytest.mark.parametrize("path", READING)
def test_any_value_of_any_parameter_is_answered(client: FlaskClient, path: str, parameter: str) -> None:
    for value in (*SHORT_BAD_TEXTS.values(), *NUMBERS):
        others = "" if parameter == "q" else "&q=parse"
        check(client, f"{path}?{parameter}={encoded(value)}{others}")


def test_parameters_given_many_times_or_by_the_thousand_are_answered(client: FlaskClient) -> None:
    check(client, "/api/search?" + "&".join(f"q={number}" for number in range(2_000)))
    check(client, "/api/search?q=x&" + "&".join(f"p{number}=1" for number in range(5_000)))


@pytest.mark.parametrize("name", SHORT_BAD_TEXTS)
@pytest.mark.parametrize("suffix", ["", "/similar", "/neighbours"])
def test_any_id_is_found_or_not_found(client: FlaskClient, name: str, suffix: str) -> None:
    text = encoded(SHORT_BAD_TEXTS[name])
    check(client, f"/api/functions/{text}{suffix}")
    check(client, f"/functions/{text}{suffix}")


BODIES: dict[str, bytes] = {
    "nothing": b"",
    "no JSON": b"{",
    "deep list": b"[" * 30_000,
    "deep object": b'{"a":' * 10_000,
    "null": b"null",
    "list": b"[1, 2]",
    "text": b'"x"',
    "huge number": b'{"query": "x", "function_id": "y", "value": 1e999}',
    "not UTF-8": b'{"query": "\xff\xfe"}',
    "lone surrogate": b'{"query": "\\ud800", "function_id": "\\udfff", "event": "up"}',
    "NUL": b'{"query": "\\u0000", "function_id": "\\u0000", "event": "up"}',
    "a megabyte": b'{"query": "' + b"a" * 1_000_000 + b'"}',
    "many fields": json.dumps({f"f{number}": number for number in range(3_000)}).encode(),
}


@pytest.mark.parametrize(
    "kind",
    [
        "application/json",
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "x/y; charset=\udce9",
    ],
)
@pytest.mark.parametrize("name", BODIES)
def test_any_body_is_taken_or_refused(client: FlaskClient, name: str, kind: str) -> None:
    content = kind.encode("utf-8", "surrogateescape").decode("latin-1")
    check(client, "/api/feedback", method="POST", data=BODIES[name], content_type=content)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "TRACE", "NONSENSE"])
def test_any_method_is_answered(client: FlaskClient, method: str) -> None:
    for path in (*READING, f"/api/functions/{FUNCTION}", "/api/feedback", "/healthz", "/metrics", "/openapi.json"):
        check(client, path, method=method)


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Request-ID": "x" * 10_000},
        {"Accept": "*/*;q=" + "9" * 1_000},
        {"Accept-Encoding": "gzip;q=nan, br;q=-1, *"},
        {"If-None-Match": '"' * 5_000},
        {"Range": "bytes=9999999999999-0"},
        {"Authorization": "Bearer " + "a" * 10_000},
        {"Authorization": "Basic \xff\xfe"},
        {"Cookie": "=;" * 2_000},
        {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
        {"X-Forwarded-For": "1.2.3.4, " * 500},
        {"Host": "x" * 300},
        {"Host": "x" * 301, "Accept": "text/html"},
        {"Host": "[::1"},
        {"Content-Length": "-5"},
    ],
    ids=lambda headers: f"{next(iter(headers))} {next(iter(headers.values()))[:12]}",
)
def test_any_header_is_answered(client: FlaskClient, headers: dict[str, str]) -> None:
    for path in ("/api/search?q=parse", "/search?q=parse", "/"):
        check(client, path, headers=headers)


@pytest.mark.parametrize(
    "path",
    [
        "/..%2f..%2fetc/passwd",
        "/static/../../etc/passwd",
        "/static/%2e%2e/%2e%2e/app.py",
        "//etc",
        "/%00",
        "/" + "a/" * 2_000,
    ],
)
def test_no_path_leads_out_of_the_service(client: FlaskClient, path: str) -> None:
    assert check(client, path) in {301, 308, 400, 404, 414}


def test_random_requests_never_meet_a_fault_of_the_service(client: FlaskClient) -> None:
    requests = Requests.of(client.application)
    for number in range(300):
        request = requests.make(number)
        _, fault = fault_of(client.application, request)
        assert not fault, request


text = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(READING), st.dictionaries(st.sampled_from(PARAMETERS), text))
def test_no_mixture_of_values_is_a_fault(client: FlaskClient, path: str, values: dict[str, str]) -> None:
    check(client, f"{path}?{urlencode(values)}")
