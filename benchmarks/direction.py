"""Direction and negation: does a question for a function rank it above the function that does the opposite?

Pairs come from the names in one repository, by rule: `csv_to_json` and `json_to_csv` (arrow), `encode_url` and
`decode_url` (verb), `is_not_empty` and `is_empty` (negation). The first name's words are the question. The answer is
right if the first function scores higher than the second, so guessing gets half of them. With `--search` the default
search ranks them, among other functions of their repository.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np
import orjson
from rich.console import Console
from rich.table import Table

from lab.training.opposites import Pair, pairs
from treeline.corpus.errors import InputError
from treeline.corpus.function import Function
from treeline.encoder.protocol import DEFAULT_ENCODER, Encoder
from treeline.encoder.registry import load
from treeline.engine.protocol import Filters
from treeline.eval.harness import evaluation_settings, loading
from treeline.eval.indexes import ENGINE, records_searcher
from treeline.ingest.sources import functions_of, open_source
from treeline.search.live import LiveSearcher
from treeline.search.query import Query
from treeline.service.cli import main

OTHERS = 30  # further functions of each repository that search ranks, too
PAGE = 100


def correct(chosen: Sequence[Pair], functions: Sequence[Function], encoder: Encoder) -> list[bool]:
    """For each pair whether the question is nearer to its own function."""
    numbers = sorted({number for pair in chosen for number in (pair.answer, pair.opposite)})
    rows = {number: row for row, number in enumerate(numbers)}
    vectors = encoder.encode_functions([functions[number] for number in numbers])
    questions = encoder.encode_queries([pair.question for pair in chosen])
    return [
        bool(query @ vectors[rows[pair.answer]] > query @ vectors[rows[pair.opposite]])
        for query, pair in zip(questions, chosen, strict=True)
    ]


def pool(chosen: Sequence[Pair], functions: Sequence[Function], seed: int = 0) -> list[Function]:
    """The functions of the pairs, and up to `OTHERS` more of each of their repositories; reproducible by seed."""
    numbers = {number for pair in chosen for number in (pair.answer, pair.opposite)}
    others: dict[str, list[int]] = {functions[number].repo: [] for number in numbers}
    for number, function in enumerate(functions):
        if number not in numbers and function.repo in others:
            others[function.repo].append(number)
    rng = random.Random(seed)
    for _, rest in sorted(others.items()):
        numbers.update(rng.sample(rest, min(len(rest), OTHERS)))
    return [functions[number] for number in sorted(numbers)]


def ranked_correct(chosen: Sequence[Pair], functions: Sequence[Function], searcher: LiveSearcher) -> list[bool]:
    """For each pair whether the default search ranks the function above its opposite."""
    right = []
    for pair in chosen:
        answer, opposite = functions[pair.answer], functions[pair.opposite]
        query = Query(pair.question, k=PAGE, filters=Filters(repo=answer.repo), explain=False, feedback=False)
        first = (hits.function.id for hits in searcher.search(query).results)
        right.append(next((id_ for id_ in first if id_ in (answer.id, opposite.id)), "") == answer.id)
    return right


def summarise(chosen: Sequence[Pair], functions: Sequence[Function], right: Sequence[bool]) -> list[dict[str, Any]]:
    """The share of right answers by kind and by language, with the normal 95 % interval."""
    groups: dict[str, list[bool]] = defaultdict(list)
    for pair, one in zip(chosen, right, strict=True):
        for group in (pair.kind, f"{pair.kind}, {functions[pair.answer].language}"):
            groups[group].append(one)
    rows = []
    for group, values in sorted(groups.items()):
        share = float(np.mean(values))
        margin = 1.96 * float(np.sqrt(share * (1 - share) / len(values)))
        rows.append({"pairs": group, "count": len(values), "right": share, "margin": margin})
    return rows


@click.command
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option("--encoder", default=DEFAULT_ENCODER, show_default=True, help="Which encoder is measured.")
@click.option("--search", "by_search", is_flag=True, help="Measure the default search instead of vectors alone.")
@click.option("--seed", type=int, default=0, show_default=True, help="Another seed takes other pairs.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write the figures here, too.")
def command(sources: tuple[str, ...], encoder: str, by_search: bool, seed: int, json_file: Path | None) -> None:
    """Pairs of opposite functions: is each question nearer to its own?"""
    console = Console(highlight=False)
    functions = [function for source in sources for function in functions_of(open_source(source))]
    selection = pairs(functions, seed)
    if not selection:
        raise InputError("no two functions of these sources are opposites by name", "add sources")
    model = load(encoder)
    if model is None:
        raise InputError("the encoder 'none' has no vectors", "name another with --encoder")
    if by_search:
        settings = replace(evaluation_settings(ENGINE, ""), encoder=encoder)
        with loading(console) as progress:
            searcher = records_searcher("direction", pool(selection, functions, seed), settings, progress)
        with closing(searcher):
            right = ranked_correct(selection, functions, searcher)
    else:
        right = correct(selection, functions, model)
    rows = summarise(selection, functions, right)
    table = Table("pairs", "count", "right", "±", title=f"direction, {model.name}{', search' if by_search else ''}")
    for row in rows:
        table.add_row(row["pairs"], str(row["count"]), f"{row['right']:.3f}", f"{row['margin']:.3f}")
    console.print(table)
    if json_file:
        figures = {"encoder": model.name, "search": by_search, "seed": seed, "figures": rows}
        json_file.write_bytes(orjson.dumps(figures))


if __name__ == "__main__":
    main(command)
