"""One writer an index on Elasticsearch: a document that says who writes, kept alive by heartbeats."""

from __future__ import annotations

import os
import socket
import time
from typing import Any

from elasticsearch import ConflictError, Elasticsearch, NotFoundError

from corpus.errors import InputError
from engine.elasticsearch_client import server_errors
from engine.names import internal_name

INDEX = internal_name("writers")
HEARTBEAT_SECONDS = 10.0
DEAD_AFTER_SECONDS = 60.0  # without a heartbeat, when the writer is on another machine
SETTINGS = {"number_of_shards": 1, "auto_expand_replicas": "0-1", "hidden": True}
MAPPINGS = {
    "dynamic": "strict",
    "properties": {
        "host": {"type": "keyword"},
        "process": {"type": "keyword"},
        "at": {"type": "double"},
    },
}


class Lease:
    """Held by a writer until released; taken over at once from a process of this machine that has died."""

    def __init__(self, client: Elasticsearch, name: str) -> None:
        self._client = client
        self._name = name
        self._last = 0.0
        with server_errors(client):
            if not client.indices.exists(index=INDEX):
                client.options(ignore_status=400).indices.create(index=INDEX, settings=SETTINGS, mappings=MAPPINGS)
            try:
                self._write({"op_type": "create"})
            except ConflictError:
                self._take_over()

    def heartbeat(self) -> None:
        """Say that the writer is alive, when it is time to."""
        if time.monotonic() - self._last > HEARTBEAT_SECONDS:
            with server_errors(self._client):
                self._write({})

    def release(self) -> None:
        with server_errors(self._client):
            self._client.options(ignore_status=404).delete(index=INDEX, id=self._name, refresh=False)

    def _take_over(self) -> None:
        try:
            found: Any = self._client.get(index=INDEX, id=self._name)
        except NotFoundError:
            self._write({"op_type": "create"})
            return
        holder = found["_source"]
        same_machine = holder["host"] == socket.gethostname()
        dead = not _is_running(holder["process"]) if same_machine else time.time() - holder["at"] > DEAD_AFTER_SECONDS
        if not dead:
            raise self._refusal(holder)
        try:
            self._write({"if_seq_no": found["_seq_no"], "if_primary_term": found["_primary_term"]})
        except ConflictError:
            raise self._refusal(holder) from None

    def _write(self, condition: dict[str, Any]) -> None:
        body = {"host": socket.gethostname(), "process": _process(os.getpid()), "at": time.time()}
        self._client.index(index=INDEX, id=self._name, document=body, **condition)
        self._last = time.monotonic()

    def _refusal(self, holder: dict[str, Any]) -> InputError:
        process = str(holder["process"]).partition(":")[0]
        return InputError(
            f"the index {self._name!r} is being written by process {process} on {holder['host']}",
            f"wait until it has finished, or {DEAD_AFTER_SECONDS:.0f} s after it has died",
        )


def _process(number: int) -> str:
    """A process by its number and its time of start, because numbers are given out again."""
    try:
        with open(f"/proc/{number}/stat", encoding="utf-8") as stat:  # noqa: PTH123 - not a path of ours
            started = stat.read().rpartition(")")[2].split()[19]
    except OSError:
        started = ""
    return f"{number}:{started}"


def _is_running(process: str) -> bool:
    number = int(process.partition(":")[0])
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return _process(number) == process
