"""`treeline eval docstrings`: docstrings of the test partition against functions without them."""

from __future__ import annotations

import click

from treeline.eval import docstrings
from treeline.eval.codesearchnet import data_folder
from treeline.eval.finish import Output, finish, output_options
from treeline.eval.pools import POOLS, read_functions, records_searcher
from treeline.eval.running import choice_options, chosen, loading, measure, patient
from treeline.eval.systems import DEFAULT, DENSE, HYBRID, KEYWORD, ROUTED


@click.command("docstrings")
@click.option("--data", metavar="DIR", default="", help="Folder in CodeSearchNet's layout.")
@click.option("--partition", default="test", show_default=True, help="Whose docstrings ask.")
@click.option("--questions", default=docstrings.QUESTIONS, show_default=True, type=click.IntRange(1))
@click.option("--pool", default=docstrings.POOL, show_default=True, type=click.IntRange(1), help="Functions to search.")
@click.option("--full", is_flag=True, help="Search every function of the partition instead.")
@choice_options
@output_options
def command(
    data: str,
    partition: str,
    questions: int,
    pool: int,
    full: bool,
    compare: bool,
    ablate: bool,
    output: Output,
) -> None:
    """Docstrings ask, their functions (stripped of them) answer; the pool is indexed on its own."""
    settings = patient(POOLS, "")
    functions = read_functions(data_folder(data), [partition])
    experiment = docstrings.prepare(functions, questions, None if full else pool)
    pool_name = "full" if full else f"{len(experiment.pool)}"
    with loading(output.console) as progress:
        searcher = records_searcher(f"docstrings-{partition}-{pool_name}", experiment.pool, settings, progress)
    try:
        dataset = docstrings.dataset(experiment, pool_name)
        recipes, baseline = chosen(compare, ablate, (KEYWORD, DENSE, HYBRID, ROUTED, DEFAULT))
        _, document = measure(dataset, searcher, recipes, baseline, output.console)
    finally:
        searcher.close()
    document["dataset"] += "-ablation" if ablate else ""
    finish(document, output)
