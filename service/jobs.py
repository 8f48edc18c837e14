"""Changes of an index that the page and the API start: add, update or remove a source.

They are off unless a setting allows some folders (`write_roots`) or git URLs (`write_git`). One job runs at a time, in
a process of its own, so that a loader that runs out of memory does not take the service with it. Its state is a file
that all worker processes read; a lock says whether it still runs.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter

from treeline.corpus.errors import InputError, TreelineError
from treeline.corpus.frozen import frozen
from treeline.engine.durable import is_locked, write_atomically
from treeline.ingest.source import ReadOptions, without_user
from treeline.ingest.sources.git import check_url, is_git_url, url_and_ref
from treeline.ingest.state import ARTIFACT, sources_in
from treeline.search.settings import Settings, as_environment, open_store, split_commas

Action = Literal["add", "update", "remove"]
State = Literal["running", "done", "failed", "stopped"]

LET_GO_SECONDS = 5.0
STOP = "job.stop"  # holds the id of the job that was asked to stop
STOP_MESSAGE = "stopped; the same change goes on from here"
LONGEST_SOURCE = 1_000  # characters
SWITCH_ON = "TREELINE_WRITE_ROOTS names folders that may be indexed, TREELINE_WRITE_GIT=true allows git URLs"


class IndexingOff(TreelineError):
    """The settings allow no changes through the service."""

    code = "indexing_off"


class JobRunning(TreelineError):
    """Another job has not ended yet."""

    code = "job_running"


@frozen
class Job:
    """One change of an index, and how far it is."""

    id: str
    action: Action
    source: str
    index: str
    state: State
    stage: str = ""
    done: int = 0
    total: int = 0
    message: str = ""
    started: str = ""
    ended: str = ""
    process: int = 0


JOB = TypeAdapter(Job)


def is_on(settings: Settings) -> bool:
    """Whether the settings allow any change."""
    return bool(roots(settings)) or settings.write_git


def require_on(settings: Settings) -> None:
    """Raise unless the settings allow some change."""
    if not is_on(settings):
        raise IndexingOff("this service does not change its indexes", SWITCH_ON)


def roots(settings: Settings) -> list[Path]:
    """The folders below which sources may be added."""
    return [Path(root).expanduser().resolve() for root in settings.write_roots.split(os.pathsep) if root.strip()]


def check_source(source: str, settings: Settings) -> str:
    """The source as the index names it; raises unless it is a folder below a root or a git URL that is allowed.

    Links are followed first, so none leads out of a root.
    """
    source = source.strip()
    require_on(settings)
    if not source or len(source) > LONGEST_SOURCE or "\0" in source:
        raise InputError("name a folder or a git URL")
    if is_git_url(source):
        return _check_url(source, settings)
    folders = roots(settings)
    names = ", ".join(map(str, folders)) or "none"
    if not source.startswith("/"):
        raise InputError(f"{source[:80]!r} is not the whole path of a folder", f"folders below these: {names}")
    try:
        path = Path(source).resolve()
        exists = path.is_dir()
    except (OSError, RuntimeError):
        raise InputError(f"{source[:80]!r} is not a folder", f"folders below these: {names}") from None
    # Outside of the roots, nothing is said about what exists.
    if not any(path.is_relative_to(root) for root in folders):
        raise InputError(f"{source[:80]!r} is outside the folders that may be indexed", f"allowed: {names}")
    if not exists:
        raise InputError(f"{path} is not a folder", "name an existing folder")
    return str(path)


def _check_url(source: str, settings: Settings) -> str:
    if not settings.write_git:
        raise InputError("git URLs may not be indexed here", "TREELINE_WRITE_GIT=true allows them")
    hosts = frozenset(split_commas(settings.git_hosts.lower()))
    url, _ = url_and_ref(source, "")
    check_url(url, replace(ReadOptions(), git_hosts=hosts, git_schemes=frozenset({"https"})))
    return without_user(source)


def sources_of(settings: Settings, index: str) -> list[str]:
    """The sources of an index; none if it is not there."""
    store = open_store(settings)
    return sources_in(store.artifact(index, ARTIFACT) or b"") if index in store.names() else []


def start(settings: Settings, action: Action, source: str, index: str) -> Job:
    """Start a job; raises if it is not allowed, or another one runs."""
    require_on(settings)
    if action != "add" and source not in sources_of(settings, index):
        raise InputError(f"the index {index!r} has no source {source[:80]!r}", "`GET /api/sources` lists them")
    if action != "remove":
        source = check_source(source, settings)
    folder = settings.home_path / ".run"
    folder.mkdir(parents=True, exist_ok=True)
    lock = os.open(folder / "job.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _take(lock, folder)
        job = Job(secrets.token_hex(8), action, source, index, "running", "starting", started=now())
        # The process inherits the lock, which is free as soon as the process has ended, in whatever way.
        with (folder / "job.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "treeline.service.cli.job", str(lock)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=log,
                env=os.environ | as_environment(replace(settings, index=index)),
                pass_fds=(lock,),
                start_new_session=True,
            )
        job = replace(job, process=process.pid)
        write(folder, job)  # before the process hears of it and writes itself
        assert process.stdin is not None
        with suppress(OSError), process.stdin as pipe:
            pipe.write(JOB.dump_json(job))
    finally:
        os.close(lock)
    threading.Thread(target=process.wait, name="job", daemon=True).start()  # or it would stay as a zombie
    return job


def current(settings: Settings) -> Job | None:
    """The job that runs, or the last one."""
    folder = settings.home_path / ".run"
    job = _read(folder)
    if job is not None and job.state == "running" and not is_locked(folder / "job.lock"):
        job = _read(folder) or job  # it may have ended just now
        if job.state == "running":
            if _text(folder / STOP) == job.id:  # before it could say so itself
                return replace(job, state="stopped", message=STOP_MESSAGE)
            return replace(job, state="failed", message=_last_words(folder))
    return job


def stop(settings: Settings) -> Job | None:
    """Ask the running job to stop. What it has read is kept, so the same job goes on from there."""
    job = current(settings)
    if job is not None and job.state == "running" and job.process:
        write_atomically(settings.home_path / ".run" / STOP, job.id.encode())
        with suppress(ProcessLookupError):
            os.kill(job.process, signal.SIGTERM)
    return job


def _take(lock: int, folder: Path) -> None:
    """Take the lock; raises if a job holds it. One that has just said its end lets go of it at once."""
    end = time.monotonic() + LET_GO_SECONDS
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError:
            before = _read(folder)
            if before is None or before.state == "running" or time.monotonic() > end:
                raise JobRunning("another change is under way", "wait until it has ended, or stop it") from None
        time.sleep(LET_GO_SECONDS / 100)


def _read(folder: Path) -> Job | None:
    try:
        return JOB.validate_json((folder / "job.json").read_bytes())
    except (OSError, ValueError):
        return None


def _last_words(folder: Path) -> str:
    lines = _text(folder / "job.log").strip().splitlines()
    return f"it ended without a word: {lines[-1][:200]}" if lines else "it was killed"


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def write(folder: Path, job: Job) -> None:
    write_atomically(folder / "job.json", JOB.dump_json(job))


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
