"""gunicorn's configuration: worker processes from the settings, JSON logs, metrics summed over workers.

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

# The metrics library reads this variable at import, in the workers, so it must be set before they start.
METRICS_DIR = "PROMETHEUS_MULTIPROC_DIR"

# One thread of a worker runs at a time (the GIL). Pinning each worker to a processor keeps its caches warm: on a busy
# machine eight clients got 211 and 165 answers a second in two runs, 127 and 101 without (docs/research/speed.md).
PROCESSORS = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
_taken: Counter[int | None] = Counter()  # workers per processor

os.umask(0o077)  # indexes hold the text of private repositories

GARBAGE_AFTER = 20_000  # new objects; a search makes a thousand, nearly all freed by reference counting

settings = from_environment()
without_keys = no_key_yet(settings)
wsgi_app = "treeline.service.app:create_app()"
bind = os.environ.get("GUNICORN_BIND", "127.0.0.1:8080")
workers = settings.workers
threads = settings.threads
worker_class = "treeline.service.http.worker.WaitressWorker"
# The heartbeat is a file; on a stalling disk a healthy worker would look dead.
worker_tmp_dir = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108
timeout = 60
graceful_timeout = 20
control_socket_disable = True  # servers of the same user would share it, and we do not use it
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

# Requests already run in parallel. A search took 32 ms of processor time with two BLAS threads, 11 ms with one.
for library in ("OPENBLAS", "OMP", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

if METRICS_DIR not in os.environ:
    os.environ[METRICS_DIR] = tempfile.mkdtemp(prefix="treeline-metrics-")
    _own_metrics_dir: str | None = os.environ[METRICS_DIR]
else:
    _own_metrics_dir = None


def when_ready(server: Any) -> None:
    """Warn if every request would be refused because keys are required and there is none."""
    if without_keys:
        server.log.warning(without_keys)


def pre_fork(_server: Any, worker: Any) -> None:
    """Choose the worker's processor: the one with the fewest workers."""
    worker.processor = min(PROCESSORS, key=lambda processor: _taken[processor], default=None)
    _taken[worker.processor] += 1


def post_fork(_server: Any, worker: Any) -> None:
    """Pin the worker to its processor if there is a worker for every processor."""
    if 0 < len(PROCESSORS) <= workers:
        with suppress(OSError):  # a sandbox may forbid it
            os.sched_setaffinity(0, {worker.processor})


def post_worker_init(worker: Any) -> None:
    """Freeze the application's objects, so that garbage collection skips them."""
    from treeline.service.http.context import warm_up_in_background

    gc.collect()
    gc.freeze()
    gc.set_threshold(GARBAGE_AFTER)
    warm_up_in_background(worker.wsgi)


def child_exit(_server: Any, worker: Any) -> None:
    """Remove a dead worker from the gauges; its counters stay."""
    from prometheus_client.multiprocess import mark_process_dead

    _taken[worker.processor] -= 1
    mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]


def on_exit(_server: Any) -> None:
    if _own_metrics_dir:
        shutil.rmtree(_own_metrics_dir, ignore_errors=True)
