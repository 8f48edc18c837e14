"""Injects faults into a torture process: a kill, an error or a power failure at its n-th file change.

`install` replaces functions of `os` and `io` in the calling process, which is always a forked one. It does not see what
Rust and SQLite write; small disks, limits and kills from outside cover that.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

ERRORS = (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EACCES, errno.EMFILE, errno.EROFS)
# `rename` and `replace` are the same change; shutil calls `remove`, pathlib calls `unlink`.
CHANGES = ("fsync", "replace", "rename", "link", "unlink", "remove", "mkdir", "rmdir", "truncate")
COARSE_CLOCK = 5  # Linux's CLOCK_REALTIME_COARSE, which stamps files; Python's `time` does not name it
KEPT_AT_MOST = 1 << 20  # bytes of a replaced file, kept to undo the rename


@dataclass
class Plan:
    """Which fault happens at change number `at` (0: none): `kill`, `error` or `power`."""

    folder: str
    what: str = ""
    at: int = 0
    number: int = errno.EIO
    lasting: bool = False
    """Whether all later changes fail too, as on a full disk."""
    seed: int = 0
    done: int = 0
    started: int = 0
    synced: dict[int, int] = field(default_factory=dict)
    """By inode, when each unsynced file last changed."""
    renamed: list[tuple[str, str, bytes | None]] = field(default_factory=list)
    """Renames whose folder has not been synced since: from, to, and the previous content."""


def install(plan: Plan) -> None:
    """Count every file change below the folder in this process, and make the planned one fail."""
    plan.started = time.clock_gettime_ns(COARSE_CLOCK)
    for name in CHANGES:
        setattr(os, name, partial(_changed, plan, name, getattr(os, name)))
    opened = io.open
    io.open = builtins.open = partial(_opened, plan, opened)


def _changed(plan: Plan, name: str, original: Callable[..., Any], *given: Any, **named: Any) -> Any:
    target = _path(given[0], named.get("dir_fd"))
    if not target.startswith(plan.folder):
        return original(*given, **named)
    point(plan)
    before = _content(_path(given[1])) if name in {"replace", "rename"} else None
    made = original(*given, **named)
    if name == "fsync":
        _note_sync(plan, given[0], target)
    elif name in {"replace", "rename"}:
        plan.renamed.append((target, _path(given[1]), before))
    return made


def _opened(plan: Plan, original: Callable[..., Any], file: Any, mode: str = "r", *given: Any, **named: Any) -> Any:
    is_change = set(mode) & set("wax+") and not isinstance(file, int) and _path(file).startswith(plan.folder)
    if is_change:
        point(plan)
    opened = original(file, mode, *given, **named)
    return Writing(plan, opened) if is_change and "b" in mode and "+" not in mode else opened


class Writing:
    """A file opened for writing. Every `write` counts as a change; a failing one writes half."""

    def __init__(self, plan: Plan, file: Any) -> None:
        self._plan, self._file = plan, file

    def write(self, data: Any) -> Any:
        point(self._plan, lambda: (self._file.write(bytes(data)[: len(bytes(data)) // 2]), self._file.flush()))
        return self._file.write(data)

    def __enter__(self) -> Writing:
        self._file.__enter__()
        return self

    def __exit__(self, *error: Any) -> Any:
        return self._file.__exit__(*error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def point(plan: Plan, before: Callable[[], object] = lambda: None) -> None:
    """Count one change; if it is the planned one, trigger the fault."""
    plan.done += 1
    if not plan.at or (plan.done != plan.at and not (plan.lasting and plan.done > plan.at)):
        return
    before()
    if plan.what == "error":
        raise OSError(plan.number, os.strerror(plan.number))
    if plan.what == "power":
        lose_power(plan)
    os.kill(os.getpid(), signal.SIGKILL)


def lose_power(plan: Plan) -> None:
    """Simulate a power failure: unsynced renames may be undone, unsynced content is lost.

    Only published files are touched: complete generations and the pointer. In an unfinished generation, the text index
    and SQLite sync their own files, which this process cannot see.
    """
    chance = random.Random(plan.seed)
    plan.at = 0
    for source, target, before in reversed(plan.renamed):
        if chance.random() < 0.5 and Path(target).exists() and not Path(source).exists():
            Path(target).rename(source)
            if before is not None:
                Path(target).write_bytes(before)
    for path in Path(plan.folder).glob("[!.]*/*"):
        files = [path] if path.is_file() else path.rglob("*") if path.name.isdigit() else []
        for file in files:
            if file.is_file() and _unsynced(plan, file.stat()):
                data = file.read_bytes()
                file.unlink()  # not truncated in place: other hard links must keep the content
                file.write_bytes(data[: chance.randrange(len(data) + 1)])


def damage(file: Path, chance: random.Random) -> str:
    """Flip a bit, cut the end off, or delete the file; its hard links stay whole."""
    data = bytearray(file.read_bytes())
    file.unlink()
    kind = chance.choice(["flipped", "cut", "deleted"] if data else ["deleted"])
    if kind == "flipped":
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    elif kind == "cut":
        del data[chance.randrange(len(data)) :]
    if kind != "deleted":
        file.write_bytes(data)
    return kind


def _unsynced(plan: Plan, status: os.stat_result) -> bool:
    synced = plan.synced.get(status.st_ino)
    return status.st_mtime_ns >= plan.started if synced is None else status.st_mtime_ns > synced


def _note_sync(plan: Plan, descriptor: int, target: str) -> None:
    status = os.fstat(descriptor)
    plan.synced[status.st_ino] = status.st_mtime_ns
    plan.renamed = [one for one in plan.renamed if str(Path(one[1]).parent) != target]


def _path(given: Any, folder: int | None = None) -> str:
    if isinstance(given, int):
        return str(Path(f"/proc/self/fd/{given}").readlink())
    return os.fsdecode(given) if folder is None else f"{_path(folder)}/{os.fsdecode(given)}"


def _content(path: str) -> bytes | None:
    try:
        return Path(path).read_bytes() if Path(path).stat().st_size <= KEPT_AT_MOST else None
    except OSError:
        return None
