"""How often each caller may ask: the generic cell rate algorithm over a file that all worker processes share.

GCRA (ITU-T I.371) keeps one number a caller, the time at which its bucket is empty again, so a slot is 16 bytes and
a decision is one comparison. A lock of the file makes it exact across processes; without a writable file each
process counts for itself.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import struct
import threading
import time
import weakref
from hashlib import blake2b
from pathlib import Path

SLOT = struct.Struct("=Qd")  # who (a hash), and when its bucket is empty again
SLOTS = 65_536  # one megabyte; far more callers than are ever active within one burst
PROBES = 8  # slots tried before the one that empties first is taken over


class RateLimiter:
    """Decides call by call; `wait` is 0 when the caller may go on, else the seconds to come back after."""

    def __init__(self, path: Path | None = None) -> None:
        self._lock = threading.Lock()
        self._file = _shared_file(path) if path else None
        self._map = mmap.mmap(-1 if self._file is None else self._file, SLOT.size * SLOTS)
        if self._file is not None:
            weakref.finalize(self, os.close, self._file)

    def wait(self, caller: str, per_minute: float, burst: int, now: float | None = None) -> float:
        """Count one call; `burst` of them may come at once, then `per_minute`."""
        now = time.time() if now is None else now
        interval = 60.0 / per_minute
        with self._lock:
            if self._file is not None:
                fcntl.lockf(self._file, fcntl.LOCK_EX)
            try:
                return self._decide(caller, interval, burst, now)
            finally:
                if self._file is not None:
                    fcntl.lockf(self._file, fcntl.LOCK_UN)

    def _decide(self, caller: str, interval: float, burst: int, now: float) -> float:
        who, offset, empty_at = self._slot(caller)
        # A clock that was set back must not lock callers out: nothing is ever further ahead than a full burst.
        empty_at = min(max(empty_at, now), now + burst * interval)
        late = empty_at + interval - (now + burst * interval)
        if late > 1e-9:
            return late
        SLOT.pack_into(self._map, offset, who, empty_at + interval)
        return 0.0

    def _slot(self, caller: str) -> tuple[int, int, float]:
        who = int.from_bytes(blake2b(caller.encode("utf-8", "surrogatepass"), digest_size=8).digest()) or 1
        emptiest = (float("inf"), 0)
        for probe in range(PROBES):
            offset = ((who + probe) % SLOTS) * SLOT.size
            owner, empty_at = SLOT.unpack_from(self._map, offset)
            if owner == who:
                return who, offset, empty_at
            emptiest = min(emptiest, (empty_at, offset))
        return who, emptiest[1], 0.0


def _shared_file(path: Path) -> int | None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    try:
        os.truncate(file, SLOT.size * SLOTS)
    except OSError:
        os.close(file)
        return None
    return file
