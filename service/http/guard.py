"""Access control: API keys with scopes, and rate limits with `Retry-After`."""

from __future__ import annotations

import hmac
import logging
import math
import secrets
import time
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from flask import Flask, Response, current_app, g, request
from limits import RateLimitItemPerSecond
from limits.storage import MemoryStorage
from limits.strategies import SlidingWindowCounterRateLimiter
from werkzeug.middleware.proxy_fix import ProxyFix

from treeline.corpus.errors import InputError
from treeline.search.settings import Settings
from treeline.service.http import observe
from treeline.service.http.errors import error_reply
from treeline.service.http.keys import ApiKey, KeyFileDamaged, KeyRing, Scope
from treeline.service.http.response import current_request

log = logging.getLogger(__name__)

Route = TypeVar("Route", bound=Callable[..., object])

LOOPBACK = frozenset({"127.0.0.1", "::1"})
LOOPBACK_HOSTS = frozenset({"127.0.0.1", "localhost", "[::1]"})
# How the names of the headers begin that proxies and content networks add, as WSGI spells them.
FORWARDING = (
    "HTTP_FORWARDED",
    "HTTP_VIA",
    "HTTP_CF_",
    "HTTP_CDN_",
    "HTTP_FASTLY_",
    "HTTP_TRUE_CLIENT_",
    "HTTP_X_FORWARDED",
    "HTTP_X_REAL_IP",
    "HTTP_X_CLIENT_",
    "HTTP_X_CLUSTER_CLIENT_",
    "HTTP_X_ORIGINAL_",
    "HTTP_X_AMZN_",
    "HTTP_X_ENVOY_",
    "HTTP_X_AZURE_",
)
# Probes work without a key and without limits; the pages' static files too.
OPEN = frozenset({"/healthz", "/readyz"})
PATH_LENGTH = 1_024  # characters, for pages and API alike; a file's own path may have 1,000
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
# A page sets the cookie and its script sends the same value in a header, which another site's page cannot do.
TOKEN_COOKIE, TOKEN_HEADER = "treeline-token", "X-Treeline-Token"
TOKEN_BYTES = 16
# For a visitor without a key: enough to search all day, too little to push a result.
VOTES_PER_MINUTE, VOTES_AT_ONCE = 2.0, 20
TRUSTED_VOTES = 1_000  # per result: a program may act for many people


class Guard:
    """The keys, the limiter and the rules of one app."""

    def __init__(self, settings: Settings) -> None:
        if settings.keys_required not in {"writes", "all"}:
            raise InputError(f"TREELINE_KEYS_REQUIRED={settings.keys_required!r} is not known", "use writes or all")
        self.settings = settings
        self.keys = KeyRing(settings.key_path)
        self.limiter = SlidingWindowCounterRateLimiter(MemoryStorage())

    def check(self) -> Response | None:
        """The refusal of the current request, or None."""
        current = current_request()
        if len(current.path) > PATH_LENGTH:
            return refusal(
                414, "path_too_long", f"the path of this address is over {PATH_LENGTH:,} characters", "shorten it"
            )
        if current.path in OPEN or current.endpoint == "static":
            return None
        key_text = presented_key()
        try:
            key = self.keys.check(key_text) if key_text else None
        except KeyFileDamaged as error:
            log.error("%s", error)
            return refusal(503, error.code, "API keys cannot be checked now", "tell the operator of this service")
        if key_text and key is None:
            return self._check_rate(None) or refusal(
                401, "bad_key", "this API key is not known", "`treeline keys create` makes one"
            )
        g.api_key = key
        if key is None and self.local:
            return None
        return self._check_rate(key) or self._check_scope(key)

    @property
    def local(self) -> bool:
        """Whether the request comes from someone on this machine: not by DNS rebinding, another site's page, or a proxy
        that announces itself."""
        current = current_request()
        return (
            self.settings.trust_loopback
            and current.remote_addr in LOOPBACK
            and hostname(current.host) in LOOPBACK_HOSTS
            and current.environ.get("SERVER_PROTOCOL") != "HTTP/1.0"  # as nginx asks if it is told nothing else
            and not any(name.startswith(FORWARDING) for name in current.environ)
            and current.headers.get("Sec-Fetch-Site", "none") in {"none", "same-origin"}
            and ((origin := current.headers.get("Origin")) is None or origin == current.host_url.rstrip("/"))
        )

    def _check_scope(self, key: ApiKey | None) -> Response | None:
        if request.method == "OPTIONS":  # a CORS preflight, which browsers send without the key
            return None
        scope = scope_of_request()
        if scope == "read" and self.settings.keys_required == "writes":
            return None
        if key is None and votes_route() and self.settings.keys_required == "writes" and from_our_page():
            caller = f"votes {network(request.remote_addr or '')}"
            return self._too_often(caller, VOTES_PER_MINUTE, VOTES_AT_ONCE, "votes")
        if key is None:
            return refusal(
                401,
                "key_required",
                f"this needs an API key with the scope {scope}",
                "send it as `Authorization: Bearer KEY`",
            )
        if not key.allows(scope):
            return refusal(403, "scope_missing", f"this API key lacks the scope {scope}", "use a key with that scope")
        return None

    def _check_rate(self, key: ApiKey | None) -> Response | None:
        rate = self.settings.rate_per_key if key else self.settings.rate_per_address
        if not rate:
            return None
        caller = f"key {key.id}" if key else f"address {network(request.remote_addr or '')}"
        return self._too_often(caller, rate, max(1, self.settings.rate_burst), "requests")

    def _too_often(self, caller: str, rate: float, burst: int, what: str) -> Response | None:
        window = max(1, math.ceil(60 * burst / rate))
        limit = RateLimitItemPerSecond(max(1, int(rate * window / 60)), window)
        if self.limiter.hit(limit, caller):
            return None
        seconds = max(1, math.ceil(self.limiter.get_window_stats(limit, caller).reset_time - time.time()))
        headers = {"Retry-After": str(seconds)}
        message = f"more than {rate:g} {what} a minute"
        return refusal(429, "too_many_requests", message, f"come back in {seconds} s", headers)


def init_app(app: Flask, settings: Settings) -> None:
    """Guard every request of this app."""
    guard = Guard(settings)
    app.extensions["treeline.guard"] = guard
    if settings.trusted_proxies:
        count = settings.trusted_proxies
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=count, x_proto=count, x_host=count)  # type: ignore[method-assign]
    app.before_request(guard.check)


def is_local() -> bool:
    """Whether a person at this machine asks."""
    guard: Guard = current_app.extensions["treeline.guard"]
    return guard.local


def reads(route: Route) -> Route:
    """Mark a route that only reads, although its question comes as a body."""
    route.__treeline_scope__ = "read"  # type: ignore[attr-defined]
    return route


def writes(route: Route) -> Route:
    """Mark a route that writes, whatever its method."""
    route.__treeline_scope__ = "write"  # type: ignore[attr-defined]
    return route


def scope_of_request() -> Scope:
    """The scope marked on the route; otherwise by its method."""
    by_method: Scope = "read" if request.method in SAFE_METHODS else "write"
    scope: Scope = getattr(current_app.view_functions.get(request.endpoint or ""), "__treeline_scope__", by_method)
    return scope


def votes(route: Route) -> Route:
    """Mark a route that visitors of our pages may use without a key, with the page's token."""
    route.__treeline_votes__ = True  # type: ignore[attr-defined]
    return route


def votes_route() -> bool:
    return hasattr(current_app.view_functions.get(request.endpoint or ""), "__treeline_votes__")


def may_vote() -> bool:
    """Whether a page offers voting to the current caller: not with a read-only key."""
    key: ApiKey | None = g.get("api_key")
    return key is None or key.allows("write")


def from_our_page() -> bool:
    """Whether our own page sent this: cookie and header have the same token."""
    token = request.cookies.get(TOKEN_COOKIE, "")
    origin = request.headers.get("Origin")
    return (
        len(token) >= TOKEN_BYTES
        and hmac.compare_digest(token.encode(), request.headers.get(TOKEN_HEADER, "").encode())
        and request.headers.get("Sec-Fetch-Site", "same-origin") == "same-origin"
        and (origin is None or origin == request.host_url.rstrip("/"))
    )


def give_token(response: Response) -> Response:
    """Set the token cookie unless the browser has one."""
    if not request.cookies.get(TOKEN_COOKIE):
        token = secrets.token_urlsafe(TOKEN_BYTES)
        response.set_cookie(TOKEN_COOKIE, token, samesite="Strict", secure=request.is_secure, max_age=86_400)
    return response


class Voter(NamedTuple):
    """Who votes, and how many votes they have per result."""

    id: str
    most: int


def voter() -> Voter:
    """A key or a local user has many votes per result; a visitor's network has one."""
    key: ApiKey | None = g.get("api_key")
    if key is not None:
        return Voter(f"key {key.id}", TRUSTED_VOTES)
    guard: Guard = current_app.extensions["treeline.guard"]
    if guard.local:
        return Voter("local", TRUSTED_VOTES)
    return Voter(f"network {network(request.remote_addr or '')}", 1)


def presented_key() -> str:
    headers = request.headers
    scheme, _, value = headers.get("Authorization", "").partition(" ")
    return value.strip() if scheme.lower() == "bearer" else headers.get("X-API-Key", "").strip()


def hostname(host: str) -> str:
    """`localhost:8080` without its port; an IPv6 address keeps its brackets."""
    return host if host.endswith("]") else host.rpartition(":")[0] or host


def network(address: str) -> str:
    """The network of an address: a /64 for IPv6, which is one customer; IPv4 as it is."""
    return ":".join(address.split(":")[:4]) if address.count(":") > 1 else address


def refusal(status: int, code: str, message: str, hint: str, headers: dict[str, str] | None = None) -> Response:
    observe.REFUSALS.labels(code).inc()
    headers = {"WWW-Authenticate": 'Bearer realm="treeline"'} if status == 401 else headers
    return error_reply(status, code, message, hint, headers)
