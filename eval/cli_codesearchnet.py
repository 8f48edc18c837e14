"""`treeline eval codesearchnet`: the 99 official questions, on an index or on a file of predictions."""

from __future__ import annotations

from pathlib import Path

import click

from treeline.corpus.errors import InputError
from treeline.eval import codesearchnet, paper, runfiles
from treeline.eval.dataset import DataSet, System, evaluate
from treeline.eval.finish import Output, finish, output_options
from treeline.eval.running import choice_options, chosen, measure, patient
from treeline.eval.summary import summarise
from treeline.eval.systems import DEFAULT, Kitchen
from treeline.search.live import open_searcher
from treeline.service.cli.options import where


@click.command("codesearchnet")
@where
@click.option("--data", metavar="DIR", default="", help="Folder with queries.csv and annotationStore.csv.")
@click.option("--score", metavar="FILE", default="", help="Score an official predictions CSV instead of an index.")
@click.option("--paper", "repeat_paper", is_flag=True, help="Repeat the paper's table.")
@click.option("--predictions", metavar="FILE", default="", help="Write the default's model_predictions.csv.")
@click.option("--trec", metavar="DIR", default="", help="Write TREC run and qrels files there.")
@choice_options
@output_options
def command(
    engine: str | None,
    name: str,
    data: str,
    score: str,
    repeat_paper: bool,
    predictions: str,
    trec: str,
    compare: bool,
    ablate: bool,
    output: Output,
) -> None:
    """CodeSearchNet's 99 questions, with the official NDCG."""
    folder = codesearchnet.data_folder(data)
    queries = codesearchnet.read_queries(folder / codesearchnet.QUERIES)
    judgements = codesearchnet.read_judgements(folder / codesearchnet.ANNOTATIONS)
    if score:
        score_file(Path(score), queries, judgements, output)
        return
    searcher = open_searcher(patient(engine, name))
    try:
        languages = searcher.engine.facets()["language"]
        urls = {address.url for _, address in searcher.engine.addresses()}
        dataset = codesearchnet.dataset(queries, judgements, set(languages), urls.__contains__)
        recipes, baseline = chosen(compare, ablate)
        if repeat_paper:
            recipes, baseline = paper.recipes(), paper.recipes()[0].name
        _, document = measure(dataset, searcher, recipes, baseline, output.console)
        if repeat_paper:
            document = {**paper.with_table(document), "dataset": "codesearchnet-paper"}
        elif ablate:
            document["dataset"] = "codesearchnet-ablation"
        write_runs(dataset, Kitchen(searcher).system(DEFAULT), predictions, trec)
    finally:
        searcher.close()
    finish(document, output)


def write_runs(dataset: DataSet, system: System, predictions: str, trec: str) -> None:
    """The official predictions and TREC files of one system, where they were asked for."""
    if not predictions and not trec:
        return
    run = [(case, system.answer(case, dataset.depth).hits) for case in dataset.cases]
    try:
        if predictions:
            runfiles.write_predictions(Path(predictions), run)
        if trec:
            Path(trec).mkdir(parents=True, exist_ok=True)
            runfiles.write_trec_run(Path(trec) / f"{dataset.name}.run", run, "treeline")
            runfiles.write_trec_qrels(Path(trec) / f"{dataset.name}.qrels", dataset.cases)
    except OSError as error:
        raise InputError(f"{error.filename} cannot be written: {error.strerror}") from None


def score_file(path: Path, queries: list[str], judgements: codesearchnet.Judgements, output: Output) -> None:
    """Score predictions made by anything; without an index, every judged URL counts as covered."""
    predictions = runfiles.read_predictions(path, queries)
    languages = {language for language, _ in predictions.ranked}
    dataset = codesearchnet.dataset(queries, judgements, languages, lambda url: True)
    if predictions.repeated:
        output.console.print(f"{predictions.repeated} repeated URLs were counted once", style="yellow")
    document = summarise(evaluate(dataset, [predictions.system(path.name)]), baseline="")
    finish({**document, "dataset": "codesearchnet-file"}, output)
