"""`treeline eval web`: questions as people type them, against the test and valid partitions or any index."""

from __future__ import annotations

from pathlib import Path

import click

from treeline.eval import web
from treeline.eval.codesearchnet import data_folder
from treeline.eval.finish import Output, finish, output_options
from treeline.eval.pools import source_searcher
from treeline.eval.running import choice_options, chosen, loading, measure, patient
from treeline.eval.systems import AS_TYPED, COMPARED, Recipe
from treeline.ingest.source import ReadOptions
from treeline.search.live import open_searcher
from treeline.service.cli.options import where

POOL = ("test", "valid")


@click.command("web")
@where
@click.option("--data", metavar="DIR", default="", help="Folder in CodeSearchNet's layout.")
@click.option("--questions", metavar="FILE", default="", help="Another file of questions.")
@click.option("--split", type=click.Choice(web.SPLITS), default="dev", show_default=True, help="Which half is asked.")
@click.option("--full", is_flag=True, help="Search the index of --name instead of the two partitions.")
@click.option("--mistyped", is_flag=True, help="Ask each question with a slip in one of its words.")
@choice_options
@output_options
def command(
    engine: str | None,
    name: str,
    data: str,
    questions: str,
    split: str,
    full: bool,
    mistyped: bool,
    compare: bool,
    ablate: bool,
    output: Output,
) -> None:
    """Web-style questions; choose on `dev`, report on `test`."""
    asked = web.read(Path(questions) if questions else web.QUERIES)
    compared: tuple[Recipe, ...] = COMPARED
    if mistyped:
        asked, compared = web.mistyped(asked), (AS_TYPED, *COMPARED)
    settings = patient(engine, name)
    if full:
        searcher = open_searcher(settings)
        pool = f"index {searcher.info.name}"
    else:
        options = ReadOptions(partitions=frozenset(POOL))
        with loading(output.console) as progress:
            source = f"codesearchnet:{data_folder(data)}"
            searcher = source_searcher("web-pool", source, settings, progress, options)
        pool = "test and valid partitions"
    try:
        urls = {address.url for _, address in searcher.engine.addresses()}
        dataset = web.dataset(asked, split, urls.__contains__, pool)
        recipes, baseline = chosen(compare, ablate, compared)
        _, document = measure(dataset, searcher, recipes, baseline, output.console)
    finally:
        searcher.close()
    marks = {"-mistyped": mistyped, "-full": full, "-ablation": ablate}
    document["dataset"] += "".join(mark for mark, given in marks.items() if given)
    finish(document, output)
