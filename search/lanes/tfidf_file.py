"""The TF-IDF matrix of one generation, kept in a file of the cache: a minute to make, a second to read."""

from __future__ import annotations

import fcntl
import logging
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path

from treeline.engine.durable import write_atomically
from treeline.engine.protocol import IndexInfo

log = logging.getLogger(__name__)

FOLDER = "tfidf"
DIGEST = 16  # bytes in front of the matrix, which tell whether it is whole


def kept(cache: Path, info: IndexInfo, make: Callable[[], bytes]) -> bytes:
    """The matrix of this generation as it was kept, or as `make` makes it now; two processes never both make it."""
    path = path_of(cache, info)
    data = _read(path)
    if data is None:
        with _alone(path.parent):
            data = _read(path)
            if data is None:
                data = make()
                _write(path, data)
    return data


def forget(cache: Path, name: str) -> None:
    """Remove what is kept of an index that is no more."""
    shutil.rmtree(cache / FOLDER / name, ignore_errors=True)


def path_of(cache: Path, info: IndexInfo) -> Path:
    """One file a generation; an index that was made anew under the same name and number has another one."""
    identity = blake2b(info.identity.encode(), digest_size=8).hexdigest()
    return cache / FOLDER / info.name / f"{info.generation}-{identity}"


def _read(path: Path) -> bytes | None:
    try:
        content = path.read_bytes()
    except OSError:
        return None
    digest, data = content[:DIGEST], content[DIGEST:]
    return data if digest == blake2b(data, digest_size=DIGEST).digest() else None


def _write(path: Path, data: bytes) -> None:
    """Instead of those of other generations; where nothing can be written it is made again the next time."""
    try:
        for old in path.parent.glob("*-*"):
            old.unlink()
        write_atomically(path, blake2b(data, digest_size=DIGEST).digest() + data)
    except OSError as error:
        log.warning("the TF-IDF matrix cannot be kept for the next time: %s", error)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / "lock").open("ab")
    except OSError:  # nothing can be kept here, so there is nothing to wait for
        yield
        return
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
