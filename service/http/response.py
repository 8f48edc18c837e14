"""Responses: JSON by orjson, entity tags, security headers, CORS and gzip."""

from __future__ import annotations

import gzip
import time
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import orjson
from apiflask import APIFlask
from flask import Request, Response, g, request
from flask.json.provider import JSONProvider
from werkzeug.datastructures import Headers

from treeline.search.settings import Settings, split_commas

REVALIDATE = "private, no-cache"  # may be kept, but must be asked about: an index can change at any moment
NEVER = "no-store"


class OrjsonProvider(JSONProvider):
    """Flask's JSON by orjson, several times as fast as the standard library's."""

    def dumps(self, obj: Any, **kwargs: Any) -> str:
        return orjson.dumps(obj, default=str).decode()

    def loads(self, s: str | bytes, **kwargs: Any) -> Any:
        return orjson.loads(s)


class Complete(Response):
    """A response whose body and headers are all there: nothing is left to work out on a copy of them."""

    def get_wsgi_headers(self, environ: dict[str, Any]) -> Headers:
        return self.headers


def json_reply(
    body: Any, *, status: int = 200, tag: str = "", cache: str = NEVER, headers: Mapping[str, str] | None = None
) -> Response:
    """A JSON response of an object, or of bytes that are JSON; with a `tag`, one that a client can revalidate."""
    all_headers = {"Content-Type": "application/json", **(headers or {}), "Cache-Control": cache}
    if tag:
        all_headers["ETag"] = quote_tag(tag)
    return Complete(body if isinstance(body, bytes) else orjson.dumps(body), status=status, headers=all_headers)


def entity_tag(*parts: object) -> str:
    """A short tag for what an answer depends on."""
    return blake2b("\0".join(map(str, parts)).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def quote_tag(tag: str) -> str:
    # Weak: two answers to one question are the same but for their timings.
    return f'W/"{tag}"'


def not_modified(tag: str) -> Response | None:
    """An empty 304 when the client already holds what carries this tag."""
    if request.if_none_match.contains_weak(tag):
        return Response(status=304, headers={"ETag": quote_tag(tag), "Cache-Control": REVALIDATE})
    return None


def server_timing(timings: Mapping[str, float]) -> str:
    """Stage times for the browser's own network panel."""
    return ", ".join(f"{name.replace(':', '-').replace(' ', '-')};dur={value:.2f}" for name, value in timings.items())


def current_request() -> Request:
    """The request itself: what stands for it in Flask takes three calls at every look."""
    current: Request = request._get_current_object()  # type: ignore[attr-defined]
    return current


# Plotly writes styles into the page; scripts are never inline anywhere, so `script-src` stays strict on every page.
STRICT_STYLES = "'self'"
PLOTLY_STYLES = "'self' 'unsafe-inline'"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src {styles}; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
FIXED_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
GZIP_FROM = 1_000  # bytes; less than a packet gains nothing
GZIP_LEVEL = 4  # a search page of 60 kB: .6 ms; level 6 takes twice as long for 3 % less
COMPRESSIBLE = ("text/", "application/json", "application/javascript", "image/svg+xml")


def allow_plotly_styles() -> None:
    """Let this one response carry the styles that Plotly writes."""
    g.styles = PLOTLY_STYLES


def init_app(app: APIFlask, settings: Settings) -> None:
    origins = frozenset(split_commas(settings.cors_origins))
    by_styles = {
        styles: [*FIXED_HEADERS.items(), ("Content-Security-Policy", POLICY.format(styles=styles))]
        for styles in (STRICT_STYLES, PLOTLY_STYLES)
    }

    @app.after_request
    def finish(response: Response) -> Response:
        names = {name.lower() for name, _ in response.headers}
        for name, value in by_styles[g.get("styles", STRICT_STYLES)]:
            if name.lower() not in names:
                response.headers.add(name, value)
        if origins:
            allow_origins(response, origins)
        return compress(response)


def allow_origins(response: Response, origins: frozenset[str]) -> None:
    """The API may be read by pages of the origins in the setting, and by no others."""
    if not request.path.startswith(("/api/", "/openapi")):
        return
    origin = request.headers.get("Origin", "")
    response.vary.add("Origin")
    if "*" in origins or origin in origins:
        response.headers["Access-Control-Allow-Origin"] = "*" if "*" in origins else origin
        response.headers["Access-Control-Expose-Headers"] = "ETag, Retry-After, Server-Timing, X-Request-ID"
        if request.method == "OPTIONS":
            response.headers["Access-Control-Allow-Methods"] = "GET, POST, OPTIONS"
            response.headers["Access-Control-Allow-Headers"] = "Authorization, Content-Type, If-None-Match, X-API-Key"
            response.headers["Access-Control-Max-Age"] = "86400"


def compress(response: Response) -> Response:
    headers = response.headers
    if not headers.get("Content-Type", "").startswith(COMPRESSIBLE) or response.status_code in {204, 304}:
        return response
    if "Vary" in headers:
        response.vary.add("Accept-Encoding")
    else:  # as nearly always, and without taking apart what is not there
        headers.add("Vary", "Accept-Encoding")
    if request.endpoint == "static" and response.status_code == 200:  # small files of ours, sent as files otherwise
        response.direct_passthrough = False
        response.make_sequence()
    if (
        "Accept-Encoding" not in request.headers
        or response.direct_passthrough
        or response.is_streamed
        or "Content-Encoding" in response.headers
        or request.accept_encodings["gzip"] <= 0
        or (response.content_length or 0) < GZIP_FROM
    ):
        return response
    response.set_data(gzip.compress(response.get_data(), compresslevel=GZIP_LEVEL, mtime=0))
    if headers.get("ETag", "").startswith('"'):  # a strong tag is for the same bytes
        headers["ETag"] = f"W/{headers['ETag']}"
    response.headers["Content-Encoding"] = "gzip"
    return response


def milliseconds_since(start: float) -> float:
    """Milliseconds since then."""
    return round((time.perf_counter() - start) * 1_000, 3)
