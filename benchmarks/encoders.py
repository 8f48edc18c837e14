"""Compares encoders: how well each ranks and how fast it encodes, on the same functions in the same run.

Only vectors and exact cosines, no engine. The pool is small enough for a transformer on a CPU: every function that is
judged for the 99 questions or answers a web question, and others drawn at random. A small pool is easier than the whole
corpus, so the figures only compare encoders; they are not those of `treeline eval codesearchnet`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import click
import numpy as np
import orjson
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks import web
from benchmarks.plots import display_name, encoders_svg
from treeline.corpus.function import Function
from treeline.encoder.protocol import Encoder
from treeline.encoder.registry import load
from treeline.eval.indexes import read_functions
from treeline.eval.metrics import OFFICIAL_DEPTH, Mean, mean_of, official_ndcg, reciprocal_rank
from treeline.eval.sets import codesearchnet, docstrings
from treeline.service.cli import main

SEED = 5
QUESTIONS = 300  # docstrings asked
WARM_UP = 64  # functions read before the clock starts
SINGLE = 100  # questions encoded one at a time

Found = dict[str, Any]  # the result of a run, as written to a file
Measure = Callable[[Sequence[str], Mapping[str, float]], float | None]


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """A set of questions: their texts, the relevant URLs of each, and the measure."""

    name: str
    texts: Sequence[str]
    relevance: Sequence[Mapping[str, float]]
    measure: Measure
    hidden: bool = False
    """Whether the functions are encoded without their docstrings."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The measurements of one encoder."""

    name: str
    dimension: int
    load_seconds: float
    functions_a_second: float
    question_ms: float
    quality: Mapping[str, Mean]

    def row(self) -> dict[str, Any]:
        return {
            "encoder": self.name,
            "dimension": self.dimension,
            "load_seconds": round(self.load_seconds, 3),
            "functions_a_second": round(self.functions_a_second, 1),
            "question_ms": round(self.question_ms, 3),
            "quality": {name: asdict(results) for name, results in self.quality.items()},
        }


def pool_of(functions: Iterable[Function], known: frozenset[str], size: int) -> list[Function]:
    """Every function at a known URL, filled up to `size` with others; the same input gives the same pool."""
    unique = sorted({one.url: one for one in functions if one.url}.values(), key=lambda one: one.url)
    selection = [one for one in unique if one.url in known]
    others = [one for one in unique if one.url not in known]
    return selection + random.Random(SEED).sample(others, min(len(others), max(0, size - len(selection))))


def judged(
    queries: Sequence[str], judgements: Mapping[str, Mapping[str, float]], urls: frozenset[str]
) -> list[QuestionSet]:
    """The 99 questions, by both official measures, over the judged URLs that are in the pool."""
    covering = {
        query: {url: value for url, value in judgements.get(query, {}).items() if url in urls} for query in queries
    }
    questions = [query for query, relevance in covering.items() if any(value > 0 for value in relevance.values())]
    relevance = [covering[query] for query in questions]
    return [
        QuestionSet("99 within", questions, relevance, lambda ranked, known: official_ndcg(ranked, known, within=True)),
        QuestionSet("99 all", questions, relevance, lambda ranked, known: official_ndcg(ranked, known, within=False)),
    ]


def from_the_web(questions: Iterable[tuple[str, Sequence[str]]], urls: frozenset[str]) -> QuestionSet:
    """Web questions with an answer in the pool."""
    present = {text: {url: 1.0 for url in answers if url in urls} for text, answers in questions}
    queries = [text for text, answers in present.items() if answers]
    return QuestionSet("web", queries, [present[text] for text in queries], _first_answer)


def from_docstrings(pool: Sequence[Function]) -> QuestionSet:
    """First paragraphs of docstrings; the functions are encoded without them."""
    usable = [one for one in pool if docstrings.question(one)]
    selection = random.Random(SEED).sample(usable, min(QUESTIONS, len(usable)))
    texts = [docstrings.question(one) for one in selection]
    return QuestionSet("docstrings", texts, [{one.url: 1.0} for one in selection], _first_answer, hidden=True)


def measure(name: str, pool: Sequence[Function], sets: Sequence[QuestionSet]) -> Outcome:
    """Load an encoder, encode the pool, score every set."""
    begin = perf_counter()
    encoder = load(name)
    assert encoder is not None
    encoder.encode_queries(["a question"])
    model = perf_counter() - begin
    encoder.encode_functions(pool[:WARM_UP])
    begin = perf_counter()
    whole = encoder.encode_functions(pool)
    rate = len(pool) / (perf_counter() - begin)
    bare = encoder.encode_functions([docstrings.strip_docstring(one) for one in pool])
    urls = [one.url for one in pool]
    quality = {
        questions.name: results
        for questions in sets
        if (results := mean_of(_scores(encoder, questions, bare if questions.hidden else whole, urls)))
    }
    return Outcome(name, encoder.dimension, model, rate, _question_ms(encoder, sets), quality)


def _scores(encoder: Encoder, asked: QuestionSet, vectors: NDArray[np.float32], urls: Sequence[str]) -> list[float]:
    cosines = encoder.encode_queries(asked.texts) @ vectors.T
    scores = (
        asked.measure([urls[at] for at in np.argsort(-row, kind="stable")[:OFFICIAL_DEPTH]], relevance)
        for relevance, row in zip(asked.relevance, cosines, strict=True)
    )
    return [score for score in scores if score is not None]


def _question_ms(encoder: Encoder, sets: Sequence[QuestionSet]) -> float:
    """Median milliseconds to encode one question."""
    texts = [text for questions in sets for text in questions.texts][:SINGLE]
    times = []
    for text in texts:
        begin = perf_counter()
        encoder.encode_queries([text])
        times.append(perf_counter() - begin)
    return float(np.median(times)) * 1000


def _first_answer(ranked: Sequence[str], relevance: Mapping[str, float]) -> float:
    return reciprocal_rank(ranked, relevance)


POOL = 5_000
LANGUAGE = "python"


@click.command
@click.argument("names", nargs=-1)
@click.option("--data", metavar="DIR", default="", help="Folder in CodeSearchNet's layout, with its annotations.")
@click.option("--pool", default=POOL, show_default=True, help="How many functions are read.")
@click.option("--split", type=click.Choice(web.SPLITS), default="test", show_default=True, help="Of the web questions.")
@click.option("--json", "json_file", metavar="FILE", default="", help="Write the numbers; - for stdout.")
@click.option("--svg", "svg_file", metavar="FILE", default="", help="Write the picture.")
def command(names: tuple[str, ...], data: str, pool: int, split: str, json_file: str, svg_file: str) -> None:
    """Compare the encoders NAMES with `static`: a name or folder each, `onnx:FOLDER` for int8."""
    console = Console(stderr=json_file == "-", highlight=False)
    folder = codesearchnet.data_folder(data)
    queries = codesearchnet.read_queries(folder / codesearchnet.QUERIES)
    judgements = codesearchnet.read_judgements(folder / codesearchnet.ANNOTATIONS)[LANGUAGE]
    questions = [(one.query, one.urls) for one in web.read() if split in (one.split, "all")]
    known = {url for relevance in judgements.values() for url in relevance}
    known |= {url for _, urls in questions for url in urls}
    functions = pool_of(read_functions(folder), frozenset(known), pool)
    urls = frozenset(one.url for one in functions)
    prompts = [
        *judged(queries, judgements, urls),
        from_the_web(questions, urls),
        from_docstrings(functions),
    ]
    sets = [one for one in prompts if one.texts]
    rows = []
    for name in dict.fromkeys(("static", *names)):
        console.print(f"{name}: reading {len(functions):,} functions twice …", style="dim")
        rows.append(measure(name, functions, sets).row())
    results = {"functions": len(functions), "questions": {one.name: len(one.texts) for one in sets}, "encoders": rows}
    _show(results, console)
    if json_file:
        text = orjson.dumps(results, option=orjson.OPT_INDENT_2).decode()
        click.echo(text) if json_file == "-" else Path(json_file).write_text(text + "\n")
    if svg_file:
        Path(svg_file).write_text(encoders_svg(results), encoding="utf-8")


def _show(found: Found, console: Console) -> None:
    table = Table(title=f"{found['functions']:,} functions", box=None, title_justify="left")
    table.add_column("encoder")
    names = list(found["questions"])
    for column in ("functions/s", "question, ms", "load, s", *names):
        table.add_column(column, justify="right")
    for row in found["encoders"]:
        quality = [row["quality"][name] for name in names]
        table.add_row(
            display_name(row["encoder"]),
            f"{row['functions_a_second']:,.0f}",
            f"{row['question_ms']:.2f}",
            f"{row['load_seconds']:.2f}",
            *(f"{one['mean']:.3f} ({one['low']:.2f}–{one['high']:.2f})" for one in quality),
        )
    console.print(table)


if __name__ == "__main__":
    main(command)
