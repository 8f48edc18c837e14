"""Files that survive a crash: written whole, synced, and put in place by one atomic rename."""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import shutil
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Self

from treeline.corpus.errors import NO_THREADS, DiskFailure, DiskFull, InputError

ELSEWHERE = "choose another folder with TREELINE_HOME"
HINTS = {
    errno.ENOSPC: ("the disk is full", "free some space and run it again; what was there before is intact"),
    errno.EDQUOT: ("the disk quota is used up", "free some space and run it again; what was there before is intact"),
    errno.EFBIG: ("a file grew over the allowed size", "raise the limit; what was there before is intact"),
    errno.EROFS: ("it is on a read-only file system", ELSEWHERE),
    errno.EACCES: ("permission denied", f"{ELSEWHERE} or change its owner"),
    errno.EPERM: ("permission denied", f"{ELSEWHERE} or change its owner"),
    errno.EAGAIN: NO_THREADS,
    errno.EMFILE: ("too many open files", "raise the limit with `ulimit -n`"),
}
# The text index reports a failing disk as a ValueError that quotes the operating system.
TEXT_INDEX_CAUSES = {
    "No space left": errno.ENOSPC,
    "Disk quota": errno.EDQUOT,
    "File too large": errno.EFBIG,
    "Read-only file system": errno.EROFS,
    "Permission denied": errno.EACCES,
    "Too many open files": errno.EMFILE,
    "Failed to spawn": errno.EAGAIN,
    "Resource temporarily unavailable": errno.EAGAIN,
}
# Or only that a thread of its own gave up.
TEXT_INDEX_TROUBLE = "index writer was killed|worker thread|Lockfile|IoError|IO error|Io Error|System error".split("|")
PRIVATE = 0o077  # the permissions that group and others lose
LOOK_AGAIN_S = 0.05  # between two tries to lock a file
FULL_BELOW = 50 << 20  # bytes; tantivy gives up with some space left, because it frees what it could not finish


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn the operating system's errors about a disk into a message that names the fix."""
    try:
        yield
    except OSError as error:
        # numpy says only how much of an array it could write.
        raise _failure(path, error.errno, error.strerror or str(error), ELSEWHERE) from error
    except ValueError as error:
        number = next((number for words, number in TEXT_INDEX_CAUSES.items() if words in str(error)), None)
        if number is None and not any(words in str(error) for words in TEXT_INDEX_TROUBLE):
            raise
        raise _failure(path, number, f"the text index failed: {error}", "what was there before is intact") from error


def _failure(path: Path, number: int | None, reason: str, hint: str) -> DiskFailure:
    """The error of that number, or of the likely cause when tantivy or numpy gives none."""
    if not number and shutil.disk_usage(path).free < FULL_BELOW:
        number = errno.ENOSPC
    elif not number and resource.getrlimit(resource.RLIMIT_FSIZE)[0] != resource.RLIM_INFINITY:
        number = errno.EFBIG
    reason, hint = HINTS.get(number or 0, (reason, hint))
    kind = DiskFull if number in {errno.ENOSPC, errno.EDQUOT} else DiskFailure
    return kind(f"cannot write the index in {path}: {reason}", hint)


def user_home() -> Path | None:
    """The user's home folder; None where the system knows none, as in a container under a number alone."""
    with suppress(RuntimeError):
        return Path.home().resolve()
    return None


def close_to_others(home: Path) -> None:
    """Close a data folder to other users, and the files in it that an older version left open."""
    with suppress(OSError):  # not there yet, or somebody else's, who decides
        if not home.stat().st_mode & PRIVATE:
            return
        entries: Iterable[os.DirEntry[str]] = () if home == user_home() else os.scandir(home)
        for entry in entries:
            if entry.name.startswith(".") or (home / entry.name / "current").exists():
                _close(Path(entry.path))
        # At last: if this is interrupted, the next program goes on.
        home.chmod(0o700)


def _close(top: Path) -> None:
    below = (Path(folder, name) for folder, folders, files in os.walk(top) for name in (*folders, *files))
    for path in (top, *below):
        with suppress(OSError):
            if not path.is_symlink():
                path.chmod(stat.S_IMODE(path.stat().st_mode) & ~PRIVATE)


@contextmanager
def fleeting() -> Iterator[None]:
    """Sync nothing that this thread writes: an index for one answer need not survive a crash."""
    token = _is_fleeting.set(True)
    try:
        yield
    finally:
        _is_fleeting.reset(token)


_is_fleeting = ContextVar("fleeting", default=False)


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that a crash leaves the old content or all of the new."""
    temporary = path.with_name(f".{path.name}.new")
    with temporary.open("wb") as file:
        file.write(data)
        sync(file)
    temporary.replace(path)
    sync_folder(path.parent)


def sync(file: IO[bytes]) -> None:
    file.flush()
    if not _is_fleeting.get():
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Make the folder's entries (new names, renames) durable."""
    if _is_fleeting.get():
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_tree(folder: Path) -> None:
    """Make every file below a folder durable, then the folders."""
    for path in sorted(folder.rglob("*"), reverse=True):
        sync_folder(path)  # fsync works on a read-only descriptor of a file as well
    sync_folder(folder)


def remove(path: Path) -> None:
    """Remove a file or a folder."""
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def link_tree(source: Path, target: Path) -> None:
    """Link every file of a folder whose files never change in place: see `link_or_copy`."""
    shutil.copytree(source, target, copy_function=link_or_copy)


def link_or_copy(source: str | Path, target: str | Path) -> None:
    """Hard-link a file that never changes in place; copy it on disks without hard links."""
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in {errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP, errno.ENOSYS}:
            raise
        shutil.copy2(source, target)


def is_locked(file: Path) -> bool:
    """Whether another process holds the lock on this file; no if there is no such file."""
    try:
        lock = os.open(file, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except OSError:
        return True
    finally:
        os.close(lock)


class LockHeld(InputError):
    """Another writer holds the lock."""


class WriterLock:
    """Lets one writer at a time into an index; the system frees it when the process dies, however it dies."""

    def __init__(self, path: Path, wait_s: float = 0.0) -> None:
        until = time.monotonic() + wait_s
        while (descriptor := _acquire(path)) is None:
            if time.monotonic() >= until:
                raise LockHeld(
                    f"the index {path.parent.name!r} is being written by another process", "wait until it has finished"
                )
            time.sleep(LOOK_AGAIN_S)
        self._descriptor: int | None = descriptor

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _acquire(path: Path) -> int | None:
    """A descriptor of the file with the lock on it; None if another one has it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    has_lock = False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # The index may have been removed in the meantime, and another file be in its place.
        has_lock = path.exists() and os.path.samestat(os.fstat(descriptor), path.stat())
    except BlockingIOError:
        pass
    finally:
        if not has_lock:
            os.close(descriptor)
    return descriptor if has_lock else None
