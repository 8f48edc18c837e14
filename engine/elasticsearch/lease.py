"""One writer per index on Elasticsearch: a lease document, kept alive by heartbeats."""

from __future__ import annotations

import os
import socket
import threading
import time
from contextlib import suppress
from typing import Any

from elasticsearch import ApiError, ConflictError, Elasticsearch, NotFoundError, TransportError

from treeline.corpus.errors import InputError, TreelineError
from treeline.engine.elasticsearch.client import ADMIN_SECONDS, await_shards, server_errors
from treeline.engine.names import internal_name

INDEX = internal_name("writers")
HEARTBEAT_SECONDS = 10.0
DEAD_AFTER_SECONDS = 60.0  # without a heartbeat: several in a row were not sent, or did not arrive
SETTINGS = {"number_of_shards": 1, "auto_expand_replicas": "0-1", "hidden": True}
MAPPINGS = {
    "dynamic": "strict",
    "properties": {"host": {"type": "keyword"}, "process": {"type": "keyword"}, "at": {"type": "double"}},
}


class Lease:
    """Held by a writer until released. Another takes it over when the writer is silent for long, or at once when it
    died on this machine."""

    def __init__(self, client: Elasticsearch, name: str) -> None:
        self._client = client.options(request_timeout=ADMIN_SECONDS)
        self._id = name
        self._who = {"host": socket.gethostname(), "process": _process(os.getpid())}
        self._version: dict[str, Any] = {"op_type": "create"}
        self._lost = False
        self._released = threading.Event()
        with server_errors(client):
            self._make_index()
            try:
                self._write()
            except ConflictError:
                self._take_over()
        self._client = client  # not as patient: a heartbeat that waits for long holds up the next
        # A thread, because a writer may be silent for minutes while it computes or waits for a busy server.
        threading.Thread(target=self._keep, name=f"lease-{self._id}", daemon=True).start()

    def check(self) -> None:
        """Raise when another writer has taken over: what is written now would be mixed with its own."""
        if self._lost:
            raise TreelineError(
                f"another process has taken over the writing of the index {self._id!r}: this one was not heard of for "
                f"{DEAD_AFTER_SECONDS:.0f} s",
                "run the command again when it has finished",
            )

    def release(self) -> None:
        """Make way for the next writer; when the server is away, the lease ends by itself after a while."""
        self._released.set()
        with suppress(ApiError, TransportError):
            while not self._lost:
                try:
                    self._client.delete(index=INDEX, id=self._id, refresh=False, **self._version)
                    return
                except ConflictError:
                    self._lost = not self._is_held()

    def _keep(self) -> None:
        """Say every few seconds that the writer is alive; a server that is away is the writer's to tell of."""
        while not self._released.wait(HEARTBEAT_SECONDS):
            with suppress(ApiError, TransportError):
                try:
                    self._write()
                except ConflictError:
                    self._lost = not self._is_held()
                    if self._lost:
                        return

    def _make_index(self) -> None:
        if not self._client.indices.exists(index=INDEX):
            create = self._client.options(ignore_status=400).indices.create  # another writer may be a moment earlier
            create(index=INDEX, settings=SETTINGS, mappings=MAPPINGS, wait_for_active_shards=0)
        await_shards(self._client, INDEX)

    def _take_over(self) -> None:
        lease = self._read()
        if lease is not None and _is_alive(lease["_source"]):
            raise self._refusal(lease["_source"])
        try:
            self._write()  # it was released a moment ago, or its holder is dead
        except ConflictError:  # another process was a moment earlier
            lease = self._read()
            raise self._refusal(lease["_source"] if lease else self._who) from None

    def _is_held(self) -> bool:
        """After a conflict: whether it was with a heartbeat of ours whose answer was lost, not with another writer."""
        lease = self._read()
        return lease is not None and all(lease["_source"][key] == value for key, value in self._who.items())

    def _read(self) -> Any:
        """The document, whose version the next write is to follow; None when there is none."""
        try:
            lease = self._client.get(index=INDEX, id=self._id)
        except NotFoundError:
            return None
        self._version = _version(lease)
        return lease

    def _write(self) -> None:
        """If nobody else has written since."""
        body = {**self._who, "at": time.time()}
        self._version = _version(self._client.index(index=INDEX, id=self._id, document=body, **self._version))

    def _refusal(self, holder: dict[str, Any]) -> InputError:
        process = str(holder["process"]).partition(":")[0]
        return InputError(
            f"the index {self._id!r} is being written by process {process} on {holder['host']}",
            f"wait until it has finished, or {DEAD_AFTER_SECONDS:.0f} s after it has died",
        )


def _is_alive(holder: dict[str, Any]) -> bool:
    if time.time() - holder["at"] > DEAD_AFTER_SECONDS:
        return False
    return holder["host"] != socket.gethostname() or _is_running(holder["process"])


def _version(answer: Any) -> dict[str, Any]:
    return {"if_seq_no": answer["_seq_no"], "if_primary_term": answer["_primary_term"]}


def _process(number: int) -> str:
    """A process by its number and its time of start, because numbers are given out again."""
    try:
        with open(f"/proc/{number}/stat", encoding="utf-8") as stat:  # noqa: PTH123 - not a path of ours
            start = stat.read().rpartition(")")[2].split()[19]
    except OSError:
        start = ""
    return f"{number}:{start}"


def _is_running(process: str) -> bool:
    number = int(process.partition(":")[0])
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return _process(number) == process
