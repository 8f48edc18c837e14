"""Runs a data set over a searcher with the systems that were asked for, with a progress bar."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from treeline.eval.dataset import DataSet, Evaluation, evaluate
from treeline.eval.summary import Document, summarise
from treeline.eval.systems import COMPARED, DEFAULT, Asked, Kitchen, Recipe
from treeline.ingest.source import Progress as LoadProgress
from treeline.search.settings import Settings
from treeline.service.cli.options import settings_for

LANE_TIMEOUT = 60.0
Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def patient(engine: str | None, name: str) -> Settings:
    """The settings of the command line with a long time-out: a lane that is left out on a busy machine would be
    scored as if it had found nothing."""
    return replace(settings_for(engine, name), lane_timeout=LANE_TIMEOUT)


def choice_options(command: Decorated) -> Decorated:
    """--compare and --ablate: which systems are measured beside the default."""
    command = click.option("--ablate", is_flag=True, help="Each stage on and off, every fusion and re-ranker.")(command)
    return click.option("--compare", is_flag=True, help="Also keyword, dense, hybrid, without re-ranker.")(command)


def chosen(compare: bool, ablate: bool, compared: Sequence[Recipe] = COMPARED) -> tuple[list[Recipe], str]:
    """The recipes, and the name of the one that the others are compared with."""
    if ablate:
        from treeline.eval.ablation import recipes

        return recipes(), "default"
    if compare:
        return list(compared), compared[0].name
    return [DEFAULT], ""


def measure(
    dataset: DataSet, searcher: Asked, recipes: Sequence[Recipe], baseline: str, console: Console
) -> tuple[Evaluation, Document]:
    """Ask every recipe every question; the default is the one whose worst questions are shown."""
    info = searcher.info
    kitchen = Kitchen(searcher)
    if any("tfidf" in recipe.lanes for recipe in recipes):
        searcher.prepare("tfidf")  # made on first use, which would else be a question without an answer
    with bar(console) as progress:
        systems = kitchen.systems(recipes)
        task = progress.add_task(dataset.name, total=len(systems) * len(dataset.cases))
        evaluation = evaluate(dataset, systems, lambda name: progress.update(task, advance=1, description=name))
    document = summarise(evaluation, baseline, DEFAULT.name)
    encoders = ", ".join(f"{spec.name} ({spec.dimension})" for spec in info.encoders) or "none"
    document["facts"] |= {"index": f"{info.functions:,} functions, {info.engine}", "encoder": encoders}
    return evaluation, document


@contextmanager
def bar(console: Console) -> Iterator[Progress]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not console.is_terminal) as progress:
        yield progress


@contextmanager
def loading(console: Console) -> Iterator[LoadProgress]:
    """The pipeline's progress as a bar."""
    with bar(console) as progress:
        task = progress.add_task("indexing", total=None)

        def tell(what: str, done: int, total: int) -> None:
            progress.update(task, description=what, completed=done, total=total or None)

        yield tell
