"""Bulk requests, sent in parallel and repeated with back-off while the server is busy or away."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import orjson
from elasticsearch import ApiError, Elasticsearch, TransportError

from treeline.corpus.errors import EngineUnavailable
from treeline.corpus.frozen import frozen
from treeline.engine.elasticsearch.client import (
    BULK_SECONDS,
    BUSY,
    FIRST_PAUSE,
    LONGEST_PAUSE,
    PROGRESS_TIMEOUT_S,
    addresses,
    reason,
)

PARALLEL = 3  # requests on the way; the server works on one while it reads the next
ACTIONS_PER_REQUEST = 250
BYTES_PER_REQUEST = 4 << 20
RESULT_FIELDS = "items.*._id,items.*.status,items.*.error"

log = logging.getLogger(__name__)


@frozen
class Action:
    """One thing to do: index a document (its JSON), or delete one (nothing)."""

    id: str
    body: bytes | None

    def lines(self) -> list[bytes]:
        if self.body is None:
            return [b'{"delete":{"_id":' + orjson.dumps(self.id) + b"}}"]
        return [b'{"index":{"_id":' + orjson.dumps(self.id) + b"}}", self.body]

    @property
    def size(self) -> int:
        return len(self.body or b"") + 64


class Bulk:
    """Does actions on one index and says which of them the server refused, and why."""

    def __init__(self, client: Elasticsearch, index: str) -> None:
        self._client = client.options(request_timeout=BULK_SECONDS, max_retries=0)
        self._index = index
        self._closing = threading.Event()
        self._pool = ThreadPoolExecutor(PARALLEL, thread_name_prefix="bulk")
        self._random = random.Random()
        self.repeated = 0
        self._lock = threading.Lock()

    def __call__(self, actions: Sequence[Action]) -> list[tuple[str, str]]:
        """Do all of them; (id, reason) of those that were refused for good."""
        requests = list(_requests(actions))
        if len(requests) == 1:
            return self._send(requests[0])
        with self._lock:  # `map` hands over every request at once, and a closed pool takes none
            if self._closing.is_set():
                raise self._ended("it was closed")
            parts = self._pool.map(self._send, requests)
        return [rejection for part in parts for rejection in part]

    def close(self) -> None:
        """Wait for the requests on the way, but repeat none: only an interrupted or failed call leaves any."""
        with self._lock:
            self._closing.set()
        self._pool.shutdown(cancel_futures=True)

    def _send(self, actions: Sequence[Action]) -> list[tuple[str, str]]:
        rejections: list[tuple[str, str]] = []
        waiting = list(actions)
        pause = FIRST_PAUSE
        last_progress = time.monotonic()
        while waiting:
            again, trouble = self._try(waiting, rejections)
            if len(again) < len(waiting):
                last_progress = time.monotonic()
                pause = FIRST_PAUSE
            waiting = again
            if not waiting:
                break
            if time.monotonic() - last_progress > PROGRESS_TIMEOUT_S:
                raise EngineUnavailable(
                    f"Elasticsearch at {addresses(self._client)} took no documents for {PROGRESS_TIMEOUT_S:.0f} s: "
                    f"{trouble}",
                    "run the same command again when it is well; it goes on from the last checkpoint",
                )
            with self._lock:
                self.repeated += len(waiting)
            log.warning("bulk: %d documents again in %.1f s: %s", len(waiting), pause, trouble)
            # Jitter keeps several loaders from coming back in step.
            if self._closing.wait(pause * (0.5 + self._random.random())):
                raise self._ended(trouble)
            pause = min(2 * pause, LONGEST_PAUSE)
        return rejections

    def _ended(self, trouble: str) -> EngineUnavailable:
        return EngineUnavailable(
            f"ended before Elasticsearch at {addresses(self._client)} took all documents: {trouble}",
            "run the same command again; it goes on from the last checkpoint",
        )

    def _try(self, actions: Sequence[Action], rejections: list[tuple[str, str]]) -> tuple[list[Action], str]:
        """The actions to repeat and why; what is refused for good is added to `rejections`."""
        operations: list[Any] = [line for action in actions for line in action.lines()]
        try:
            answer: Any = self._client.bulk(index=self._index, operations=operations, filter_path=RESULT_FIELDS)
        except TransportError as error:
            return list(actions), error.message
        except ApiError as error:
            if error.status_code in BUSY:
                return list(actions), reason(error)
            if error.status_code == 413 and len(actions) == 1:
                rejections.append((actions[0].id, f"larger than the server takes: {reason(error)}"))
                return [], ""
            raise
        again: list[Action] = []
        trouble = ""
        for action, item in zip(actions, answer["items"], strict=True):
            (result,) = item.values()
            if result["status"] in BUSY:
                again.append(action)
                trouble = _words(result["error"])
            elif result["status"] == 404 and action.body is None:
                continue  # deleted already
            elif "error" in result:
                rejections.append((action.id, _words(result["error"])))
        return again, trouble


def _requests(actions: Sequence[Action]) -> list[list[Action]]:
    """Split actions into requests of limited size."""
    requests: list[list[Action]] = []
    size = 0
    for action in actions:
        if not requests or len(requests[-1]) >= ACTIONS_PER_REQUEST or size + action.size > BYTES_PER_REQUEST:
            requests.append([])
            size = 0
        requests[-1].append(action)
        size += action.size
    return requests


def _words(error: dict[str, Any]) -> str:
    cause = error.get("caused_by", {})
    return ": ".join(str(part) for part in (error.get("type"), error.get("reason"), cause.get("reason")) if part)
