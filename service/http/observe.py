"""Seeing it run: a request id for every request, one access-log line each, and `/metrics`."""

from __future__ import annotations

import logging
import random
import re
import time
from collections.abc import Callable
from contextvars import Token
from typing import Any, NamedTuple

from apiflask import APIFlask
from flask import Response, g, request

from treeline.engine.protocol import IndexInfo
from treeline.search.settings import Settings
from treeline.service.http import metrics
from treeline.service.http.context import the_request
from treeline.service.http.logs import request_id
from treeline.service.http.metrics import record as answered

__all__ = ["answered", "init_app"]

HEADER = "X-Request-ID"
GIVEN_ID = re.compile(r"^[A-Za-z0-9._-]{1,64}$")
QUIET = frozenset({"/healthz", "/readyz", "/metrics"})  # asked every few seconds by machines
METRICS: dict[int | str, Any] = {
    200: {"description": "Prometheus' text format.", "content": {"text/plain": {"schema": {"type": "string"}}}}
}
access = logging.getLogger("treeline.access")


class Seen(NamedTuple):
    """A request on its way: its id, when it came, and how to take the id back from the log."""

    id: str
    started: float
    token: Token[str]


def init_app(app: APIFlask, settings: Settings, info: Callable[[], IndexInfo | None] = lambda: None) -> None:
    """Watch every request of this app; `info` tells which index is open, or None."""

    @app.before_request
    def begin() -> None:
        given = request.headers.get(HEADER, "")
        id_ = given if GIVEN_ID.match(given) else f"{random.getrandbits(128):032x}"
        g.seen = Seen(id_, time.perf_counter(), request_id.set(id_))
        metrics.IN_PROGRESS.inc()

    @app.after_request
    def finish(response: Response) -> Response:
        seen: Seen | None = g.get("seen")
        if seen is None:
            return response
        seconds = time.perf_counter() - seen.started
        asked = the_request()
        route = asked.url_rule.rule if asked.url_rule else "unmatched"
        response.headers[HEADER] = seen.id
        metrics.requests(asked.method, route, response.status_code).inc()
        metrics.request_seconds(route).observe(seconds)
        level = logging.DEBUG if asked.path in QUIET else logging.INFO
        if access.isEnabledFor(level):
            access.log(
                level,
                "%s %s %d",
                asked.method,
                asked.path,
                response.status_code,
                extra={"fields": line(response, seconds, settings)},
            )
        return response

    @app.teardown_request
    def end(_error: BaseException | None) -> None:
        seen: Seen | None = g.pop("seen", None)
        if seen is not None:
            metrics.IN_PROGRESS.dec()
            request_id.reset(seen.token)

    serve_metrics(app, info)


def line(response: Response, seconds: float, settings: Settings) -> dict[str, object]:
    """What the access log says of a request beside its message."""
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

    index, queue = metrics.IndexCollector(info), metrics.BacklogCollector(port)

    @app.get("/metrics")
    @app.doc(operation_id="metrics", responses=METRICS)
    def exposition() -> Response:
        """Counters and times for Prometheus.

        Requests, searches by stage, lanes left out, the index's age and the queue, as text.
        """
        return Response(metrics.exposition(index, queue), content_type="text/plain; version=0.0.4; charset=utf-8")
