"""Safe by default: security headers, a strict content policy, CORS by setting, gzip."""

from __future__ import annotations

import gzip

from apiflask import APIFlask
from flask import Response, g, request

from treeline.search.settings import Settings, listed

# Plotly writes styles into the page; scripts are never inline anywhere, so `script-src` stays strict on every page.
STRICT_STYLES = "'self'"
PLOTLY_STYLES = "'self' 'unsafe-inline'"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src {styles}; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
FIXED = {
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
    origins = frozenset(listed(settings.cors_origins))
    by_styles = {
        styles: [*FIXED.items(), ("Content-Security-Policy", POLICY.format(styles=styles))]
        for styles in (STRICT_STYLES, PLOTLY_STYLES)
    }

    @app.after_request
    def finish(response: Response) -> Response:
        given = {name.lower() for name, _ in response.headers}
        for name, value in by_styles[g.get("styles", STRICT_STYLES)]:
            if name.lower() not in given:
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
