"""Projects for the front ends: the index of a folder, and the outline of a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from treeline.corpus.errors import InputError
from treeline.ingest.source import Progress, ReadOptions, no_progress
from treeline.search.settings import Settings, open_store

if TYPE_CHECKING:
    from treeline.corpus.function import Function
    from treeline.ingest.project import Project, Refreshed

DEFAULT_ENCODER = "static"


def refresh_project(settings: Settings, folder: Path, progress: Progress = no_progress) -> Refreshed:
    """Index the project around a folder, or update its index."""
    from treeline.ingest.project import find_project, refresh

    home = settings.home_path
    project = find_project(folder, home)
    reading = reading_of(settings)
    return refresh(project, open_store(settings), home, reading, encoders=encoders(settings), progress=progress)


def reading_of(settings: Settings) -> ReadOptions:
    """How project files are read; the same for all front ends, or they would undo each other's work."""
    return ReadOptions(keep_texts=settings.keep_texts)


def encoders(settings: Settings) -> tuple[str, ...]:
    """The encoders of a new project; empty for the default."""
    if settings.encoder == DEFAULT_ENCODER:
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
    from treeline.ingest.sources import functions_of, open_source

    found = list(functions_of(open_source(str(file), ReadOptions(include_tests=True))))
    if not found:
        raise InputError(f"{file}: nothing in it is a unit that Treeline knows", "see docs/reference/languages.md")
    located = [(lines, unit) for unit in found if unit.kind != "file" and (lines := unit.address.lines)]
    located.sort(key=lambda pair: (pair[0][0], -pair[0][1]))
    rows: list[tuple[int, Function]] = []
    around: list[int] = []  # last lines of the enclosing units
    for (first, last), unit in located:
        while around and around[-1] < first:
            around.pop()
        rows.append((len(around), unit))
        around.append(last)
    return rows
