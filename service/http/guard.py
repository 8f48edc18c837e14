"""Who may ask, and how often: API keys with scopes, and rate limits with `Retry-After`."""

from __future__ import annotations

import fcntl
import math
import mmap
import os
import struct
import threading
import time
import weakref
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import TypeVar

from flask import Flask, Response, current_app, g, request
from werkzeug.middleware.proxy_fix import ProxyFix

from treeline.corpus.errors import InputError
from treeline.search.settings import Settings
from treeline.service.http import observe
from treeline.service.http.errors import error_reply
from treeline.service.http.keys import ApiKey, KeyRing, Scope
from treeline.service.http.response import current_request

SLOT = struct.Struct("=Qd")  # who (a hash), and when its bucket is empty again
SLOTS = 65_536  # one megabyte; far more callers than are ever active within one burst
PROBES = 8  # slots tried before the one that empties first is taken over


class RateLimiter:
    """Decides call by call; `wait` is 0 when the caller may go on, else the seconds to come back after."""

    def __init__(self, path: Path | None = None) -> None:
        self._lock = threading.Lock()
        self._file = _shared_file(path) if path else None
        self._map = mmap.mmap(-1 if self._file is None else self._file, SLOT.size * SLOTS)
        if self._file is not None:
            weakref.finalize(self, os.close, self._file)

    def wait(self, caller: str, per_minute: float, burst: int, now: float | None = None) -> float:
        """Count one call; `burst` of them may come at once, then `per_minute`."""
        now = time.time() if now is None else now
        interval = 60.0 / per_minute
        with self._lock:
            if self._file is not None:
                fcntl.lockf(self._file, fcntl.LOCK_EX)
            try:
                return self._decide(caller, interval, burst, now)
            finally:
                if self._file is not None:
                    fcntl.lockf(self._file, fcntl.LOCK_UN)

    def _decide(self, caller: str, interval: float, burst: int, now: float) -> float:
        who, offset, empty_at = self._slot(caller)
        # A clock that was set back must not lock callers out: nothing is ever further ahead than a full burst.
        empty_at = min(max(empty_at, now), now + burst * interval)
        late = empty_at + interval - (now + burst * interval)
        if late > 1e-9:
            return late
        SLOT.pack_into(self._map, offset, who, empty_at + interval)
        return 0.0

    def _slot(self, caller: str) -> tuple[int, int, float]:
        who = int.from_bytes(blake2b(caller.encode("utf-8", "surrogatepass"), digest_size=8).digest()) or 1
        emptiest = (float("inf"), 0)
        for probe in range(PROBES):
            offset = ((who + probe) % SLOTS) * SLOT.size
            owner, empty_at = SLOT.unpack_from(self._map, offset)
            if owner == who:
                return who, offset, empty_at
            emptiest = min(emptiest, (empty_at, offset))
        return who, emptiest[1], 0.0


def _shared_file(path: Path) -> int | None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    try:
        os.truncate(file, SLOT.size * SLOTS)
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
        key = self.keys.check(presented) if presented else None
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
        seconds = math.ceil(self.limiter.wait(caller, rate, max(1, self.settings.rate_burst)))
        if not seconds:
            return None
        headers = {"Retry-After": str(seconds)}
        return refusal(
            429, "too_many_requests", f"more than {rate} requests a minute", f"come back in {seconds} s", headers
        )


def init_app(app: Flask, settings: Settings) -> None:
    """Guard every request of this app."""
    guard = Guard(settings)
    app.extensions["treeline.guard"] = guard
    if settings.trusted_proxies:
        count = settings.trusted_proxies
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=count, x_proto=count, x_host=count)  # type: ignore[method-assign]
    app.before_request(guard.check)


def writes(route: Route) -> Route:
    """Mark a route that writes, whatever its method."""
    route.__treeline_scope__ = "write"  # type: ignore[attr-defined]
    return route


def scope_of_request() -> Scope:
    """What the route is marked with; without a mark, what its method means."""
    by_method: Scope = "read" if request.method in SAFE_METHODS else "write"
    marked: Scope = getattr(current_app.view_functions.get(request.endpoint or ""), "__treeline_scope__", by_method)
    return marked


def may_write() -> bool:
    """Whether the current caller could write, so that a page offers only what will work."""
    guard: Guard | None = current_app.extensions.get("treeline.guard")
    if guard is None:
        return True
    key: ApiKey | None = g.get("api_key")
    return key.allows("write") if key else guard.local


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
