"""Who may ask, and how often: API keys with scopes, and rate limits with `Retry-After`."""

from __future__ import annotations

import fcntl
import hmac
import logging
import math
import os
import secrets
import struct
import threading
import time
import weakref
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple, TypeVar

from flask import Flask, Response, current_app, g, request
from werkzeug.middleware.proxy_fix import ProxyFix

from treeline.corpus.errors import InputError
from treeline.search.settings import Settings
from treeline.service.http import observe
from treeline.service.http.errors import error_reply
from treeline.service.http.keys import ApiKey, KeyFileDamaged, KeyRing, Scope
from treeline.service.http.response import current_request

log = logging.getLogger(__name__)

SLOT = struct.Struct("=Qd")  # who (a hash), and when its bucket is empty again
SLOTS = 65_536  # one megabyte; far more callers than are ever active within one burst
PROBES = 8  # slots tried before the one that empties first is taken over


class RateLimiter:
    """Limits calls by the generic cell rate algorithm, over a file that all worker processes share.

    GCRA (ITU-T I.371) keeps one number a caller, the time at which its bucket is empty again, so a slot is 16 bytes and
    a decision is one comparison. The file is locked, read and written, and not mapped: on a full disk a mapped page
    ends the process, while a write only fails. Where the file cannot be used, each process counts for itself.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._lock = threading.Lock()
        self._memory = bytearray(SLOT.size * (SLOTS + PROBES))  # probes do not wrap around
        self._file = _shared_file(path, len(self._memory)) if path else None
        if self._file is not None:
            weakref.finalize(self, os.close, self._file)

    def wait(self, caller: str, per_minute: float, burst: int, now: float | None = None) -> float:
        """Count one call: 0 when the caller may go on, else the seconds to come back after.

        `burst` calls may come at once, then `per_minute`.
        """
        now = time.time() if now is None else now
        interval = 60.0 / per_minute
        who = int.from_bytes(blake2b(caller.encode("utf-8", "surrogatepass"), digest_size=8).digest()) or 1
        with self._lock:
            if self._file is not None:
                try:
                    return self._decide_shared(self._file, who, interval, burst, now)
                except OSError as error:
                    log.warning("rates are counted by each process: %s", error)
                    self._file = None
            at = who % SLOTS * SLOT.size
            slots = memoryview(self._memory)[at : at + PROBES * SLOT.size]
            return _decide(slots, who, interval, burst, now)[0]

    def _decide_shared(self, file: int, who: int, interval: float, burst: int, now: float) -> float:
        at, size = who % SLOTS * SLOT.size, PROBES * SLOT.size
        fcntl.lockf(file, fcntl.LOCK_EX)
        try:
            slots = bytearray(os.pread(file, size, at).ljust(size, b"\0"))
            seconds, changed = _decide(memoryview(slots), who, interval, burst, now)
            if changed is not None:
                os.pwrite(file, slots[changed : changed + SLOT.size], at + changed)
            return seconds
        finally:
            fcntl.lockf(file, fcntl.LOCK_UN)


def _decide(slots: memoryview, who: int, interval: float, burst: int, now: float) -> tuple[float, int | None]:
    """The seconds to wait, and where a slot was changed."""
    emptiest, offset, empty_at = math.inf, 0, 0.0
    for at in range(0, len(slots), SLOT.size):
        owner, until = SLOT.unpack_from(slots, at)
        if not math.isfinite(until):
            until = 0.0  # of a damaged file
        if owner == who:
            offset, empty_at = at, until
            break
        if until < emptiest:
            emptiest, offset = until, at
    # A clock that was set back must not lock callers out: nothing is ever further ahead than a full burst.
    empty_at = min(max(empty_at, now), now + burst * interval)
    late = empty_at + interval - (now + burst * interval)
    if late > 1e-9:
        return late, None
    SLOT.pack_into(slots, offset, who, empty_at + interval)
    return 0.0, offset


def _shared_file(path: Path, size: int) -> int | None:
    """The file, with its space reserved: a disk that fills later does not matter to it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    try:
        os.posix_fallocate(file, 0, size)
    except OSError:
        os.close(file)
        return None
    return file


Route = TypeVar("Route", bound=Callable[..., object])

LOOPBACK = frozenset({"127.0.0.1", "::1"})
LOOPBACK_HOSTS = frozenset({"127.0.0.1", "localhost", "[::1]"})
FORWARDING = frozenset({"HTTP_X_FORWARDED_FOR", "HTTP_X_REAL_IP", "HTTP_FORWARDED", "HTTP_VIA"})  # as WSGI names them
# Probes must work without a key and however often they come; the pages' own files are served from disk.
OPEN = frozenset({"/healthz", "/readyz"})
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
# A page sets the cookie, its script sends the same in a header. Another site's page can do neither for our visitors.
TOKEN_COOKIE, TOKEN_HEADER = "treeline-token", "X-Treeline-Token"
TOKEN_BYTES = 16
# Of a visitor without a key: enough for somebody who searches all day, and little for somebody who wants to push.
VOTES_PER_MINUTE, VOTES_AT_ONCE = 2.0, 20
TRUSTED_VOTES = 1_000  # for one result: a program may speak for many people


class Guard:
    """The keys, the limiter and the rules of one app."""

    def __init__(self, settings: Settings) -> None:
        if settings.keys_required not in {"writes", "all"}:
            raise InputError(f"TREELINE_KEYS_REQUIRED={settings.keys_required!r} is not known", "use writes or all")
        self.settings = settings
        self.keys = KeyRing(settings.key_path)
        self.limiter = RateLimiter(settings.home_path / ".run" / "rates")

    def check(self) -> Response | None:
        """Refuse the current request, or let it pass."""
        asked = current_request()
        if asked.path in OPEN or asked.endpoint == "static":
            return None
        presented = presented_key()
        try:
            key = self.keys.check(presented) if presented else None
        except KeyFileDamaged as error:
            log.error("%s", error)
            return refusal(503, error.code, "API keys cannot be checked now", "tell who runs this service")
        if presented and key is None:
            return self._limited(None) or refusal(
                401, "bad_key", "this API key is not known", "`treeline keys create` makes one"
            )
        g.api_key = key
        if key is None and self.local:
            return None
        return self._limited(key) or self._unauthorised(key)

    @property
    def local(self) -> bool:
        """Is this a person at this machine? A name that was made to point here (DNS rebinding), another site's
        page, and a proxy that announces itself are not."""
        asked = current_request()
        return (
            self.settings.trust_loopback
            and asked.remote_addr in LOOPBACK
            and hostname(asked.host) in LOOPBACK_HOSTS
            and FORWARDING.isdisjoint(asked.environ)
            and asked.headers.get("Sec-Fetch-Site", "none") in {"none", "same-origin"}
            and ((origin := asked.headers.get("Origin")) is None or origin == asked.host_url.rstrip("/"))
        )

    def _unauthorised(self, key: ApiKey | None) -> Response | None:
        if request.method == "OPTIONS":  # browsers ask it without the key, before they send one
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

    def _limited(self, key: ApiKey | None) -> Response | None:
        rate = self.settings.rate_per_key if key else self.settings.rate_per_address
        if not rate:
            return None
        caller = f"key {key.id}" if key else f"address {network(request.remote_addr or '')}"
        return self._too_often(caller, rate, max(1, self.settings.rate_burst), "requests")

    def _too_often(self, caller: str, rate: float, burst: int, what: str) -> Response | None:
        seconds = math.ceil(self.limiter.wait(caller, rate, burst))
        if not seconds:
            return None
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


def writes(route: Route) -> Route:
    """Mark a route that writes, whatever its method."""
    route.__treeline_scope__ = "write"  # type: ignore[attr-defined]
    return route


def scope_of_request() -> Scope:
    """What the route is marked with; without a mark, what its method means."""
    by_method: Scope = "read" if request.method in SAFE_METHODS else "write"
    marked: Scope = getattr(current_app.view_functions.get(request.endpoint or ""), "__treeline_scope__", by_method)
    return marked


def votes(route: Route) -> Route:
    """Mark a route that a visitor of our pages may use without a key, with the page's token."""
    route.__treeline_votes__ = True  # type: ignore[attr-defined]
    return route


def votes_route() -> bool:
    return hasattr(current_app.view_functions.get(request.endpoint or ""), "__treeline_votes__")


def may_vote() -> bool:
    """Whether the current caller may vote: who sees a page without a key may, with its token."""
    key: ApiKey | None = g.get("api_key")
    return key is None or key.allows("write")


def from_our_page() -> bool:
    """Whether the script of a page of ours sent this: the cookie and the header have the same token."""
    token = request.cookies.get(TOKEN_COOKIE, "")
    origin = request.headers.get("Origin")
    return (
        len(token) >= TOKEN_BYTES
        and hmac.compare_digest(token.encode(), request.headers.get(TOKEN_HEADER, "").encode())
        and request.headers.get("Sec-Fetch-Site", "same-origin") == "same-origin"
        and (origin is None or origin == request.host_url.rstrip("/"))
    )


def give_token(response: Response) -> Response:
    """Set the cookie with the page's token, unless the browser has one."""
    if not request.cookies.get(TOKEN_COOKIE):
        token = secrets.token_urlsafe(TOKEN_BYTES)
        response.set_cookie(TOKEN_COOKIE, token, samesite="Strict", secure=request.is_secure, max_age=86_400)
    return response


class Voter(NamedTuple):
    """Who votes, and how often one may for the same result."""

    id: str
    most: int


def voter() -> Voter:
    """A key and a person at this machine are trusted with more than one vote; a visitor's network has one."""
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
    """One IPv6 customer has a whole /64 to call from; an IPv4 address counts for itself."""
    return ":".join(address.split(":")[:4]) if address.count(":") > 1 else address


def refusal(status: int, code: str, message: str, hint: str, headers: dict[str, str] | None = None) -> Response:
    observe.REFUSED.labels(code).inc()
    headers = {"WWW-Authenticate": 'Bearer realm="treeline"'} if status == 401 else headers
    return error_reply(status, code, message, hint, headers)
