"""A threaded gunicorn worker that does not keep to itself what another could answer at once; its log.

A client that keeps its connection stays with the worker that took it. Of eight clients one worker had seven in a soak,
and one processor was idle. So who comes while more wait here than there are threads is asked to connect anew.
"""

from __future__ import annotations

from gunicorn.glogging import Logger  # type: ignore[import-untyped]
from gunicorn.workers.gthread import ThreadWorker  # type: ignore[import-untyped]


class FairWorker(ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    """Keeps connections alive as long as every request finds a thread."""

    @property
    def max_keepalived(self) -> int:
        """How many idle connections may be kept: gunicorn asks after each answer, and closes what is beyond."""
        busy = self.nr_conns - len(self.keepalived_conns)
        return int(self._most_kept) if busy <= self.cfg.threads else 0

    @max_keepalived.setter
    def max_keepalived(self, most: int) -> None:
        self._most_kept = most


class QuietLogger(Logger):  # type: ignore[misc]  # gunicorn has no types
    """Leaves the access log to `service.observe`; gunicorn would put every line together before nobody reads it."""

    def access(self, *_: object) -> None:
        pass
