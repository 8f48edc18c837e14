"""Questions whose first answers were graded one by one.

No training run may see them. An unjudged result counts as wrong, as usual; `judged_10` is the share of judged ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from treeline.corpus.errors import InputError
from treeline.engine.hits import Hit
from treeline.eval.dataset import Case, DataSet, Metric, read_jsonl
from treeline.eval.harness import (
    Output,
    choice_options,
    compare_variants,
    evaluation_settings,
    finish,
    output_options,
)
from treeline.eval.metrics import count_distinct, deduplicate, ndcg, reciprocal_rank
from treeline.eval.sets.codesearchnet import ANNOTATIONS, read_judgements, read_queries
from treeline.eval.sets.codesearchnet import QUERIES as OFFICIAL
from treeline.search.live import open_searcher
from treeline.service.cli import main
from treeline.service.cli.options import index_options

QUERIES = Path(__file__).parent / "data" / "judged_queries.jsonl"
MORE_GRADES = Path(__file__).parent / "data" / "annotated_grades.jsonl"
GRADES = (0, 1, 2, 3)  # not asked for, related, does it in a special setting, exactly that
DOES_IT = 2
FIRST = 10

METRICS = (
    Metric("ndcg_10", "NDCG@10"),
    Metric("ndcg_5", "NDCG@5"),
    Metric("mrr", "MRR"),
    Metric("precision_5", "P@5"),
    Metric("judged_10", "judged@10"),
    Metric("judged_5", "judged@5"),
    Metric("repositories_10", "repositories@10", share=False),
)


@dataclass(frozen=True, slots=True)
class JudgedQuestion:
    """A question and the grade of each judged URL."""

    query: str
    grades: Mapping[str, float]


def read(path: Path = QUERIES) -> list[JudgedQuestion]:
    """Read the questions; an error names the broken line."""
    return read_jsonl(path, _question, "a question with judgements", "questions")


def _question(row: Any) -> JudgedQuestion:
    return JudgedQuestion(row["query"], {url: int(grade) for url, grade in dict(row["grades"]).items()})


def read_annotated(folder: Path) -> list[JudgedQuestion]:
    """CodeSearchNet's 99 queries: the mean of the annotators, and the grades of what no annotator saw."""
    more = dict(read_jsonl(MORE_GRADES, lambda row: (row["number"], row["grades"]), "grades", "grades"))
    annotations = read_judgements(folder / ANNOTATIONS)["python"]
    queries = enumerate(read_queries(folder / OFFICIAL), start=1)
    return [JudgedQuestion(query, annotations.get(query, {}) | more.get(number, {})) for number, query in queries]


def dataset(
    questions: Sequence[JudgedQuestion], indexed: Callable[[str], bool], pool: str, name: str = "judged"
) -> DataSet:
    """The questions that have an answer in the index; judgements of missing functions are dropped."""
    cases = []
    for number, question in enumerate(questions, start=1):
        present = {url: float(grade) for url, grade in question.grades.items() if indexed(url)}
        if any(grade >= DOES_IT for grade in present.values()):
            cases.append(Case(f"#{number}", question.query, present))
    if not cases:
        raise InputError(
            f"none of the {len(questions)} questions has an answer in this index", "index CodeSearchNet's data"
        )
    return DataSet(
        name=name,
        about="questions whose first answers were judged",
        cases=cases,
        metrics=METRICS,
        headline="ndcg_10",
        measure=measure,
        depth=100,
        facts={
            "pool": pool,
            "questions": float(len(cases)),
            "judged functions": float(sum(len(case.relevance) for case in cases)),
            "questions without an answer in the index": float(len(questions) - len(cases)),
        },
        notes=("MRR and P@5 count functions that do what was asked for, if perhaps in a special setting (2 and 3).",),
    )


def measure(case: Case, hits: Sequence[Hit]) -> dict[str, float | None]:
    urls = [results.address.url for results in hits]
    doing_it = {url for url, grade in case.relevance.items() if grade >= DOES_IT}
    first = deduplicate(urls)[:FIRST]
    return {
        "ndcg_10": ndcg(urls, case.relevance, FIRST, gain="exponential"),
        "ndcg_5": ndcg(urls, case.relevance, 5, gain="exponential"),
        "mrr": reciprocal_rank(urls, doing_it),
        "precision_5": len(doing_it.intersection(first[:5])) / 5,
        "judged_10": sum(url in case.relevance for url in first) / max(len(first), 1),
        "judged_5": sum(url in case.relevance for url in first[:5]) / max(len(first[:5]), 1),
        "repositories_10": count_distinct([results.address.repo for results in hits]),
    }


@click.command
@index_options
@click.option("--questions", metavar="FILE", default="", help="Another file of judged questions.")
@click.option("--annotated", metavar="FOLDER", default="", help="The 99 queries, from CodeSearchNet's folder.")
@choice_options
@output_options
def command(
    engine: str | None, name: str, questions: str, annotated: str, compare: bool, ablate: bool, output: Output
) -> None:
    """Questions whose first answers were judged, with NDCG@10."""
    queries = read_annotated(Path(annotated)) if annotated else read(Path(questions) if questions else QUERIES)
    with closing(open_searcher(evaluation_settings(engine, name))) as searcher:
        urls = {address.url for _, address in searcher.engine.addresses()}
        kind = "judged-annotated" if annotated else "judged"
        data = dataset(queries, urls.__contains__, f"index {searcher.info.name}", kind)
        document = compare_variants(data, searcher, compare, ablate, output.console)
    finish(document, output)


if __name__ == "__main__":
    main(command)
