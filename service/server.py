"""The HTTP server: waitress, one process whose threads share the index.

waitress reads every request whole before it gives it to a thread, so clients that are silent or slow cost memory but
no thread. A search spends its time in numpy and tantivy, which let other threads run meanwhile.
"""

from __future__ import annotations

import gc
import logging
import os
import re
import resource
import signal
import socket
import threading
import time
from typing import Any

from threadpoolctl import threadpool_limits
from waitress.channel import HTTPChannel  # type: ignore[import-untyped]
from waitress.parser import HTTPRequestParser, ParsingError  # type: ignore[import-untyped]
from waitress.server import create_server  # type: ignore[import-untyped]

from treeline.corpus.errors import InputError
from treeline.search.settings import Settings, from_environment
from treeline.service.app import create_app
from treeline.service.http import logs, observe
from treeline.service.http.context import warm_up_in_background
from treeline.service.http.keys import no_key_yet

log = logging.getLogger(__name__)

BACKLOG = 1_024  # connections that the system holds until they are accepted
IDLE_SECONDS = 30  # after which a connection that sends nothing is closed
HEADER_BYTES = 16_384  # of a request's first line and headers
MOST_FILES = 65_536  # open files asked of the system; a connection takes one
OTHER_FILES = 256  # kept for the index, logs and threads
MOST_CONNECTIONS = 10_000  # an idle one takes some 10 kB
# The application refuses a body beyond the setting in its own words. Only what is far beyond is refused while it is
# read: the body is kept until then.
LARGEST_BODY = 1_000_000
QUIET_SECONDS = 0.3  # without a request, after which a server that was told to stop ends
DRAIN_SECONDS = 20.0  # that it waits for this at most
GARBAGE_AFTER = 20_000  # new objects; a search makes a thousand, nearly all freed by reference counting
MOST_DIGITS = 18  # of a Content-Length
# The expression that reads a header is quadratic in a run of them: 15,000 took 8 s, in the thread of all connections.
BLANKS = re.compile(rb"[ \t\r\n]{200}")


class StrictParser(HTTPRequestParser):  # type: ignore[misc]  # waitress has no types
    """Refuses what RFC 9112 wants refused and waitress lets pass: proxies may read such a request differently."""

    def parse_header(self, header_plus: bytes) -> None:
        if BLANKS.search(header_plus):
            raise ParsingError("a header has too many blanks in a row")
        first, *lines = header_plus.split(b"\r\n")
        pairs = [line.partition(b":")[::2] for line in lines if line[:1] not in (b" ", b"\t")]
        names = [name.lower() for name, _ in pairs]
        if names.count(b"host") > 1 or (b"host" not in names and not first.endswith(b"HTTP/1.0")):
            raise ParsingError("a request needs exactly one Host")
        if b"content-length" in names and b"transfer-encoding" in names:
            raise ParsingError("a request has either Content-Length or Transfer-Encoding")
        if any(name.lower() == b"content-length" and len(value.strip()) > MOST_DIGITS for name, value in pairs):
            raise ParsingError("Content-Length is too long")
        super().parse_header(header_plus)


class QueueCounter(logging.Handler):
    """Counts the requests that found no free thread: waitress logs each."""

    def emit(self, _record: logging.LogRecord) -> None:
        observe.QUEUED_REQUESTS.inc()


def run(settings: Settings) -> None:
    """Serve until SIGTERM or Ctrl-C; what is in flight then is answered."""
    listener = listen(settings.bind)
    logs.configure(settings)
    if warning := no_key_yet(settings):
        log.warning(warning)
    queue = logging.getLogger("waitress.queue")
    queue.addHandler(QueueCounter())
    queue.propagate = False
    # Requests already run in parallel. A search took 32 ms of processor time with two BLAS threads, 11 ms with one.
    threadpool_limits(1, user_api="blas")
    app = create_app(settings)
    warm_up_in_background(app)
    gc.collect()
    gc.freeze()  # the application's objects are never garbage
    gc.set_threshold(GARBAGE_AFTER)
    HTTPChannel.parser_class = StrictParser
    server = create_server(
        app,
        sockets=[listener],
        threads=settings.threads,
        backlog=BACKLOG,
        connection_limit=min(MOST_CONNECTIONS, open_files() - OTHER_FILES),
        channel_timeout=IDLE_SECONDS,
        max_request_header_size=HEADER_BYTES,
        max_request_body_size=max(LARGEST_BODY, 2 * settings.max_body),
        asyncore_use_poll=True,  # `select` ends at 1,024 files
        clear_untrusted_proxy_headers=False,  # the guard judges them
        ident="",
    )
    signal.signal(signal.SIGTERM, lambda *_: stop(server))
    log.info("listening on %s", settings.bind)
    server.run()
    server.close()


def listen(bind: str) -> socket.socket:
    """A socket that listens on `host:port`."""
    host, _, port = bind.rpartition(":")
    host = host.strip("[]")
    try:
        family, _, _, _, address = socket.getaddrinfo(host, int(port), type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=BACKLOG)
    except (OSError, ValueError) as error:
        number = getattr(error, "errno", None)
        reason = os.strerror(number) if number and number > 0 else str(error)
        raise InputError(f"cannot listen on {bind}: {reason}", "choose another --port or --host") from error


def stop(server: Any) -> None:
    """Accept nobody new, answer those who wait, then end."""
    server.accepting = False
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    threading.Thread(target=_drain, args=(server,), name="drain", daemon=True).start()


def _drain(server: Any) -> None:
    begin = quiet_since = time.monotonic()
    while (now := time.monotonic()) - quiet_since < QUIET_SECONDS and now - begin < DRAIN_SECONDS:
        if any(channel.requests or channel.total_outbufs_len for channel in list(server.active_channels.values())):
            quiet_since = now
        time.sleep(QUIET_SECONDS / 10)
    os.kill(os.getpid(), signal.SIGINT)  # ends waitress's loop


def open_files() -> int:
    """Raise the soft limit of open files as far as the hard one allows; returns the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
        return limit
    return MOST_FILES if soft == resource.RLIM_INFINITY else soft


if __name__ == "__main__":
    os.umask(0o077)  # indexes hold the text of private repositories
    run(from_environment())
