"""Every request has an id and one log line; secrets are in none; the figures add up."""

import io
import json
import logging
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from apiflask import APIFlask
from prometheus_client.parser import text_string_to_metric_families

from tests.search.small_index import plan_of
from treeline.engine.protocol import IndexInfo
from treeline.search.answer import Answer
from treeline.search.lanes.lane_set import Degradation
from treeline.search.settings import Settings
from treeline.service.http import logs, observe

PASSWORD = "correct-horse-battery"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=str(tmp_path), elasticsearch_password=PASSWORD)


@pytest.fixture
def written(settings: Settings) -> Iterator[io.StringIO]:
    """Everything that the service's loggers write, as the formatter makes it."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logs.formatter(settings))
    logger = logging.getLogger("treeline")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield stream
    logger.removeHandler(handler)
    logger.setLevel(logging.NOTSET)


def make(settings: Settings, info: IndexInfo | None = None) -> APIFlask:
    app = APIFlask(__name__)
    observe.init_app(app, settings, lambda: info)

    @app.get("/api/search")
    def search() -> dict[str, str]:
        logging.getLogger("treeline.search").info("asked with %s", "Bearer tl_0a1b2c3d_" + "s" * 43)
        return {"request_id": logs.request_id.get()}

    @app.get("/healthz")
    def healthz() -> dict[str, bool]:
        return {"alive": True}

    return app


def lines(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_request_keeps_the_id_it_came_with(settings: Settings, written: io.StringIO) -> None:
    reply = make(settings).test_client().get("/api/search?q=x", headers={"X-Request-ID": "trace-7"})
    assert reply.headers["X-Request-ID"] == "trace-7"
    assert reply.json == {"request_id": "trace-7"}
    assert {line["request_id"] for line in lines(written)} == {"trace-7"}


@pytest.mark.parametrize("bad", ["", "x" * 65, "a b", "<script>"])
def test_a_bad_id_is_replaced(settings: Settings, bad: str) -> None:
    reply = make(settings).test_client().get("/api/search", headers={"X-Request-ID": bad})
    assert len(reply.headers["X-Request-ID"]) == 32


def test_one_access_line_a_request_without_the_question(settings: Settings, written: io.StringIO) -> None:
    make(settings).test_client().get("/api/search?q=my+secret+project")
    [line] = [line for line in lines(written) if line["logger"] == "treeline.access"]
    assert (line["path"], line["status"], line["method"]) == ("/api/search", 200, "GET")
    assert isinstance(line["ms"], float)
    assert "secret" not in written.getvalue()


def test_the_question_is_logged_when_asked_for(settings: Settings, written: io.StringIO) -> None:
    make(replace(settings, log_queries=True)).test_client().get("/api/search?q=parse+json")
    assert any(line.get("q") == "parse json" for line in lines(written))


def test_probes_do_not_fill_the_log(settings: Settings, written: io.StringIO) -> None:
    make(settings).test_client().get("/healthz")
    assert not written.getvalue()


def test_no_key_or_password_reaches_a_log_line(settings: Settings, written: io.StringIO) -> None:
    make(settings).test_client().get("/api/search")
    logger = logging.getLogger("treeline.x")
    logger.warning("cannot reach https://elastic:%s@search.example:9200", PASSWORD)
    logger.warning("header %r", {"Authorization": "ApiKey bXkta2V5OnNlY3JldA=="})
    try:
        raise ValueError(f"password {PASSWORD} refused")
    except ValueError:
        logger.exception("failed")
    text = written.getvalue()
    assert PASSWORD not in text
    assert "sssss" not in text
    assert "bXkta2V5OnNlY3JldA" not in text
    assert text.count(logs.MASK) >= 4


def test_a_lone_surrogate_does_not_stop_the_log(written: io.StringIO) -> None:
    logging.getLogger("treeline.x").warning("path %s", "\ud800")
    assert len(lines(written)) == 1


def sample(text: str, name: str, **labels: str) -> float:
    for family in text_string_to_metric_families(text):
        for each in family.samples:
            if each.name == name and labels.items() <= each.labels.items():
                return float(each.value)
    return 0.0


def test_metrics_count_requests_searches_and_lanes_left_out(settings: Settings) -> None:
    info = IndexInfo("default", "embedded", "g1", 42, (), "2026-01-01T00:00:00+00:00")
    client = make(settings, info).test_client()
    assert client.get("/metrics").headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    before = client.get("/metrics").text
    client.get("/api/search?q=x")
    left_out = (Degradation("dense", "no answer within 3 s"), Degradation("graph", "needs onnxruntime"))
    observe.record_answer(Answer(plan_of("x"), (), 0, (), left_out, {"keyword": 3.0, "total": 5.0}))
    after = client.get("/metrics").text

    def grown(name: str, **labels: str) -> float:
        return sample(after, name, **labels) - sample(before, name, **labels)

    assert grown("treeline_http_requests_total", route="/api/search", status="200") == 1
    assert grown("treeline_search_stage_seconds_count", stage="keyword") == 1
    assert grown("treeline_search_stage_seconds_sum", stage="total") == pytest.approx(0.005)
    assert grown("treeline_lane_failures_total", lane="dense", reason="timeout") == 1
    assert grown("treeline_lane_failures_total", lane="graph", reason="error") == 1
    assert grown("treeline_searches_degraded_total") == 1
    assert sample(after, "treeline_index_functions", index="default") == 42
    assert sample(after, "treeline_index_age_seconds") > 0
    assert sample(after, "treeline_http_in_progress") == 1  # the scrape itself


def test_an_index_that_is_down_is_seen_in_the_metrics(settings: Settings) -> None:
    assert sample(make(settings).test_client().get("/metrics").text, "treeline_index_up") == 0


def test_unknown_addresses_do_not_make_new_series(settings: Settings) -> None:
    client = make(settings).test_client()
    client.get("/made-up-1")
    client.get("/made-up-2")
    assert "made-up" not in client.get("/metrics").text


def test_the_queue_of_a_listening_socket_is_counted() -> None:
    import socket

    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(8)
        port = server.getsockname()[1]
        assert observe.backlog(port) == 0
        with socket.create_connection(("127.0.0.1", port)), socket.create_connection(("127.0.0.1", port)):
            patience = time.monotonic() + 120  # the server's side of a connection may come a moment after the client's
            while observe.backlog(port) != 2:
                assert time.monotonic() < patience
