"""How gunicorn runs the service: workers from the settings, JSON logs, metrics summed over the workers.

gunicorn --config python:service.gunicorn_conf "service.app:create_app()"
"""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from service.logs import CLIENT_LEVEL, formatter
from service.settings import from_environment

# The metrics library reads this name when it is first imported, in the workers: it must be set before they start.
METRICS_DIR = "PROMETHEUS_MULTIPROC_DIR"

GARBAGE_AFTER = 20_000  # new objects; a search makes a thousand, nearly all of which go by themselves

settings = from_environment()
wsgi_app = "service.app:create_app()"
bind = os.environ.get("GUNICORN_BIND", "127.0.0.1:8080")
workers = settings.workers
threads = settings.threads
worker_class = "service.gunicorn_worker.FairWorker"
# The heartbeat is a file; on a disk that stalls, a healthy worker would be taken for dead.
worker_tmp_dir = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108
timeout = 60
graceful_timeout = 20
keepalive = 15
control_socket_disable = True  # several servers of one user would share it, and nothing here uses it
accesslog = None  # service.observe writes the access log, with the request's id
logconfig_dict: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"service": {"()": lambda: formatter(settings)}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "service"}},
    "root": {"handlers": ["stderr"], "level": settings.log_level.upper()},
    "loggers": {
        "gunicorn.error": {"handlers": [], "propagate": True},
        "gunicorn.access": {"handlers": [], "propagate": False},
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


def post_worker_init(_worker: Any) -> None:
    """What the application is made of stays: the collector need not go through it after every few searches."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(GARBAGE_AFTER)


def child_exit(_server: Any, worker: Any) -> None:
    """A worker that is gone no longer counts in the gauges; what it counted stays."""
    from prometheus_client.multiprocess import mark_process_dead

    mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]


def on_exit(_server: Any) -> None:
    if _own_metrics_dir:
        shutil.rmtree(_own_metrics_dir, ignore_errors=True)
