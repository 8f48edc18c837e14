"""The first answer about a project: from a quick look at a few of its files, while a process behind it indexes all.

An index takes a second for each thousand units. So the first question in a large project is answered from the files
that most likely answer it (`ingest/quick.py`), indexed in a folder that goes with the answer. The project's own index
is made by a process at idle priority, which outlives this one. Until it is there, each question takes a look of its
own.
"""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
import threading
import time
from contextlib import closing, suppress
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import orjson

from treeline.corpus.errors import TreelineError
from treeline.engine.durable import disk_errors
from treeline.engine.protocol import Filters
from treeline.ingest.project import (
    Project,
    find_project,
    is_under_way,
    left_to_read,
    listed,
    progress_file,
    refresh,
)
from treeline.ingest.quick import MOST_BYTES, MOST_FILES, choose, load_quickly
from treeline.ingest.sources.folder import Folder
from treeline.ingest.workers import GARBAGE_AFTER, start_early
from treeline.search.answer import Answer, Coverage
from treeline.search.artifacts import CALLGRAPH, obtain
from treeline.search.issue import read_issue
from treeline.search.live import LiveSearcher
from treeline.search.query import Query, combine, parse
from treeline.search.searcher import Reorder
from treeline.search.settings import Settings, open_store
from treeline.search.structure import is_issue
from treeline.service.projects import has_index, project_encoders, reading_of, settings_of

LOOKS = ".looks"
FORGOTTEN_S = 3_600.0  # after which the folder of a killed look is removed
SMALL_BYTES = 3_000_000  # of a project that is indexed while its first question waits: 3 s on two cores
REPORT_EVERY_S = 0.5


class QuickSearcher(LiveSearcher):
    """Searches a few files of a project, and says so."""

    def __init__(
        self, folder: TemporaryDirectory[str], settings: Settings, root: Path, coverage: Coverage, *, once: bool
    ) -> None:
        super().__init__(open_store(settings), settings.index, settings, without_encoder=not once, once=once)
        self._folder, self.root, self.coverage = folder, root, coverage

    def search(self, query: Query, reorder: Reorder | None = None) -> Answer:
        return replace(super().search(query, reorder), coverage=self.coverage)

    def close(self) -> None:
        super().close()
        self._folder.cleanup()


def look(settings: Settings, path: Path, query: Query, *, once: bool = False) -> QuickSearcher | None:
    """A searcher of the files that most likely answer a question, while the project's index is made behind it; None if
    the index is there, or made as soon."""
    if (folder := unread(settings, path)) is None:
        return None
    project = find_project(path, settings.home_path)
    if folder.size > MOST_BYTES:
        start_early()
    searcher = quick_searcher(settings_of(settings, project), folder, query, files=MOST_FILES, once=once)
    searcher.coverage = index_behind(settings, project, searcher.coverage)
    return searcher


def unread(settings: Settings, path: Path) -> Folder | None:
    """The folder of the project around a path, if it has no index and is too large to wait for one."""
    if has_index(settings, path):
        return None
    project = find_project(path, settings.home_path)
    folder = listed(project, reading_of(settings))
    return None if left_to_read(project, folder, settings.home_path) < SMALL_BYTES else folder


def quick_searcher(
    settings: Settings, folder: Folder, query: Query, *, files: int, once: bool = False
) -> QuickSearcher:
    """A searcher of those files of a folder that most likely answer a question."""
    words, filters = _words(query)
    few = choose(folder, words, files, filters)
    looks = settings.home_path / LOOKS
    with disk_errors(settings.home_path):
        looks.mkdir(mode=0o700, parents=True, exist_ok=True)
        _remove_forgotten(looks)
        own = TemporaryDirectory(dir=looks, ignore_cleanup_errors=True)
    try:
        its = replace(settings, home=own.name)
        load_quickly(open_store(its), its.index, few, project_encoders(settings), its.home_path / ".loading")
        coverage = Coverage(len(few.listing.files), len(folder.listing.files), 0)
        return QuickSearcher(own, its, folder.root, coverage, once=once)
    except BaseException:
        own.cleanup()
        raise


def _words(query: Query) -> tuple[str, Filters]:
    """The words to look for in files, of a pasted text those of its title and its names; and the filters."""
    if is_issue(query.text) and (issue := read_issue(query.text)).title:
        return " ".join((issue.title, *issue.names)), query.filters
    parts = parse(query.text)
    return f"{parts.words} {parts.regex}", combine(query.filters, parts.filters)


def _remove_forgotten(looks: Path) -> None:
    for old in looks.iterdir():
        with suppress(OSError):
            if time.time() - old.stat().st_mtime > FORGOTTEN_S:
                shutil.rmtree(old, ignore_errors=True)


def index_behind(settings: Settings, project: Project, coverage: Coverage) -> Coverage:
    """Start the process that indexes a project, unless it runs; returns how far it is, or why it is no further."""
    state = progress_file(project, settings.home_path)
    report = state.read_text(encoding="utf-8") if state.exists() else ""
    if is_under_way(project, settings.home_path):
        return replace(coverage, percent=int(report) if report.isdecimal() else 0)
    problem = "" if report.isdecimal() else report
    try:
        process = subprocess.Popen(
            [sys.executable, "-c", "from treeline.service.quick import serve_index; serve_index()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            start_new_session=True,
        )
        # By a pipe, because others see the arguments of a process, and settings have passwords.
        with process.stdin:  # type: ignore[union-attr]
            process.stdin.write(orjson.dumps((asdict(settings), str(project.root))))  # type: ignore[union-attr]
    except OSError as error:
        return replace(coverage, problem=f"no process can be started to read the rest ({error.strerror})")
    with suppress(RuntimeError):  # no more threads; a server that goes on keeps no zombie
        threading.Thread(target=process.wait, daemon=True).start()
    return replace(coverage, problem=problem)


def serve_index() -> None:
    """Index the project that standard input names, at idle priority, and report how far it is in a file."""
    values, root = orjson.loads(sys.stdin.buffer.read())
    settings = Settings(**values)
    if hasattr(os, "SCHED_IDLE"):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))  # of processors, and so of the disk
    else:
        os.nice(19)
    gc.freeze()
    gc.set_threshold(GARBAGE_AFTER)
    home = settings.home_path
    project = find_project(Path(root), home)
    state = progress_file(project, home)
    last = 0.0

    def report(stage: str, done: int, total: int) -> None:
        nonlocal last
        if stage == "loading" and total and time.monotonic() - last > REPORT_EVERY_S:
            last = time.monotonic()
            with suppress(OSError):  # the disk is full
                state.write_text(str(100 * done // total), encoding="utf-8")

    store, reading, encoders = open_store(settings), reading_of(settings), project_encoders(settings)
    try:
        if not refresh(project, store, home, reading, encoders=encoders, patience=0, progress=report).is_busy:
            with closing(store.open(project.index)) as engine:  # a question for a name would wait for it
                obtain(engine, CALLGRAPH, settings.cache_path)
    except Exception as error:  # noqa: BLE001 - or nobody would hear of it: this process has no terminal
        reason = error.message if isinstance(error, TreelineError) else f"{type(error).__name__}: {error}"
        with suppress(OSError):
            state.write_text(f"the rest could not be read: {reason}", encoding="utf-8")
