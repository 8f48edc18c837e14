"""Makes the service observable: request ids, one access-log line a request, and Prometheus metrics."""

from __future__ import annotations

import logging
import random
import re
import time
from collections.abc import Callable, Iterator
from contextvars import Token
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from apiflask import APIFlask
from flask import Response, g, request
from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector

from treeline.engine.protocol import IndexInfo
from treeline.search.answer import Answer
from treeline.search.executor import timed_out
from treeline.search.settings import Settings
from treeline.service.http.logs import request_id
from treeline.service.http.response import current_request

# A search takes 2 to 40 ms; the upper buckets are there to see what a time-out of a lane does.
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.015, 0.025, 0.04, 0.06, 0.1, 0.25, 0.5, 1.0, 3.0, 10.0)

REQUESTS = Counter("treeline_http_requests_total", "Requests answered.", ["method", "route", "status"])
REQUEST_SECONDS = Histogram("treeline_http_request_seconds", "Time to answer.", ["route"], buckets=BUCKETS)
IN_PROGRESS = Gauge("treeline_http_in_progress", "Requests being answered now.")
STAGE_SECONDS = Histogram("treeline_search_stage_seconds", "Time of each search stage.", ["stage"], buckets=BUCKETS)
SEARCHES = Counter("treeline_searches_total", "Searches answered.", ["mode", "route"])
EMPTY = Counter("treeline_searches_empty_total", "Searches that found nothing.")
DEGRADED_ANSWERS = Counter("treeline_searches_degraded_total", "Answers that went out without one of their lanes.")
LANE_FAILURES = Counter("treeline_lane_failures_total", "Lanes left out of an answer.", ["lane", "reason"])
QUEUED_REQUESTS = Counter("treeline_http_queued_total", "Requests that had to wait for a thread.")
REFUSALS = Counter("treeline_http_refused_total", "Requests refused by keys or rate limits.", ["reason"])


# There are few label values, and looking a child up takes time.
requests, request_seconds = cache(REQUESTS.labels), cache(REQUEST_SECONDS.labels)
_searches, _stage_seconds = cache(SEARCHES.labels), cache(STAGE_SECONDS.labels)


def record_answer(answer: Answer) -> None:
    """Count one answered search."""
    _searches(answer.query.mode, answer.route or "none").inc()
    for stage, milliseconds in answer.timings.items():
        _stage_seconds(stage).observe(milliseconds / 1000)
    if not answer.results:
        EMPTY.inc()
    if answer.degraded:
        DEGRADED_ANSWERS.inc()
    for left_out in answer.degraded:
        LANE_FAILURES.labels(left_out.lane, "timeout" if timed_out(left_out.reason) else "error").inc()


class IndexCollector(Collector):
    """The size and age of the served index, read when scraped."""

    def __init__(self, info: Callable[[], IndexInfo | None]) -> None:
        self._info = info

    def collect(self) -> Iterator[Metric]:
        info = self._info()
        labels = ["index", "engine"]
        up = GaugeMetricFamily("treeline_index_up", "1 when an index is open and its engine answers.")
        up.add_metric([], 1.0 if info else 0.0)
        yield up
        if info is None:
            return
        size = GaugeMetricFamily("treeline_index_functions", "Functions in the index.", labels=labels)
        size.add_metric([info.name, info.engine], info.functions)
        yield size
        if (timestamp := _timestamp(info.created)) is not None:
            age = GaugeMetricFamily("treeline_index_age_seconds", "Since the index was built.", labels=labels)
            age.add_metric([info.name, info.engine], max(0.0, time.time() - timestamp))
            yield age


class BacklogCollector(Collector):
    """The length of the listening socket's accept queue (Linux): connections waiting for a worker."""

    def __init__(self, port: Callable[[], int | None]) -> None:
        self._port = port

    def collect(self) -> Iterator[Metric]:
        waiting = backlog(self._port())
        if waiting is not None:
            yield GaugeMetricFamily("treeline_http_queue", "Connections waiting for a worker.", value=waiting)


def backlog(port: int | None) -> int | None:
    """In /proc/net/tcp a listening socket (state 0A) shows its accept queue as the receive queue."""
    if port is None:
        return None
    waiting = None
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            rows = Path(table).read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        for row in rows:
            columns = row.split()
            if columns[3] == "0A" and int(columns[1].rpartition(":")[2], 16) == port:
                waiting = (waiting or 0) + int(columns[4].partition(":")[2], 16)
    return waiting


def exposition(*collectors: Collector) -> bytes:
    """Prometheus' text format: the figures of this process and of these collectors."""
    registry = CollectorRegistry()
    for collector in collectors:
        registry.register(collector)
    return generate_latest(REGISTRY) + generate_latest(registry)


def _timestamp(text: str) -> float | None:
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None


HEADER = "X-Request-ID"
GIVEN_ID = re.compile(r"^[A-Za-z0-9._-]{1,64}$")
QUIET = frozenset({"/healthz", "/readyz", "/metrics"})  # probed every few seconds
METRICS: dict[int | str, Any] = {
    200: {"description": "Prometheus' text format.", "content": {"text/plain": {"schema": {"type": "string"}}}}
}
access = logging.getLogger("treeline.access")


class RequestTrace(NamedTuple):
    """A request in progress: its id, its start, and the token that removes the id from the log context."""

    id: str
    start: float
    token: Token[str]


def init_app(app: APIFlask, settings: Settings, info: Callable[[], IndexInfo | None] = lambda: None) -> None:
    """Observe every request of this app; `info` gives the open index, or None."""

    @app.before_request
    def begin() -> None:
        header = request.headers.get(HEADER, "")
        id_ = header if GIVEN_ID.match(header) else f"{random.getrandbits(128):032x}"
        g.seen = RequestTrace(id_, time.perf_counter(), request_id.set(id_))
        IN_PROGRESS.inc()

    @app.after_request
    def finish(response: Response) -> Response:
        trace: RequestTrace | None = g.get("seen")
        if trace is None:
            return response
        seconds = time.perf_counter() - trace.start
        current = current_request()
        route = current.url_rule.rule if current.url_rule else "unmatched"
        response.headers[HEADER] = trace.id
        requests(current.method, route, response.status_code).inc()
        request_seconds(route).observe(seconds)
        level = logging.DEBUG if current.path in QUIET else logging.INFO
        if access.isEnabledFor(level):
            access.log(
                level,
                "%s %s %d",
                current.method,
                current.path,
                response.status_code,
                extra={"fields": line(response, seconds, settings)},
            )
        return response

    @app.teardown_request
    def end(_error: BaseException | None) -> None:
        trace: RequestTrace | None = g.pop("seen", None)
        if trace is not None:
            IN_PROGRESS.dec()
            request_id.reset(trace.token)

    serve_metrics(app, info)


def line(response: Response, seconds: float, settings: Settings) -> dict[str, object]:
    """The fields of a request's access log line."""
    fields: dict[str, object] = {
        "method": request.method,
        "path": request.path,
        "status": response.status_code,
        "ms": round(seconds * 1000, 2),
        "address": request.remote_addr or "",
        "bytes": response.content_length or 0,
    }
    if key := g.get("api_key"):
        fields["key"] = key.id
    if settings.log_queries and (question := request.args.get("q")):
        fields["q"] = question
    return fields


def serve_metrics(app: APIFlask, info: Callable[[], IndexInfo | None]) -> None:
    def port() -> int | None:
        return int(raw) if (raw := request.environ.get("SERVER_PORT", "")).isdigit() else None

    index, queue = IndexCollector(info), BacklogCollector(port)

    @app.get("/metrics")
    @app.doc(operation_id="metrics", responses=METRICS)
    def metrics() -> Response:
        """Counters and times for Prometheus.

        Requests, searches by stage, lanes left out, the index's age and the queue, as text.
        """
        return Response(exposition(index, queue), content_type="text/plain; version=0.0.4; charset=utf-8")
