"""The gunicorn worker that serves: gunicorn runs the processes, waitress speaks HTTP in them.

waitress reads every request whole before it gives it to a thread, so clients that are silent or slow cost memory but
no thread. With 1,000 idle and 200 slow connections, gunicorn's own threads gave no answer in 30 s; this worker kept a
p95 of 112 ms (one run each on a busy machine, docs/research/speed.md).
"""

from __future__ import annotations

import logging
import os
import resource
import signal
import socket
import threading
import time
from collections.abc import Iterable
from types import FrameType
from typing import Any

from gunicorn.workers.base import Worker  # type: ignore[import-untyped]
from waitress.server import create_server  # type: ignore[import-untyped]
from werkzeug.wsgi import ClosingIterator

from treeline.search.settings import Settings
from treeline.service.http import observe

HEARTBEAT_SECONDS = 1.0
IDLE_SECONDS = 30  # after which a connection that sends nothing is closed
MOST_FILES = 65_536  # open files asked of the system; a connection takes one
OTHER_FILES = 256  # kept for the index, logs and threads
MOST_CONNECTIONS = 10_000  # a worker; an idle one takes some 10 kB
# The application refuses a body beyond the setting in its own words. Only what is far beyond is refused while it is
# read: the body is kept until then.
LARGEST_BODY = 1_000_000
DRAIN_SECONDS = 0.3  # without a request in flight, after which a worker that was told to stop ends


class WaitressWorker(Worker):  # type: ignore[misc]  # gunicorn has no types
    """Serves the application on gunicorn's sockets until it is told to stop, then finishes what is in flight."""

    def run(self) -> None:
        settings: Settings = self.wsgi.extensions["treeline"].settings
        self._in_flight = InFlight(self.wsgi)
        logging.getLogger("waitress.queue").addHandler(QueueCounter())
        logging.getLogger("waitress.queue").propagate = False
        self._server = create_server(
            self._in_flight,
            sockets=[socket.socket(fileno=os.dup(listener.fileno())) for listener in self.sockets],
            threads=self.cfg.threads,
            backlog=self.cfg.backlog,
            connection_limit=min(MOST_CONNECTIONS, open_files() - OTHER_FILES),
            channel_timeout=IDLE_SECONDS,
            max_request_body_size=max(LARGEST_BODY, 2 * settings.max_body),
            asyncore_use_poll=True,  # `select` ends at 1,024 files
            clear_untrusted_proxy_headers=False,  # the guard judges them
            ident="",
        )
        threading.Thread(target=self._beat, name="heartbeat", daemon=True).start()
        self._server.run()

    def _beat(self) -> None:
        """Tell the server that this worker is alive; end when the server is gone, which nobody else would notice."""
        while os.getppid() == self.ppid:
            self.notify()
            time.sleep(HEARTBEAT_SECONDS)
        self.handle_exit(signal.SIGTERM, None)

    def handle_exit(self, _signal: int, _frame: FrameType | None) -> None:
        """SIGTERM: accept nobody new, answer those who wait, then end."""
        self.alive = False
        server = getattr(self, "_server", None)
        if server is None:  # still starting
            os._exit(0)
        server.accepting = False
        threading.Thread(target=self._drain, name="drain", daemon=True).start()

    def _drain(self) -> None:
        """Gunicorn kills the worker after `graceful_timeout`, so this needs no limit of its own."""
        quiet_since = time.monotonic()
        while time.monotonic() - quiet_since < DRAIN_SECONDS:
            if self._in_flight.count:
                quiet_since = time.monotonic()
            time.sleep(DRAIN_SECONDS / 10)
        os.kill(os.getpid(), signal.SIGINT)


class InFlight:
    """The application, with a count of the requests it is answering."""

    def __init__(self, application: Any) -> None:
        self._application = application
        self._lock = threading.Lock()
        self.count = 0

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        self._add(1)
        try:
            body = self._application(environ, start_response)
        except BaseException:
            self._add(-1)
            raise
        return ClosingIterator(body, lambda: self._add(-1))

    def _add(self, number: int) -> None:
        with self._lock:
            self.count += number


class QueueCounter(logging.Handler):
    """Counts the requests that found no free thread: waitress logs each."""

    def emit(self, _record: logging.LogRecord) -> None:
        observe.QUEUED.inc()


def open_files() -> int:
    """Raise the soft limit of open files as far as the hard one allows; returns the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        return wanted
    return MOST_FILES if soft == resource.RLIM_INFINITY else soft
