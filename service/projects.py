"""Projects for the front ends: the index of a folder, merged answers of several indexes, the outline of a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from treeline.corpus.errors import InputError
from treeline.ingest.source import Progress, ReadOptions, no_progress
from treeline.search.settings import Settings, open_store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treeline.corpus.function import Function
    from treeline.ingest.project import Project, Refreshed
    from treeline.search.answer import Answer

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


def merge(answers: Sequence[Answer], k: int) -> Answer:
    """Merge several indexes' answers to a query into one, with new ranks.

    Scores of different indexes do not compare, so the lists are interleaved by rank. An index that has the words of the
    query comes before one that had to relax it.
    """
    first = answers[0]
    ordered = sorted(
        (
            (bool(answer.no_match), len(answer.relaxed), result.rank, -result.candidate.score, result)
            for answer in answers
            for result in answer.results
        ),
        key=lambda row: row[:4],
    )
    results = [row[4] for row in ordered][:k]
    return replace(
        first,
        results=tuple(result._replace(rank=rank) for rank, result in enumerate(results, 1)),
        total=sum(answer.total for answer in answers),
        degraded=tuple(dict.fromkeys(lane for answer in answers for lane in answer.degraded)),
        hints=() if results else first.hints,
        no_match="" if any(not answer.no_match for answer in answers) else first.no_match,
        exact=max((answer.exact for answer in answers), key=lambda exact: exact.found if exact else -1),
    )


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
