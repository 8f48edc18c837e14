"""Questions as people type them into a web search, with the functions that answer them; written by hand.

No training run may see them. The `dev` half chooses models, the `test` half reports on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import click

from lab.training.grammar import mistype
from treeline.corpus.errors import InputError
from treeline.engine.hits import Hit
from treeline.eval.dataset import Case, DataSet, Metric, read_jsonl
from treeline.eval.harness import (
    Output,
    choice_options,
    compare_variants,
    evaluation_settings,
    finish,
    loading,
    output_options,
)
from treeline.eval.indexes import source_searcher
from treeline.eval.metrics import count_distinct, ndcg, recall, reciprocal_rank, success
from treeline.eval.sets.codesearchnet import data_folder
from treeline.eval.systems import AS_TYPED, COMPARISON, Variant
from treeline.ingest.source import ReadOptions
from treeline.search.live import open_searcher
from treeline.service.cli import main
from treeline.service.cli.options import index_options

QUERIES = Path(__file__).parent / "data" / "web_queries.jsonl"
SPLITS = ("dev", "test", "all")

METRICS = (
    Metric("mrr", "MRR"),
    Metric("ndcg_10", "NDCG@10"),
    Metric("recall_10", "Recall@10"),
    Metric("hit_1", "Hit@1"),
    Metric("hit_10", "Hit@10"),
    Metric("repositories_10", "repositories@10", share=False),
)


@dataclass(frozen=True, slots=True)
class WebQuestion:
    """A question, its half, and the URLs known to answer it."""

    query: str
    split: str
    urls: tuple[str, ...]


def read(path: Path = QUERIES) -> list[WebQuestion]:
    """Read the questions; an error names the broken line."""
    return read_jsonl(path, _question, "a question with answers", "questions")


def misspell(questions: Sequence[WebQuestion]) -> list[WebQuestion]:
    """Each question with one typo, always the same one."""
    return [replace(question, query=mistype(question.query, Random(question.query))) for question in questions]


def _question(row: Any) -> WebQuestion:
    return WebQuestion(row["query"], row["split"], tuple(answer["url"] for answer in row["answers"]))


def dataset(questions: Sequence[WebQuestion], split: str, indexed: Callable[[str], bool], pool: str) -> DataSet:
    """The questions of one half that have an answer in the index."""
    if split not in SPLITS:
        raise InputError(f"unknown split {split!r}", f"choose one of {', '.join(SPLITS)}")
    numbered = enumerate(questions, start=1)
    queries = [(number, question) for number, question in numbered if split in (question.split, "all")]
    cases = []
    for number, question in queries:
        present = {url: 1.0 for url in question.urls if indexed(url)}
        if present:
            cases.append(Case(f"#{number}", question.query, present))
    if not cases:
        raise InputError(
            f"none of the {len(queries)} questions has an answer in this index", "index CodeSearchNet's data"
        )
    return DataSet(
        name=f"web-{split}",
        about=f"web-style questions ({split} half)" if split != "all" else "web-style questions",
        cases=cases,
        metrics=METRICS,
        headline="mrr",
        measure=measure,
        depth=100,
        facts={
            "pool": pool,
            "questions": float(len(cases)),
            "answers": float(sum(len(case.relevance) for case in cases)),
            "questions without an answer in the index": float(len(queries) - len(cases)),
        },
        notes=(
            "Answers were found by hand in the test and valid partitions; over the whole corpus other functions answer "
            "too that nobody marked, so figures there are a lower bound.",
        ),
    )


def measure(case: Case, hits: Sequence[Hit]) -> dict[str, float | None]:
    urls = [results.address.url for results in hits]
    return {
        "mrr": reciprocal_rank(urls, case.relevant),
        "ndcg_10": ndcg(urls, case.relevance, 10),
        "recall_10": recall(urls, case.relevant, 10),
        "hit_1": success(urls, case.relevant, 1),
        "hit_10": success(urls, case.relevant, 10),
        "repositories_10": count_distinct([results.address.repo for results in hits]),
    }


POOL = ("test", "valid")


@click.command
@index_options
@click.option("--data", metavar="DIR", default="", help="Folder in CodeSearchNet's layout.")
@click.option("--questions", metavar="FILE", default="", help="Another file of questions.")
@click.option("--split", type=click.Choice(SPLITS), default="dev", show_default=True, help="Which half is asked.")
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
    queries = read(Path(questions) if questions else QUERIES)
    comparison: tuple[Variant, ...] = COMPARISON
    if mistyped:
        queries, comparison = misspell(queries), (AS_TYPED, *COMPARISON)
    settings = evaluation_settings(engine, name)
    if full:
        searcher = open_searcher(settings)
        pool = f"index {searcher.info.name}"
    else:
        options = ReadOptions(partitions=frozenset(POOL))
        with loading(output.console) as progress:
            source = f"codesearchnet:{data_folder(data)}"
            searcher = source_searcher("web-pool", source, settings, progress, options)
        pool = "test and valid partitions"
    with closing(searcher):
        urls = {address.url for _, address in searcher.engine.addresses()}
        cases = dataset(queries, split, urls.__contains__, pool)
        cases = replace(cases, name=f"{cases.name}{'-mistyped' if mistyped else ''}{'-full' if full else ''}")
        document = compare_variants(cases, searcher, compare, ablate, output.console, comparison)
    finish(document, output)


if __name__ == "__main__":
    main(command)
