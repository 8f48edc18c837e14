"""`treeline eval codesearchnet`: the 99 official questions, on an index or on a file of predictions."""

from __future__ import annotations

from pathlib import Path

import click

from corpus.errors import InputError
from eval import codesearchnet, runfiles
from eval.dataset import evaluate
from eval.finish import Output, finish, output_options
from eval.summary import summarise

BESIDE = Path(__file__).parent.parent.parent / "shared" / "codesearchnet"


def data_folder(given: str) -> Path:
    """The folder with the official files: the one given, else the one beside the checkout."""
    if given:
        return Path(given)
    if BESIDE.is_dir():
        return BESIDE
    raise InputError("no CodeSearchNet data", "give --data a folder with queries.csv and annotationStore.csv")


@click.command()
@click.option("--data", metavar="DIR", default="", help="Folder with queries.csv and annotationStore.csv.")
@click.option("--score", metavar="FILE", default="", help="Score an official predictions CSV instead of an index.")
@output_options
def command(data: str, score: str, output: Output) -> None:
    """CodeSearchNet's 99 questions, with the official NDCG."""
    folder = data_folder(data)
    queries = codesearchnet.read_queries(folder / codesearchnet.QUERIES)
    judgements = codesearchnet.read_judgements(folder / codesearchnet.ANNOTATIONS)
    if score:
        score_file(Path(score), queries, judgements, output)


def score_file(path: Path, queries: list[str], judgements: codesearchnet.Judgements, output: Output) -> None:
    """Score predictions made by anything; without an index, every judged URL counts as covered."""
    predictions = runfiles.read_predictions(path, queries)
    languages = {language for language, _ in predictions.ranked}
    dataset = codesearchnet.dataset(queries, judgements, languages, lambda url: True)
    if predictions.repeated:
        output.console.print(f"{predictions.repeated} repeated URLs were counted once", style="yellow")
    finish(summarise(evaluate(dataset, [predictions.system(path.name)]), baseline=""), output)
