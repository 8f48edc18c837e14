"""Projects for the front ends: the index of a folder, and the outline of a file."""

from __future__ import annotations

import os
import time
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treeline.corpus.counting import counted
from treeline.corpus.errors import DiskFailure, InputError, TreelineError
from treeline.corpus.frozen import frozen
from treeline.ingest.source import MAX_FILE_BYTES, SENSITIVE, Progress, ReadOptions, no_progress, on_disk, read_plain
from treeline.search.settings import PREFIX, Settings, from_environment, open_store, split_commas

if TYPE_CHECKING:
    from treeline.corpus.function import Function
    from treeline.ingest.project import Project, Refreshed

DEFAULT_ENCODER = "static"
SECRETS_HINT = "TREELINE_INDEX_SECRETS=true reads such files all the same"
# After this long, a search of everything refreshes no further project. A project without changes takes some 10 ms.
REFRESH_ALL_S = 5.0


@frozen
class RefreshedAll:
    """The outcome of a refresh of several projects."""

    refreshed: tuple[Refreshed, ...] = ()
    gone: tuple[Project, ...] = ()
    """Their folders are not there any more."""
    unchecked: tuple[Project, ...] = ()
    """There was no time left for them."""
    failed: tuple[tuple[Project, str], ...] = ()

    def __str__(self) -> str:
        """One line for the user; empty if nothing changed."""
        parts = []
        if changes := [
            f"{one.project.name} ({one.changes or 'indexed again'})" for one in self.refreshed if one.published
        ]:
            parts.append(f"refreshed {', '.join(changes)}")
        if busy := [one.project.name for one in self.refreshed if one.is_busy]:
            parts.append(f"another process is refreshing {', '.join(busy)}")
        if self.unchecked:
            parts.append(f"no time to check {counted(len(self.unchecked), 'project')} for changes")
        parts += [f"cannot refresh {project.name} ({reason})" for project, reason in self.failed]
        if self.gone:
            parts.append(f"left out, folder gone: {', '.join(str(project.root) for project in self.gone)}")
        return "; ".join(parts)


def local_path(name: str, base: Path | None = None) -> Path:
    """A path from outside, resolved, relative to `base`; it need not exist, but its name is one that may."""
    try:
        path = on_disk(Path(base or ""), str(Path(name).expanduser())).resolve()
        path.exists()
    except (OSError, RuntimeError, ValueError):  # a NUL in it, too long, or `~user` does not exist
        start = f"{name[:80]!r}{'…' if len(name) > 80 else ''}"
        raise InputError(f"{start} is not a local folder or file", "name an existing one") from None
    return path


def refresh_project(
    settings: Settings,
    folder: Path,
    progress: Progress = no_progress,
    *,
    encoders: tuple[str, ...] = (),
    fresh: bool = False,
) -> Refreshed:
    """Index the project around a folder, or update its index; one that cannot be written is used as it is."""
    from treeline.ingest.project import Refreshed, current_generation, find_project, refresh

    home = settings.home_path
    project = find_project(folder, home)
    store, reading = open_store(settings), reading_of(settings)
    names = encoders or project_encoders(settings)
    try:
        return refresh(project, store, home, reading, encoders=names, fresh=fresh, progress=progress)
    except DiskFailure as error:
        if not current_generation(project, store):
            raise
        return Refreshed(project, problem=error)


def has_index(settings: Settings, folder: Path) -> bool:
    """Whether the project around a folder has an index that this version reads."""
    from treeline.ingest.project import current_generation, find_project

    return bool(current_generation(find_project(folder, settings.home_path), open_store(settings)))


def refresh_all(
    settings: Settings, names: Collection[str], progress: Progress = no_progress, *, limit_s: float = REFRESH_ALL_S
) -> RefreshedAll:
    """Update the indexes among `names` that belong to projects, the last refreshed first, until the time is up."""
    from treeline.ingest.project import last_refreshed, refresh

    home, store, reading = settings.home_path, open_store(settings), reading_of(settings)
    encoders = project_encoders(settings)
    known = [project for name, project in project_names(settings).items() if name in names]
    known.sort(key=lambda project: last_refreshed(project, home), reverse=True)
    gone = tuple(project for project in known if not project.root.is_dir())
    there = [project for project in known if project not in gone]
    refreshes: list[Refreshed] = []
    failures: list[tuple[Project, str]] = []
    until = time.monotonic() + limit_s
    for number, project in enumerate(there):
        if time.monotonic() >= until:
            return RefreshedAll(tuple(refreshes), gone, tuple(there[number:]), tuple(failures))
        if not os.access(project.root, os.R_OK | os.X_OK):
            failures.append((project, "its folder may not be read"))
            continue
        try:
            refreshes.append(refresh(project, store, home, reading, encoders=encoders, progress=progress))
        except TreelineError as error:
            failures.append((project, error.message))
    return RefreshedAll(tuple(refreshes), gone, (), tuple(failures))


def allowed_hosts(settings: Settings) -> frozenset[str]:
    """The hosts that git URLs may use."""
    return frozenset(split_commas(settings.git_hosts.lower()))


def reading_of(settings: Settings, **options: Any) -> ReadOptions:
    """The options to read sources with; the same for all front ends, or they would undo each other's work."""
    return ReadOptions(
        cache=settings.cache_path,
        download_base=settings.codesearchnet,
        git_hosts=allowed_hosts(settings),
        keep_texts=settings.keep_texts,
        history=settings.history,
        branches=settings.branches,
        index_secrets=settings.index_secrets,
        max_source_bytes=settings.source_mb * 1_000_000,
        max_source_files=settings.source_files,
        max_pack_bytes=settings.git_pack_mb * 1_000_000,
        **options,
    )


def project_encoders(settings: Settings) -> tuple[str, ...]:
    """The encoders that the environment names for projects; an index of other ones is rebuilt.

    Empty if it names none: a new index gets the default, and another keeps what made it, so that a program without the
    setting does not undo what one with it has done.
    """
    if settings.encoder == DEFAULT_ENCODER and not os.environ.get(f"{PREFIX}ENCODER"):
        return ()
    from treeline.encoder.registry import full_name

    return (full_name(settings.encoder),)


def settings_of(settings: Settings, project: Project) -> Settings:
    """The settings to search a project with."""
    return replace(settings, index=project.index)


def project_names(settings: Settings) -> dict[str, Project]:
    """The indexes that belong to projects."""
    if settings.engine != "embedded":
        return {}
    from treeline.ingest.project import projects

    return {project.index: project for project in projects(settings.home_path)}


def outline_of(file: Path) -> list[tuple[int, Function]]:
    """The units of a file by line, each with its nesting depth, without the file itself."""
    from treeline.ingest.parsers.captures import is_suspect_source
    from treeline.ingest.sources import functions_of, open_source
    from treeline.ingest.state import totals

    content = read_plain(file, MAX_FILE_BYTES, follow=True)
    if isinstance(content, str):
        raise InputError(f"{file} is not shown: {content}", "no index has such files")
    if is_suspect_source(content):  # it may end this process
        raise InputError(f"{file} is nested, or repeats itself, as no written code does", "treeline index reads it")
    options = ReadOptions(include_tests=True, index_secrets=from_environment().index_secrets)
    source = open_source(str(file), options)
    units = list(functions_of(source))
    if SENSITIVE in totals(source.left_out):
        raise InputError(f"{file} holds a secret", SECRETS_HINT)
    spans = [(lines, unit) for unit in units if unit.kind != "file" and (lines := unit.address.lines)]
    if not spans:
        raise InputError(f"{file} defines nothing that Treeline knows", "see docs/reference/languages.md")
    spans.sort(key=lambda pair: (pair[0][0], -pair[0][1]))
    rows: list[tuple[int, Function]] = []
    around: list[int] = []  # last lines of the enclosing units
    for (first, last), unit in spans:
        while around and around[-1] < first:
            around.pop()
        rows.append((len(around), unit))
        around.append(last)
    return rows
