"""Rate limits: a token bucket for each caller, in a file that all processes of a machine share."""

from __future__ import annotations

import fcntl
import logging
import math
import os
import secrets
import struct
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

log = logging.getLogger(__name__)

KEY_BYTES = 32  # at the start of the table: the key of the callers' hashes
# The caller's hash, when its bucket is empty, the seconds of it that were used here, and the seconds of a full burst.
SLOT = struct.Struct("=Qddd")
COLUMNS = np.dtype([("caller", "u8"), ("empty_at", "f8"), ("used", "f8"), ("full", "f8")])
SLOTS = 65_536  # two megabytes; far more than the callers active within one burst
PROBES = 8  # slots tried before the one that empties first is reused
# Machines that do not know yet what the others allowed may allow too much together. The caller owes it, up to this.
MOST_DEBT = 30.0

Result = TypeVar("Result")


class Usage(NamedTuple):
    """How many seconds of its bucket a caller used, and how many a full burst takes."""

    seconds: float
    full: float


class RateLimiter:
    """Limits calls by the generic cell rate algorithm.

    GCRA (ITU-T I.371) stores one time per caller, when its bucket is empty, and a decision is one comparison. Callers
    are stored as keyed hashes. The file is not memory-mapped: on a full disk a mapped page kills the process, while a
    write only fails. If the file cannot be used, each process counts by itself.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._lock = threading.Lock()
        self._memory = bytearray(KEY_BYTES + SLOT.size * (SLOTS + PROBES))  # probes do not wrap around
        self._file = _shared_file(path, len(self._memory)) if path else None
        if self._file is not None:
            weakref.finalize(self, os.close, self._file)

    @property
    def is_shared(self) -> bool:
        """Whether all processes of this machine count together."""
        return self._file is not None

    def wait(self, caller: str, per_minute: float, burst: int, now: float | None = None) -> float:
        """Count one call: 0 if it is allowed, else the seconds to wait.

        `burst` calls may come at once, then `per_minute`.
        """
        now = time.time() if now is None else now
        interval = 60.0 / per_minute

        def count(table: _Table) -> float:
            who = blake2b(caller.encode("utf-8", "surrogatepass"), digest_size=8, key=_key(table)).digest()
            slot = _find(table, int.from_bytes(who) or 1)
            most = now + burst * interval
            empty_at = max(_plausible(slot.empty_at, most), now)
            late = empty_at + interval - most
            if late > 1e-9:
                return late
            _write(table, slot, empty_at + interval, slot.used + interval, burst * interval)
            return 0.0

        return self._locked(count)

    def charge(self, usage: Mapping[int, Usage], since: float, now: float | None = None) -> None:
        """Count what other machines have allowed since that time."""
        now = time.time() if now is None else now
        since = min(since, now)
        for who, (seconds, full) in usage.items():

            def add(table: _Table, who: int = who, seconds: float = seconds, full: float = full) -> None:
                slot = _find(table, who)
                empty_at = max(_plausible(slot.empty_at, now + full), since) + seconds
                _write(table, slot, min(empty_at, now + full + MOST_DEBT), slot.used, full)

            self._locked(add)

    def slots(self) -> NDArray[np.void]:
        """A copy of all slots, in `COLUMNS`."""
        size = SLOT.size * (SLOTS + PROBES)
        return np.frombuffer(self._locked(lambda table: table.read(KEY_BYTES, size)), COLUMNS)

    def key(self) -> bytes:
        """The key of the callers' hashes."""
        return self._locked(_key)

    def change_key(self, key: bytes) -> None:
        """Forget all callers, and hash them with another key from now on."""
        self._locked(lambda table: table.write(0, key.ljust(len(self._memory), b"\0")))

    def _locked(self, work: Callable[[_Table], Result]) -> Result:
        """Work on the file, or in memory if it cannot be used."""
        with self._lock:
            if self._file is not None:
                try:
                    fcntl.lockf(self._file, fcntl.LOCK_EX)
                    try:
                        return work(_FileTable(self._file))
                    finally:
                        fcntl.lockf(self._file, fcntl.LOCK_UN)
                except OSError as error:
                    log.warning("rates are counted by each process: %s", error)
                    self._file = None
            return work(_MemoryTable(self._memory))


class _Slot(NamedTuple):
    at: int
    caller: int
    empty_at: float
    used: float


class _FileTable(NamedTuple):
    file: int

    def read(self, at: int, size: int) -> bytes:
        return os.pread(self.file, size, at).ljust(size, b"\0")

    def write(self, at: int, data: bytes) -> None:
        os.pwrite(self.file, data, at)


class _MemoryTable(NamedTuple):
    memory: bytearray

    def read(self, at: int, size: int) -> bytes:
        return bytes(self.memory[at : at + size])

    def write(self, at: int, data: bytes) -> None:
        self.memory[at : at + len(data)] = data


_Table = _FileTable | _MemoryTable


def _key(table: _Table) -> bytes:
    """The table's key; a random one in a new table."""
    key = table.read(0, KEY_BYTES)
    if not any(key):
        key = secrets.token_bytes(KEY_BYTES)
        table.write(0, key)
    return key


def _find(table: _Table, caller: int) -> _Slot:
    """The caller's slot; if it has none, the one nearby that empties first, as new."""
    start = KEY_BYTES + caller % SLOTS * SLOT.size
    at, emptiest, free = start, math.inf, start
    for owner, empty_at, used, _ in SLOT.iter_unpack(table.read(start, PROBES * SLOT.size)):
        if not math.isfinite(empty_at):
            empty_at = 0.0  # a damaged file
        if owner == caller:
            return _Slot(at, caller, empty_at, used if math.isfinite(used) else 0.0)
        if empty_at < emptiest:
            emptiest, free = empty_at, at
        at += SLOT.size
    return _Slot(free, caller, 0.0, 0.0)


def _plausible(empty_at: float, full_at: float) -> float:
    """The time, unless it is further ahead than anybody can owe: a clock set back must not lock callers out."""
    return empty_at if empty_at <= full_at + MOST_DEBT + 1e-6 else 0.0


def _write(table: _Table, slot: _Slot, empty_at: float, used: float, full: float) -> None:
    table.write(slot.at, SLOT.pack(slot.caller, empty_at, used, full))


def _shared_file(path: Path, size: int) -> int | None:
    """The file, with its space allocated where the system can, so that a full disk does not matter later."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    try:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file, 0, size)
    except OSError:
        os.close(file)
        return None
    return file
