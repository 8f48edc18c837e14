"""How gunicorn runs the service: worker processes by the settings, JSON logs, metrics summed over the workers.

gunicorn --config python:treeline.service.gunicorn_conf "treeline.service.app:create_app()"
"""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

from treeline.search.settings import from_environment
from treeline.service.http.keys import no_key_yet
from treeline.service.http.logs import CLIENT_LEVEL, formatter

# The metrics library reads this name when it is first imported, in the workers: it must be set before they start.
METRICS_DIR = "PROMETHEUS_MULTIPROC_DIR"

# One thread of a worker runs at a time. Woken now on one processor and now on the other, they wait for each other and
# carry what they work on from cache to cache: on a busy machine eight clients got 127 and 101 answers a second in
# two runs, 211 and 165 with each worker on a processor of its own (docs/research/speed.md).
PROCESSORS = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
_taken: Counter[int | None] = Counter()  # workers by processor

GARBAGE_AFTER = 20_000  # new objects; a search makes a thousand, nearly all of which go by themselves

settings = from_environment()
without_keys = no_key_yet(settings)
wsgi_app = "treeline.service.app:create_app()"
bind = os.environ.get("GUNICORN_BIND", "127.0.0.1:8080")
workers = settings.workers
threads = settings.threads
worker_class = "treeline.service.http.worker.WaitressWorker"
# The heartbeat is a file; on a disk that stalls, a healthy worker would be taken for dead.
worker_tmp_dir = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108
timeout = 60
graceful_timeout = 20
control_socket_disable = True  # several servers of one user would share it, and nothing here uses it
logconfig_dict: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"service": {"()": lambda: formatter(settings)}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "service"}},
    "root": {"handlers": ["stderr"], "level": settings.log_level.upper()},
    "loggers": {
        "gunicorn.error": {"handlers": [], "propagate": True},
        "elastic_transport": {"level": CLIENT_LEVEL},
    },
}

# Requests run side by side already. A matrix product that takes every core for itself leaves the others waiting and its
# helpers spinning: a search took 32 ms of processor time with two threads a product, 11 ms with one.
for library in ("OPENBLAS", "OMP", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

if METRICS_DIR not in os.environ:
    os.environ[METRICS_DIR] = tempfile.mkdtemp(prefix="treeline-metrics-")
    _own_metrics_dir: str | None = os.environ[METRICS_DIR]
else:
    _own_metrics_dir = None


def when_ready(server: Any) -> None:
    """Ready is not yet useful: probes are answered without a key, and everything else is refused."""
    if without_keys:
        server.log.warning(without_keys)


def pre_fork(_server: Any, worker: Any) -> None:
    """Choose the processor that the worker will have: one that the fewest of the others have."""
    worker.processor = min(PROCESSORS, key=lambda processor: _taken[processor], default=None)
    _taken[worker.processor] += 1


def post_fork(_server: Any, worker: Any) -> None:
    """Keep a worker's threads together where there is a worker for every processor."""
    if 0 < len(PROCESSORS) <= workers:
        with suppress(OSError):  # a sandbox may forbid it; it only costs time
            os.sched_setaffinity(0, {worker.processor})


def post_worker_init(worker: Any) -> None:
    """What the application is made of stays: the collector need not go through it after every few searches."""
    from treeline.service.http.context import warm_up_in_background

    gc.collect()
    gc.freeze()
    gc.set_threshold(GARBAGE_AFTER)
    warm_up_in_background(worker.wsgi)


def child_exit(_server: Any, worker: Any) -> None:
    """A worker that is gone no longer counts in the gauges; what it counted stays."""
    from prometheus_client.multiprocess import mark_process_dead

    _taken[worker.processor] -= 1
    mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]


def on_exit(_server: Any) -> None:
    if _own_metrics_dir:
        shutil.rmtree(_own_metrics_dir, ignore_errors=True)
