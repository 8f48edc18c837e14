"""Shared by the subcommands of `treeline eval`: options, progress, output."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click
import orjson
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from treeline.corpus.errors import InputError, require_extra
from treeline.engine.protocol import IndexInfo
from treeline.eval.dataset import DataSet, Evaluation, System, evaluate
from treeline.eval.report import results, terminal
from treeline.eval.report.document import Document, summarise
from treeline.eval.systems import COMPARISON, DEFAULT, LaneCache, Stages, Variant, ablations
from treeline.ingest.source import Progress as LoadProgress
from treeline.search.settings import Settings
from treeline.service.cli.options import settings_for

LANE_TIMEOUT = 60.0
Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def evaluation_settings(engine: str | None, name: str) -> Settings:
    """The command line's settings with a long lane timeout, because a lane that times out would score as empty."""
    return replace(settings_for(engine, name), lane_timeout=LANE_TIMEOUT)


def choice_options(command: Decorated) -> Decorated:
    """--compare and --ablate: which systems are measured beside the default."""
    command = click.option("--ablate", is_flag=True, help="Also leave out one stage at a time, and try every method.")(
        command
    )
    return click.option("--compare", is_flag=True, help="Also keywords alone, meaning alone, and no re-ranking.")(
        command
    )


def select_variants(
    compare: bool, ablate: bool, comparison: Sequence[Variant] = COMPARISON
) -> tuple[list[Variant], str]:
    """The variants to measure, and the name of the baseline."""
    if ablate:
        return ablations(), DEFAULT.name
    if compare:
        return list(comparison), comparison[0].name
    return [DEFAULT], ""


def compare_variants(
    dataset: DataSet,
    searcher: Stages,
    compare: bool,
    ablate: bool,
    console: Console,
    comparison: Sequence[Variant] = COMPARISON,
) -> Document:
    """The document of the default search, or of the systems that --compare or --ablate choose."""
    variants, baseline = select_variants(compare, ablate, comparison)
    document = summarise_index(run(dataset, searcher, variants, console), searcher.info, baseline)
    document["dataset"] += "-ablation" if ablate else ""
    return document


def run(dataset: DataSet, searcher: Stages, variants: Sequence[Variant], console: Console) -> Evaluation:
    """Ask every variant every question."""
    return measure_systems(dataset, LaneCache(searcher).systems(variants), console)


def measure_systems(dataset: DataSet, systems: Sequence[System], console: Console) -> Evaluation:
    """Ask every system every question, with a progress bar."""
    with bar(console) as progress:
        task = progress.add_task(dataset.name, total=len(systems) * len(dataset.cases))
        return evaluate(dataset, systems, lambda name: progress.update(task, advance=1, description=name))


def summarise_index(evaluation: Evaluation, info: IndexInfo, baseline: str) -> Document:
    """The evaluation's document, with the index that answered."""
    document = summarise(evaluation, baseline, DEFAULT.name)
    encoders = ", ".join(f"{spec.name} ({spec.dimension})" for spec in info.encoders) or "none"
    document["facts"] |= {"index": f"{info.functions:,} functions, {info.engine}", "encoder": encoders}
    return document


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


@dataclass(frozen=True, slots=True)
class Output:
    """The files for the numbers; `-` sends JSON, and nothing else, to standard output."""

    json_file: str = ""
    html_file: str = ""
    results: Path = results.FOLDER
    keep: bool = False

    @property
    def console(self) -> Console:
        """Standard output, or standard error if JSON goes to standard output."""
        return Console(stderr=self.json_file == "-", highlight=False)


def output_options(command: Decorated) -> Decorated:
    """Adds --json, --html, --keep and --results, passed to the command as one `output`."""

    @wraps(command)  # keeps the parameters that click stored on it
    def wrapper(json_file: str, html_file: str, keep: bool, results_folder: str, **rest: Any) -> Any:
        if html_file:
            require_extra("eval")
        folder = Path(results_folder) if results_folder else results.FOLDER
        return command(output=Output(json_file, html_file, folder, keep), **rest)

    for option in (
        click.option("--results", "results_folder", metavar="DIR", default="", help="Folder for --keep."),
        click.option("--keep", is_flag=True, help="Keep the result for the page /eval, as COMMIT-DATASET.json."),
        click.option("--html", "html_file", metavar="FILE", default="", help="Write one self-contained page."),
        click.option("--json", "json_file", metavar="FILE", default="", help="Write the figures; - for stdout."),
    ):
        wrapper = option(wrapper)
    return wrapper  # type: ignore[return-value]


def finish(document: Document, output: Output) -> None:
    """Show the document, write the files, compare with the last result, keep it.

    The result is kept even if the last one cannot be read.
    """
    document = results.stamp(document)
    console = output.console
    terminal.show(document, console)
    try:
        _write_files(document, output, console)
        _compare(document, output, console)  # with the last result, so before this one is kept
    finally:
        if output.keep:
            _keep(document, output, console)


def _write_files(document: Document, output: Output, console: Console) -> None:
    if output.json_file == "-":
        sys.stdout.buffer.write(orjson.dumps(document, option=orjson.OPT_INDENT_2) + b"\n")
    elif output.json_file:
        _write(Path(output.json_file), orjson.dumps(document, option=orjson.OPT_INDENT_2) + b"\n", console)
    if output.html_file:
        from treeline.eval.report.page import page

        _write(Path(output.html_file), page(document).encode(), console)


def _compare(document: Document, output: Output, console: Console) -> None:
    before = results.last(document["dataset"], output.results)
    if before is not None:
        same = results.comparable(document, before)
        terminal.show_changes(results.changes(document, before), before, same, console)


def _keep(document: Document, output: Output, console: Console) -> None:
    if document["changed"]:
        console.print("the checkout has changes: this result cannot be repeated from its commit", style="yellow")
    console.print(f"kept as {results.keep(document, output.results)}", soft_wrap=True)


def _write(path: Path, data: bytes, console: Console) -> None:
    try:
        path.write_bytes(data)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None
    console.print(f"written: {path}", soft_wrap=True)
