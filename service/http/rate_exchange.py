"""Rate limits of several machines on one Elasticsearch: each tells the others what it allowed, about once a second.

Requests never wait for this. A machine writes one small document: for each caller, how many seconds of its bucket were
used there, as sums that only grow. It reads the others' documents, and counts in its own table what their sums have
grown by. No time is compared between machines, so their clocks may differ. When the cluster is away, each counts alone.
"""

from __future__ import annotations

import fcntl
import logging
import math
import os
import secrets
import threading
import time
import weakref
from collections.abc import Mapping
from contextlib import suppress
from heapq import nlargest
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from elasticsearch import ConflictError, Elasticsearch, NotFoundError
from numpy.typing import NDArray

from treeline.corpus.errors import TreelineError
from treeline.engine.elasticsearch.client import await_shards, connect, server_errors
from treeline.engine.names import internal_name
from treeline.search.settings import Settings, cluster
from treeline.service.http.rate import KEY_BYTES, RateLimiter, Usage

log = logging.getLogger(__name__)

PAUSE, LONGEST_PAUSE = 1.0, 10.0  # seconds between two exchanges; doubled while the cluster is away
ANSWER_SECONDS = 2.0
HEARTBEAT_SECONDS = 10.0
DEAD_AFTER_SECONDS = 60.0  # without a heartbeat; its document is then removed
KEPT_SECONDS = 10.0  # for which a caller stays in the document once its bucket is empty
MOST_CALLERS = 2_000  # in one document, those with the fullest buckets: a hundred kilobytes
MOST_MACHINES = 200
KEY = "key"  # the id of the document with the key of the callers' hashes
STORED: dict[str, Any] = {"index": False, "doc_values": False}
MAPPINGS: dict[str, Any] = {
    "dynamic": "strict",
    "properties": {
        "key": {"type": "keyword", **STORED},
        "callers": {"type": "keyword", **STORED},
        "seconds": {"type": "double", **STORED},
        "full": {"type": "double", **STORED},
    },
}
# Refreshed by each write, so that what is written is found at once and nothing is done in between.
SETTINGS = {"number_of_shards": 1, "auto_expand_replicas": "0-1", "hidden": True, "refresh_interval": "-1"}


def share_rates(settings: Settings, limiter: RateLimiter, path: Path) -> None:
    """Exchange in the background as long as the limiter lives.

    Of the processes of a machine, only the one that holds the lock on this path does.
    """
    try:
        client = connect(**cluster(settings))
    except TreelineError as error:  # searching says so too; the service starts
        log.warning("this machine counts rates by itself: %s", error)
        return
    exchange = RateExchange(client, internal_name(f"rates-{settings.index}"))
    threading.Thread(
        target=_keep_exchanging, args=(exchange, weakref.ref(limiter), path), name="rate-exchange", daemon=True
    ).start()


def _keep_exchanging(exchange: RateExchange, reference: weakref.ref[RateLimiter], path: Path) -> None:
    lock, pause = -1, PAUSE
    try:
        while (limiter := reference()) is not None:
            if limiter.is_shared and lock < 0:
                lock = _lock(path)
            if lock >= 0 or not limiter.is_shared:
                pause = PAUSE if exchange.attempt(limiter) else min(2 * pause, LONGEST_PAUSE)
            del limiter  # or it would live as long as this thread
            time.sleep(pause)
    finally:
        exchange.close()
        if lock >= 0:
            os.close(lock)  # another process takes over


def _lock(path: Path) -> int:
    """A descriptor that holds the lock; -1 if another process does."""
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return -1
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        return -1
    return file


class _Other(NamedTuple):
    """Another machine's document as it was when last changed, and when that was noticed."""

    version: tuple[int, int]
    noticed: float
    sums: Mapping[int, Usage]


class RateExchange:
    """One machine's side of the exchange."""

    def __init__(self, client: Elasticsearch, index: str) -> None:
        self._client = client.options(request_timeout=ANSWER_SECONDS)
        self._index = index
        self._alone_since = 0.0  # a time once the cluster has failed
        self._start_over()

    def _start_over(self) -> None:
        """As a new machine: what was counted meanwhile stays with the one that counted it."""
        self._id = secrets.token_hex(8)
        self._others: dict[str, _Other] | None = None
        self._before: NDArray[np.void] | None = None
        self._sums: dict[int, Usage] = {}
        self._written = 0.0
        self._read_at = time.time()

    def attempt(self, limiter: RateLimiter) -> bool:
        """Exchange once; false if the cluster fails, which is logged the first time."""
        try:
            with server_errors(self._client):
                self.exchange(limiter)
        except TreelineError as error:
            if not self._alone_since:
                self._alone_since = time.monotonic()
                log.warning("this machine counts rates by itself until the cluster takes part: %s", error)
            self._start_over()
            return False
        if self._alone_since:
            log.info("rates are shared again after %.0f s", time.monotonic() - self._alone_since)
            self._alone_since = 0.0
        return True

    def exchange(self, limiter: RateLimiter) -> None:
        """Count what the others allowed since the last time, then tell them what was allowed here."""
        documents = self._documents()
        if KEY not in documents:
            self._offer_key(limiter.key())
            return  # the next exchange finds it, or that of a machine that was a moment earlier
        key = self._key_of(documents.pop(KEY))
        if key != limiter.key():
            limiter.change_key(key)
            self._start_over()
        since, self._read_at = self._read_at, time.time()
        if usage := self._notice(documents):
            limiter.charge(usage, since)
        changed = self._add_up(limiter) if self._others else self._clear()
        if changed or self._id not in documents or time.monotonic() - self._written >= HEARTBEAT_SECONDS:
            self._tell()

    def close(self) -> None:
        self._client.close()

    def _documents(self) -> dict[str, Any]:
        """All documents by id; the index is made if there is none."""
        try:
            found = self._client.search(index=self._index, size=MOST_MACHINES, seq_no_primary_term=True)
        except NotFoundError:
            create = self._client.options(ignore_status=400).indices.create  # another may be a moment earlier
            create(index=self._index, settings=SETTINGS, mappings=MAPPINGS, wait_for_active_shards=0)
            await_shards(self._client, self._index)
            return {}
        return {hit["_id"]: hit for hit in found["hits"]["hits"]}

    def _offer_key(self, key: bytes) -> None:
        with suppress(ConflictError):
            self._client.index(index=self._index, id=KEY, document={"key": key.hex()}, op_type="create", refresh=True)

    def _key_of(self, hit: dict[str, Any]) -> bytes:
        try:
            key = bytes.fromhex(hit["_source"]["key"])
            if len(key) == KEY_BYTES:
                return key
        except (KeyError, TypeError, ValueError):
            pass
        raise TreelineError(f"the document {KEY!r} of the index {self._index} is damaged", "delete the index")

    def _notice(self, documents: dict[str, Any]) -> dict[int, Usage]:
        """What the others' sums have grown by. What a new machine finds was counted before it came."""
        now, usage = time.monotonic(), dict[int, Usage]()
        known, self._others = self._others, {}
        for id, hit in documents.items():
            if id == self._id:
                continue
            version = hit["_seq_no"], hit["_primary_term"]
            before = known.get(id) if known else None
            if before is not None and before.version == version:
                if now - before.noticed > DEAD_AFTER_SECONDS:
                    self._remove(id, version)
                else:
                    self._others[id] = before
                continue
            sums = _sums_of(hit)
            self._others[id] = _Other(version, now, sums)
            if known is None:
                continue
            for caller, (seconds, full) in sums.items():
                earlier = before.sums[caller].seconds if before and caller in before.sums else 0.0
                grown = seconds - earlier if seconds >= earlier else seconds  # it was left out meanwhile
                usage[caller] = Usage(usage.get(caller, Usage(0.0, 0.0)).seconds + grown, full)
        return {caller: used for caller, used in usage.items() if used.seconds > 0}

    def _remove(self, id: str, version: tuple[int, int]) -> None:
        client = self._client.options(ignore_status=(404, 409))  # another machine has removed it, or it lives
        client.delete(index=self._index, id=id, if_seq_no=version[0], if_primary_term=version[1], refresh=True)

    def _clear(self) -> bool:
        """Nobody listens: begin with the sums when somebody does."""
        self._before, self._sums = None, {}
        return False

    def _add_up(self, limiter: RateLimiter) -> bool:
        """Add what was allowed since the last time; returns whether it was anything."""
        slots, before = limiter.slots(), self._before
        self._before = slots
        if before is None:
            return False
        changed = (slots["used"] != before["used"]) | (slots["caller"] != before["caller"])
        now, then = slots[changed], before[changed]
        same = now["caller"] == then["caller"]  # else the slot was reused, and its sum began at nothing
        used = now["used"] - np.where(same, then["used"], 0.0)
        grown = np.isfinite(used) & (used > 0) & np.isfinite(now["full"])
        for row, seconds in zip(now[grown].tolist(), used[grown].tolist(), strict=True):
            caller, _, _, full = row
            self._sums[caller] = Usage(self._sums.get(caller, Usage(0.0, full)).seconds + seconds, full)
        active = slots[slots["empty_at"] > time.time() - KEPT_SECONDS]
        ends = dict(zip(active["caller"].tolist(), active["empty_at"].tolist(), strict=True))
        fullest = nlargest(MOST_CALLERS, self._sums.keys() & ends.keys(), key=ends.__getitem__)
        self._sums = {caller: self._sums[caller] for caller in fullest}
        return bool(grown.any())

    def _tell(self) -> None:
        sums = self._sums
        document = {
            "callers": [f"{caller:016x}" for caller in sums],
            "seconds": [used.seconds for used in sums.values()],
            "full": [used.full for used in sums.values()],
        }
        self._client.index(index=self._index, id=self._id, document=document, refresh=True)
        self._written = time.monotonic()


def _sums_of(hit: dict[str, Any]) -> dict[int, Usage]:
    """What a document says of each caller; nothing if it is damaged."""
    source, sums = hit["_source"], dict[int, Usage]()
    try:
        for caller, seconds, full in zip(source["callers"], source["seconds"], source["full"], strict=True):
            if math.isfinite(seconds) and 0 < full < math.inf and len(sums) < MOST_CALLERS:
                sums[int(caller, 16) % 2**64] = Usage(float(seconds), float(full))
    except (KeyError, TypeError, ValueError):
        return {}
    return sums
