"""`treeline eval judged`: questions whose first answers were judged one by one, against an index of CodeSearchNet."""

from __future__ import annotations

from pathlib import Path

import click

from treeline.eval import judged
from treeline.eval.finish import Output, finish, output_options
from treeline.eval.running import choice_options, chosen, measure, patient
from treeline.search.live import open_searcher
from treeline.service.cli.options import where


@click.command("judged")
@where
@click.option("--questions", metavar="FILE", default="", help="Another file of judged questions.")
@choice_options
@output_options
def command(engine: str | None, name: str, questions: str, compare: bool, ablate: bool, output: Output) -> None:
    """Questions whose first answers were judged, with NDCG@10."""
    asked = judged.read(Path(questions) if questions else judged.QUERIES)
    searcher = open_searcher(patient(engine, name))
    try:
        urls = {address.url for _, address in searcher.engine.addresses()}
        dataset = judged.dataset(asked, urls.__contains__, f"index {searcher.info.name}")
        recipes, baseline = chosen(compare, ablate)
        _, document = measure(dataset, searcher, recipes, baseline, output.console)
    finally:
        searcher.close()
    document["dataset"] += "-ablation" if ablate else ""
    finish(document, output)
