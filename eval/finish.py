"""What every `treeline eval` command does with its numbers: show, write, keep, compare with the last."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click
import orjson
from rich.console import Console

from treeline.corpus.errors import InputError
from treeline.eval import report, results
from treeline.eval.summary import Document

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Output:
    """Where the numbers go; `-` for JSON means standard output, with nothing else on it."""

    json_file: str = ""
    html_file: str = ""
    results: Path = results.KEPT
    keep: bool = False

    @property
    def console(self) -> Console:
        """Standard output for people, unless JSON goes there."""
        return Console(stderr=self.json_file == "-", highlight=False)


def output_options(command: Decorated) -> Decorated:
    """The options --json, --html, --keep and --results, given to the command as one `output`."""

    @wraps(command)  # which takes along the parameters that click has noted on it
    def wrapped(json_file: str, html_file: str, keep: bool, results_folder: str, **rest: Any) -> Any:
        folder = Path(results_folder) if results_folder else results.KEPT
        return command(output=Output(json_file, html_file, folder, keep), **rest)

    for option in (
        click.option("--results", "results_folder", metavar="DIR", default="", help="Folder of kept results."),
        click.option("--keep", is_flag=True, help="Keep the result as COMMIT-DATASET.json."),
        click.option("--html", "html_file", metavar="FILE", default="", help="Write one self-contained page."),
        click.option("--json", "json_file", metavar="FILE", default="", help="Write the numbers; - for stdout."),
    ):
        wrapped = option(wrapped)
    return wrapped  # type: ignore[return-value]


def finish(document: Document, output: Output) -> None:
    """Show the document and write it wherever it was asked for; an old result that cannot be read costs no new one."""
    document = results.stamp(document)
    console = output.console
    report.show(document, console)
    try:
        _write_files(document, output, console)
        _compare(document, output, console)  # with the last one, so before this one is kept
    finally:
        if output.keep:
            _keep(document, output, console)


def _write_files(document: Document, output: Output, console: Console) -> None:
    if output.json_file == "-":
        sys.stdout.buffer.write(orjson.dumps(document, option=orjson.OPT_INDENT_2) + b"\n")
    elif output.json_file:
        _write(Path(output.json_file), orjson.dumps(document, option=orjson.OPT_INDENT_2) + b"\n", console)
    if output.html_file:
        from treeline.eval.report_html import page

        _write(Path(output.html_file), page(document).encode(), console)


def _compare(document: Document, output: Output, console: Console) -> None:
    before = results.last(document["dataset"], output.results)
    if before is not None:
        same = results.comparable(document, before)
        report.show_changes(results.changes(document, before), before, same, console)


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
