"""Error messages ask, the functions that raise them answer.

The messages come from the index itself: `raise X("…")` with one string that no other unit raises. They are asked as
they are, as if pasted into a search, or in quotes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from random import Random

import click

from treeline.corpus.errors import InputError
from treeline.corpus.function import Function
from treeline.engine.hits import Hit
from treeline.eval.dataset import Case, DataSet, Metric
from treeline.eval.harness import (
    Output,
    choice_options,
    evaluation_settings,
    finish,
    output_options,
    run,
    select_variants,
    summarise_index,
)
from treeline.eval.metrics import reciprocal_rank, success
from treeline.search.live import open_searcher
from treeline.service.cli import main
from treeline.service.cli.options import index_options

# One string without escapes; f-strings and concatenated strings differ from what a user sees.
RAISED = re.compile(r"\braise\s+[\w.]+\(\s*([\"'])((?:(?!\1)[^\\\n])+)\1\s*,?\s*\)")
PLACEHOLDER = re.compile(r"%[srdi]|\{\w*\}")
WORDS, LETTERS = 3, 15  # a shorter message also occurs in unrelated code

METRICS = (Metric("mrr", "MRR"), Metric("hit_1", "Hit@1"), Metric("hit_10", "Hit@10"))


def messages(units: Iterable[Function]) -> dict[str, str]:
    """The messages that only one unit raises, each with the unit's id, in alphabetical order."""
    raisers: dict[str, set[str]] = {}
    for unit in units:
        for results in RAISED.finditer(unit.code):
            text = " ".join(results[2].split())
            if len(text) >= LETTERS and len(text.split()) >= WORDS and not PLACEHOLDER.search(text):
                raisers.setdefault(text, set()).add(unit.id)
    folds = Counter(text.lower() for text in raisers)
    return {
        text: next(iter(ids)) for text, ids in sorted(raisers.items()) if len(ids) == 1 and folds[text.lower()] == 1
    }


def dataset(found: dict[str, str], count: int, seed: int, pool: str, *, quoted: bool) -> DataSet:
    """A sample of the messages, in quotes or not."""
    if not found:
        raise InputError("this index raises no error messages", "index Python code, for example `python-env`")
    sample = Random(seed).sample(list(found), min(count, len(found)))
    cases = [
        Case(f"#{number}", _quote(text) if quoted else text, {found[text]: 1.0})
        for number, text in enumerate(sample, start=1)
    ]
    return DataSet(
        name="messages-quoted" if quoted else "messages",
        about=f"error messages {'in quotes' if quoted else 'as they are'}",
        cases=cases,
        metrics=METRICS,
        headline="mrr",
        measure=measure,
        depth=100,
        facts={"pool": pool, "messages": float(len(cases)), "seed": float(seed)},
    )


def measure(case: Case, hits: Sequence[Hit]) -> dict[str, float | None]:
    ids = [hit.id for hit in hits]
    return {
        "mrr": reciprocal_rank(ids, case.relevant),
        "hit_1": success(ids, case.relevant, 1),
        "hit_10": success(ids, case.relevant, 10),
    }


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


@click.command
@index_options
@click.option("--count", default=300, show_default=True, type=click.IntRange(1), help="How many messages.")
@click.option("--seed", default=1, show_default=True, help="Which of them.")
@click.option("--quoted", is_flag=True, help="Ask them in quotes.")
@choice_options
@output_options
def command(
    engine: str | None, name: str, count: int, seed: int, quoted: bool, compare: bool, ablate: bool, output: Output
) -> None:
    """Error messages of the index's own code, with MRR."""
    searcher = open_searcher(evaluation_settings(engine, name))
    try:
        results = messages(searcher.engine.scan())
        data = dataset(results, count, seed, f"index {searcher.info.name}", quoted=quoted)
        variants, baseline = select_variants(compare, ablate)
        questions = [replace(variant, literal=False) for variant in variants]  # quotes mean exact text
        document = summarise_index(run(data, searcher, questions, output.console), searcher.info, baseline)
    finally:
        searcher.close()
    finish(document, output)


if __name__ == "__main__":
    main(command)
