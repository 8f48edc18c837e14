"""Docstring retrieval: a function's docstring asks, the function without it answers (CodeSearchNet's own task).

Two pools, as the field reports them: 13,000 functions with 999 questions, and every function of the partition."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

import click

from treeline.corpus.errors import InputError
from treeline.corpus.function import Function
from treeline.engine.hits import Hit
from treeline.eval.dataset import Case, DataSet, Metric
from treeline.eval.harness import (
    Output,
    choice_options,
    compare_variants,
    evaluation_settings,
    finish,
    loading,
    output_options,
)
from treeline.eval.indexes import ENGINE, read_functions, records_searcher
from treeline.eval.metrics import ndcg, reciprocal_rank, success
from treeline.eval.sets.codesearchnet import data_folder

QUESTIONS = 999
POOL = 13_000
SEED = 13
# CodeSearchNet's own filter (Husain et al. 2019): a docstring of at least three words, a function of at least
# three lines, no tests, no constructors and other double-underscore methods.
LEAST_WORDS = 3
LEAST_LINES = 3
# A question is the docstring's first paragraph, like CodeSearchNet's `docstring_tokens`; longer ones are no questions.
MOST_WORDS = 60

METRICS = (
    Metric("mrr", "MRR"),
    Metric("ndcg_10", "NDCG@10"),
    Metric("recall_1", "Recall@1"),
    Metric("recall_10", "Recall@10"),
)
# What a comparable system reports on 999 questions over 13,000 functions: MRR, NDCG@10, Recall@10.
REPORTED_ELSEWHERE = {"BM25": (0.649, 0.680, 0.776), "dense": (0.757, 0.788, 0.884), "hybrid": (0.782, 0.809, 0.891)}


@dataclass(frozen=True, slots=True)
class Experiment:
    """The questions and the stripped functions to index, in a fixed order."""

    questions: tuple[tuple[str, str], ...]  # (url, question)
    pool: tuple[Function, ...]


def prepare(
    functions: Iterable[Function], questions: int = QUESTIONS, pool: int | None = POOL, seed: int = SEED
) -> Experiment:
    """Draw questions and fill the pool (None: take all), reproducibly.

    Functions are sorted by URL before the draw, so that reading order does not matter.
    """
    unique = sorted({function.url: function for function in functions if function.url}.values(), key=lambda f: f.url)
    draw = random.Random(seed)
    usable = [function for function in unique if question(function)]
    if len(usable) < questions:
        raise InputError(
            f"only {len(usable)} functions have a usable docstring, {questions} are needed", "index more, or ask fewer"
        )
    askers = draw.sample(usable, questions)
    urls = {function.url for function in askers}
    others = [function for function in unique if function.url not in urls]
    if pool is not None:
        others = draw.sample(others, min(len(others), max(0, pool - len(askers))))
    texts = tuple((function.url, question(function)) for function in askers)
    return Experiment(texts, tuple(strip_docstring(function) for function in [*askers, *others]))


def question(function: Function) -> str:
    """The docstring's first paragraph on one line, or '' if CodeSearchNet's filter drops the function."""
    name = function.func_name.rpartition(".")[2]
    lines = sum(bool(line.strip()) for line in function.code.splitlines())
    if "test" in name.lower() or (name.startswith("__") and name.endswith("__")) or lines < LEAST_LINES:
        return ""
    paragraph = function.docstring.strip().split("\n\n")[0]
    words = paragraph.split()
    if sum(word.strip(".,:;").isalpha() for word in words) < LEAST_WORDS:
        return ""
    return " ".join(words[:MOST_WORDS])


def strip_docstring(function: Function) -> Function:
    """The function without its docstring, in every field."""
    return replace(function, docstring="", docstring_tokens=(), original_string=function.code)


def dataset(experiment: Experiment, pool_name: str) -> DataSet:
    cases = [Case(f"#{number}", text, {url: 1.0}) for number, (url, text) in enumerate(experiment.questions, start=1)]
    return DataSet(
        name=f"docstrings-{pool_name}",
        about=f"docstrings against {len(experiment.pool):,} functions without docstrings",
        cases=cases,
        metrics=METRICS,
        headline="mrr",
        measure=measure,
        depth=100,
        facts={"functions": float(len(experiment.pool)), "questions": float(len(cases))},
        notes=(
            "Docstrings are stripped from what is indexed, in every field. "
            "A comparable system reports on its own sample of the same size (MRR / NDCG@10 / Recall@10): "
            + "; ".join(f"{name} {' / '.join(f'{x:.3f}' for x in row)}" for name, row in REPORTED_ELSEWHERE.items())
            + ".",
        ),
    )


def measure(case: Case, hits: Sequence[Hit]) -> dict[str, float | None]:
    urls = [hit.address.url for hit in hits]
    return {
        "mrr": reciprocal_rank(urls, case.relevant),
        "ndcg_10": ndcg(urls, case.relevance, 10),
        "recall_1": success(urls, case.relevant, 1),
        "recall_10": success(urls, case.relevant, 10),
    }


@click.command("docstrings")
@click.option("--data", metavar="DIR", default="", help="Folder in CodeSearchNet's layout.")
@click.option("--partition", default="test", show_default=True, help="Take the questions from this partition.")
@click.option("--questions", default=QUESTIONS, show_default=True, type=click.IntRange(1), help="How many to ask.")
@click.option("--pool", default=POOL, show_default=True, type=click.IntRange(1), help="Functions to search.")
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
    settings = evaluation_settings(ENGINE, "")
    functions = read_functions(data_folder(data), [partition])
    experiment = prepare(functions, questions, None if full else pool)
    pool_name = "full" if full else f"{len(experiment.pool)}"
    with loading(output.console) as progress:
        searcher = records_searcher(f"docstrings-{partition}-{pool_name}", experiment.pool, settings, progress)
    with closing(searcher):
        document = compare_variants(dataset(experiment, pool_name), searcher, compare, ablate, output.console)
    finish(document, output)
