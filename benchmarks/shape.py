"""Questions for a shape and a topic: "recursive function: tree" asks for functions that call themselves.

They are drawn from the sources themselves. A topic is a word of a function's name that other names share, so the word
alone does not decide; the shape does, which the parse tree tells. All functions with both are right answers.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from typing import NamedTuple

import click

from treeline.corpus import analysis
from treeline.corpus.analysis import STOP_WORDS
from treeline.corpus.errors import InputError
from treeline.corpus.function import FUNCTION_KINDS, Function
from treeline.encoder.static import identifier_parts
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
from treeline.eval.indexes import ENGINE, sources_searcher
from treeline.eval.metrics import ndcg, reciprocal_rank, success
from treeline.eval.sets.repository import code_version
from treeline.eval.systems import DEFAULT, DENSE, KEYWORD, ROUTED
from treeline.ingest.source import Source
from treeline.ingest.sources import open_source
from treeline.service.cli import main

# How people ask for each shape; `{}` is the topic.
QUESTIONS: dict[str, tuple[str, ...]] = {
    analysis.RECURSION: ("recursive function for {}", "{} that calls itself", "recursively {}"),
    analysis.NESTED_LOOPS: ("nested loops over {}", "{} with nested for loops"),
    analysis.GENERATOR: ("generator function for {}", "yields {}", "{} that yields values"),
    analysis.ASYNC: ("async {}", "coroutine for {}", "{} asynchronously"),
    analysis.RETRIES: ("retry {} when it fails", "{} with retries", "{} with exponential backoff"),
    analysis.EARLY_RETURN: ("{} with an early return", "guard clauses in {}"),
    analysis.CONTEXT: ("context manager for {}", "{} in a with block"),
    analysis.DECORATOR: ("decorator for {}", "{} that returns a function"),
    analysis.RAISES: ("{topic} that raises {name}", "where does {topic} throw {name}"),
    analysis.CATCHES: ("{topic} that catches {name}", "{topic} handles {name}"),
    analysis.DECORATED: ("{topic} decorated with {name}", "{topic} annotated with {name}"),
    analysis.READS_FILE: ("reads a file: {}", "{} reads it from a file"),
    analysis.WRITES_FILE: ("writes {} to a file", "{}, saves it to a file"),
    analysis.NETWORK: ("{} by an http request", "sends an http request for {}"),
    analysis.PROCESS: ("{} in a subprocess", "runs a shell command for {}"),
    analysis.REGEX: ("{} by regular expression", "regex for {}"),
    analysis.COMPLEX: ("complex function for {}", "complicated {} with many branches"),
}
SHORTEST_TOPIC = 3  # letters
LEAST_NAMES = 4  # functions whose name has the topic
MOST_ANSWERS = 5
MOST_SHARE = 0.5  # of the functions with the topic: more, and the topic alone is enough
MOST = 40  # questions for a shape

METRICS = (Metric("mrr", "MRR"), Metric("ndcg_10", "NDCG@10"), Metric("hit_1", "hit@1"), Metric("hit_10", "hit@10"))


class Asked(NamedTuple):
    """A question, its shape, and the ids of the functions that answer it."""

    text: str
    shape: str
    answers: tuple[str, ...]


def read(sources: Iterable[Source]) -> tuple[list[Function], dict[str, str]]:
    """The functions of the sources, and their shape terms by id."""
    functions: list[Function] = []
    shapes: dict[str, str] = {}
    for source in sources:
        for unit in source.units():
            for chunk in unit.chunks():
                facts = chunk.parse()
                functions += [one for one in facts.functions if one.kind in FUNCTION_KINDS]
                shapes.update(facts.shapes)
    return functions, shapes


def questions(functions: Sequence[Function], shapes: Mapping[str, str], seed: int = 0) -> list[Asked]:
    """At most `MOST` questions for each shape, the same for the same seed."""
    by_topic: dict[str, list[str]] = defaultdict(list)
    by_both: dict[tuple[str, str], list[str]] = defaultdict(list)
    for function in sorted(functions, key=lambda one: one.id):
        terms = shapes.get(function.id, "").split()
        for topic in dict.fromkeys(identifier_parts(function.func_name.rpartition(".")[2])):
            if (
                len(topic) < SHORTEST_TOPIC
                or not topic.isalpha()
                or topic in STOP_WORDS
                or analysis.read_query(topic) != (topic, [])
            ):
                continue
            by_topic[topic].append(function.id)
            for term in terms:
                by_both[term, topic].append(function.id)
    rng = random.Random(seed)
    results: dict[str, list[Asked]] = defaultdict(list)
    for (term, topic), answers in sorted(by_both.items()):
        kind, _, name = term.partition(analysis.OF)
        queries = QUESTIONS.get(kind)
        names = bool(queries and "{name}" in queries[0])
        count = len(by_topic[topic])
        fits = count >= LEAST_NAMES and len(answers) <= min(MOST_ANSWERS, MOST_SHARE * count)
        if queries is None or names is not bool(name) or not fits:
            continue
        text = rng.choice(queries)
        text = text.format(topic=topic, name=name) if names else text.format(topic)
        results[kind].append(Asked(text, kind, tuple(answers)))
    selection = []
    for _, every in sorted(results.items()):
        rng.shuffle(every)
        selection += every[:MOST]
    return selection


def dataset(asked: Sequence[Asked], pool: str, seed: int = 0) -> DataSet:
    """The questions as a data set, grouped by shape."""
    if not asked:
        raise InputError("no two functions of these sources share a word and differ in shape", "add sources")
    return DataSet(
        name="shape",
        about="questions for a shape and a topic",
        cases=[
            Case(f"#{number}", one.text, dict.fromkeys(one.answers, 1.0), group=one.shape)
            for number, one in enumerate(asked, start=1)
        ],
        metrics=METRICS,
        headline="mrr",
        measure=measure,
        depth=100,
        facts={"pool": pool, "questions": float(len(asked)), "seed": float(seed)},
    )


def measure(case: Case, hits: Sequence[Hit]) -> dict[str, float | None]:
    ids = [hit.id for hit in hits]
    return {
        "mrr": reciprocal_rank(ids, case.relevant),
        "ndcg_10": ndcg(ids, case.relevance, 10),
        "hit_1": success(ids, case.relevant, 1),
        "hit_10": success(ids, case.relevant, 10),
    }


@click.command
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option("--seed", type=int, default=0, show_default=True, help="Another seed takes other questions.")
@choice_options
@output_options
def command(sources: tuple[str, ...], seed: int, compare: bool, ablate: bool, output: Output) -> None:
    """A shape and a topic ask ("recursive function for tree"), the parse tree knows the answers."""
    settings = evaluation_settings(ENGINE, "")
    functions, shapes = read(map(open_source, sources))
    queries = questions(functions, shapes, seed)
    data = dataset(queries, f"{len(functions):,} functions", seed)
    with loading(output.console) as progress:
        handle = [open_source(one) for one in sources]
        searcher = sources_searcher("shape", handle, settings, progress, version=code_version())
    with closing(searcher):
        document = compare_variants(data, searcher, compare, ablate, output.console, (KEYWORD, DENSE, ROUTED, DEFAULT))
    finish(document, output)


if __name__ == "__main__":
    main(command)
