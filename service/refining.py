"""Refinement for the front ends: deep vectors, made here or in the background.

In the background it is a process of its own that outlives the command that started it, at idle priority. One process a
data folder refines, under a lock that the system frees however the process ends; a file says how far it is.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from treeline.corpus.counting import counted
from treeline.corpus.errors import InputError, TreelineError
from treeline.corpus.frozen import frozen
from treeline.engine.durable import is_locked, write_atomically
from treeline.search.settings import Settings, as_environment, open_store

if TYPE_CHECKING:
    from treeline.engine.protocol import IndexInfo, Store
    from treeline.ingest.refine import Refinement
    from treeline.ingest.source import Progress

OFF, ON = "off", "on"
REPORT_SECONDS = 1.0  # between two reports of the progress
LET_GO_SECONDS = 10.0  # that a background process has to end
NICE = 10  # of the background process; its reading is idle besides


@frozen
class Worker:
    """The process that refines: which index, and how far it is."""

    index: str = ""
    done: int = 0
    total: int = 0
    process: int = 0
    idle: bool = False
    problem: str = ""
    """Why the last one ended."""


@frozen
class RefinementState:
    """What an index's refinement looks like: the units with deep vectors, and those read and not yet swapped in."""

    encoder: str
    refined: int
    units: int
    running: bool = False
    read: int = 0
    problem: str = ""

    def __str__(self) -> str:
        if self.running:
            return f"refining: {self.read:,} of {counted(self.units, 'unit')} read"
        if self.refined >= self.units:
            return f"refined by {self.encoder}"
        why = f" ({self.problem})" if self.problem else ""
        return f"refined: {self.refined:,} of {counted(self.units, 'unit')}{why}"

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def is_on(settings: Settings) -> bool:
    """Whether indexes are refined in the background."""
    return settings.refine != OFF


def state(settings: Settings, index: str, store: Store | None = None) -> RefinementState | None:
    """How far an index (of `store`, if it is open) is refined; None if it never was and is not going to be, or cannot
    be read."""
    from treeline.ingest.refine import refinement

    try:
        found = refinement(store or open_store(settings), index)
    except TreelineError:
        return None
    if found is None or not (is_on(settings) or found.refined):
        return None
    worker = _worker(settings)
    made = RefinementState(found.encoder, found.refined, found.units, problem=found.problem)
    if worker.index != index:
        return made
    if worker.process and _is_running(settings):
        return replace(made, running=True, read=worker.done)
    return replace(made, problem=found.problem or worker.problem)


def start(settings: Settings, index: str) -> str:
    """Refine the index in the background if that is switched on and something is left to do.

    Returns a line for the user; empty if there is nothing to say. Nothing is waited for.
    """
    if not is_on(settings):
        return ""
    try:
        left = progress_of(settings, index)
        if left is None or left.is_complete:
            return ""
        if left.problem:
            return f"{index} is not refined: {left.problem}"
    except TreelineError as error:
        return f"{index} is not refined: {error}"
    if not _is_running(settings):
        spawn(settings, index)
    return f"reading the code more closely in the background ({left.refined:,} of {counted(left.units, 'unit')} done)"


def spawn(settings: Settings, index: str) -> subprocess.Popen[bytes]:
    """Start the background process; it ends at once if another one runs."""
    environment = os.environ | as_environment(settings) | {"OPENBLAS_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "treeline.service.cli", "refine", "--idle", "--name", index],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
        cwd="/",
        start_new_session=True,
    )
    threading.Thread(target=process.wait, name="refining", daemon=True).start()  # or it would stay as a zombie
    return process


def make_way(settings: Settings, index: str) -> None:
    """End the background process if it refines this index, so that a load is not refused while it swaps vectors in.

    It loses nothing, and starts again after the load.
    """
    worker = _worker(settings)
    if worker.index == index and worker.idle and _is_running(settings):
        with _locked(settings, take_over=True):
            pass


def run(settings: Settings, index: str, progress: Progress) -> Refinement:
    """Refine an index here, with all processors; a background process lets go first."""
    with _locked(settings, take_over=True):
        return _Run(settings, progress, idle=False).refine(index)


def run_idle(settings: Settings, index: str) -> None:
    """What the background process does: refine this index, then the others. Ends at once if another one runs."""
    os.nice(NICE)
    try:
        with _locked(settings):
            work = _Run(settings, lambda *_: None, idle=True)
            for name in dict.fromkeys((index, *open_store(settings).names())):
                with suppress(TreelineError):
                    left = progress_of(settings, name)
                    if left is not None and not left.is_complete and not left.problem:
                        work.refine(name)
    except _Busy:
        return


class _Busy(InputError):
    """Another process refines."""


@frozen
class _Run:
    """The work under the lock; reports its progress to the file."""

    settings: Settings
    progress: Progress
    idle: bool

    def refine(self, index: str) -> Refinement:
        from treeline.encoder.registry import load
        from treeline.ingest.pipeline import VECTOR_CACHE
        from treeline.ingest.refine import refine

        work = self.settings.home_path / ".loading"
        worker = Worker(index, process=os.getpid(), idle=self.idle)
        _write(self.settings, worker)
        try:
            encoder = load(_encoder(self.settings), work / VECTOR_CACHE, threads=1 if self.idle else 0)
            assert encoder is not None
            report = _Reporter(self.settings, worker, self.progress)
            store, swap = open_store(self.settings), _swap(self.settings, index)
            done = refine(store, index, encoder, work, report, idle=self.idle, swap=swap)
        except BaseException as error:
            message = str(error) if isinstance(error, TreelineError) else "it was interrupted"
            _write(self.settings, Worker(index, problem=message))
            raise
        if done.problem:
            _write(self.settings, Worker(index, problem=done.problem))
        else:
            _file(self.settings, "json").unlink(missing_ok=True)
        return done


class _Reporter:
    """Passes on the progress, and writes it to the file, not too often."""

    def __init__(self, settings: Settings, worker: Worker, progress: Progress) -> None:
        self._settings, self._worker, self._progress = settings, worker, progress
        self._written = 0.0

    def __call__(self, what: str, done: int, total: int) -> None:
        self._progress(what, done, total)
        if time.monotonic() - self._written >= REPORT_SECONDS or done == total:
            self._written = time.monotonic()
            _write(self._settings, replace(self._worker, done=done, total=total))


def _swap(settings: Settings, index: str) -> Callable[[], AbstractContextManager[Callable[[IndexInfo], None]]] | None:
    """What keeps refreshes of a project out while its new generation is published; nothing for other indexes."""
    from treeline.ingest.project import publishing
    from treeline.service.projects import project_names

    project = project_names(settings).get(index)
    return partial(publishing, project, open_store(settings), settings.home_path) if project else None


def _encoder(settings: Settings) -> str:
    """The encoder that refines: the shipped one, or the folder that the setting names."""
    from treeline.encoder.protocol import DEEP_ENCODER
    from treeline.encoder.registry import full_name

    return DEEP_ENCODER if settings.refine in (OFF, ON) else full_name(settings.refine)


def progress_of(settings: Settings, index: str) -> Refinement | None:
    """How far the index is refined by the encoder of the settings; None if it has no static vectors."""
    from treeline.ingest.refine import refinement

    return refinement(open_store(settings), index, check_encoder(settings))


def check_encoder(settings: Settings) -> str:
    """The name of the encoder that refines; raises if it is not there or cannot read functions."""
    from treeline.encoder.deep import DeepEncoder
    from treeline.encoder.registry import load

    encoder = load(_encoder(settings))
    if not isinstance(encoder, DeepEncoder):
        raise InputError(f"{settings.refine!r} is no deep encoder", "set TREELINE_REFINE to on, off or its folder")
    encoder.check_runtime()
    return encoder.name


@contextmanager
def _locked(settings: Settings, *, take_over: bool = False) -> Iterator[None]:
    """Hold the lock of the one that refines; `take_over` ends a background process first. It loses nothing."""
    file = _file(settings, "lock")
    file.parent.mkdir(parents=True, exist_ok=True)
    lock = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        end = time.monotonic() + (LET_GO_SECONDS if take_over else 0.0)
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                worker = _worker(settings)
                if time.monotonic() >= end or (worker.process and not worker.idle):
                    raise _Busy("another process refines an index of this folder", "wait until it has ended") from None
                if worker.process:
                    with suppress(ProcessLookupError):
                        os.kill(worker.process, signal.SIGTERM)
            time.sleep(LET_GO_SECONDS / 100)
        yield
    finally:
        os.close(lock)


def _is_running(settings: Settings) -> bool:
    return is_locked(_file(settings, "lock"))


def _worker(settings: Settings) -> Worker:
    try:
        return Worker(**orjson.loads(_file(settings, "json").read_bytes()))
    except (OSError, ValueError, TypeError):
        return Worker()


def _write(settings: Settings, worker: Worker) -> None:
    write_atomically(_file(settings, "json"), orjson.dumps(asdict(worker)))


def _file(settings: Settings, kind: str) -> Path:
    return settings.home_path / ".run" / f"refine.{kind}"
