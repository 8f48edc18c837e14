"""A threaded gunicorn worker that does not keep to itself what another could answer at once; its log.

A client that keeps its connection stays with the worker that took it. Of eight clients one worker had seven in a soak,
and one processor was idle. So who comes while more wait here than there are threads is asked to connect anew.
"""

from __future__ import annotations

import socket
import time
from contextlib import suppress
from typing import Any

from gunicorn.glogging import Logger  # type: ignore[import-untyped]
from gunicorn.workers.gthread import ThreadWorker  # type: ignore[import-untyped]

CORK = getattr(socket, "TCP_CORK", None)  # Linux
# Seconds that a client has to send a request, which is 64 kB at most. As long as it sends, it has a thread of its own:
# without a limit, as many clients as there are threads could keep everybody out for as long as they like.
SENDING_SECONDS = 10.0


class FairWorker(ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    """Keeps connections alive as long as every request finds a thread, and waits for none that is not sent."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._handled: dict[Any, float] = {}  # connections that have a thread, and since when

    def handle(self, conn: Any) -> Any:
        """Answer a request, head and body in one go: gunicorn sends them one by one, which wakes the client twice."""
        self._handled[conn] = time.monotonic()
        cork(conn.sock, True)
        try:
            return super().handle(conn)
        finally:
            cork(conn.sock, False)
            del self._handled[conn]

    def murder_pending(self) -> None:
        """Gunicorn's look every second for clients that send nothing; here also for those that do not come to an end.

        Nothing more is read from them. Where a request was whole, its answer still goes out.
        """
        super().murder_pending()
        begun_before = time.monotonic() - SENDING_SECONDS
        for conn, begun in list(self._handled.items()):
            if begun < begun_before:
                with suppress(OSError):  # closed by now
                    conn.sock.shutdown(socket.SHUT_RD)

    @property
    def max_keepalived(self) -> int:
        """How many idle connections may be kept: gunicorn asks after each answer, and closes what is beyond."""
        busy = self.nr_conns - len(self.keepalived_conns)
        return int(self._most_kept) if busy <= self.cfg.threads else 0

    @max_keepalived.setter
    def max_keepalived(self, most: int) -> None:
        self._most_kept = most


class QuietLogger(Logger):  # type: ignore[misc]  # gunicorn has no types
    """Leaves the access log to `treeline.service.http.observe`."""

    def access(self, *_: object) -> None:
        pass


def cork(connection: socket.socket, on: bool) -> None:
    """Hold back what does not fill a packet, or let it go; the system itself lets it go after a fifth of a second."""
    if CORK is not None:
        with suppress(OSError):  # no TCP, or closed by now
            connection.setsockopt(socket.IPPROTO_TCP, CORK, on)
