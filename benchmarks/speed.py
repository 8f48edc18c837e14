"""Measures speed and memory of indexing and searching, stage by stage, beside goals: python -m benchmarks.speed."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from time import perf_counter, process_time
from typing import Any

import click
import numpy as np
import orjson
from rich.console import Console

from benchmarks.figures import JSON, Report
from benchmarks.http import questions as bench_questions
from treeline.corpus.analysis import terms
from treeline.corpus.errors import InputError
from treeline.encoder.protocol import Encoder, Vectors
from treeline.encoder.registry import load
from treeline.engine.protocol import Engine
from treeline.eval.metrics import percentile
from treeline.search.live import LiveSearcher, open_searcher
from treeline.search.query import Query
from treeline.search.searcher import Searcher
from treeline.search.settings import Settings
from treeline.service.cli import main
from treeline.service.cli.options import index_options, settings_for

DEPTH = 100
# Rows per slice: exact search over all vectors at once would take gigabytes.
SLICE = 20_000


@dataclass(frozen=True, slots=True)
class Times:
    """Percentiles in milliseconds."""

    p50: float
    p95: float
    count: int

    @classmethod
    def of(cls, milliseconds: Sequence[float]) -> Times:
        return cls(round(percentile(milliseconds, 0.5), 3), round(percentile(milliseconds, 0.95), 3), len(milliseconds))


def timed(work: Callable[[str], object], questions: Sequence[str], rounds: int) -> Times:
    """Time each question `rounds` times, after one round to warm up."""
    for question in questions:
        work(question)
    times = []
    for _ in range(rounds):
        for question in questions:
            begin = perf_counter()
            work(question)
            times.append((perf_counter() - begin) * 1000)
    return Times.of(times)


def keyword(engine: Engine, questions: Sequence[str], rounds: int) -> Times:
    """BM25, first 100, including the analysis of the question."""
    return timed(lambda question: engine.keyword(terms(question), DEPTH), questions, rounds)


def knn(engine: Engine, encoder: Encoder, questions: Sequence[str], rounds: int) -> tuple[Times, float]:
    """The 100 nearest vectors without encoding, and their recall against exact search."""
    vectors = dict(zip(questions, encoder.encode_queries(questions), strict=True))
    times = timed(lambda question: engine.knn(vectors[question], DEPTH), questions, rounds)
    exact = exact_neighbours(engine, np.stack([vectors[question] for question in questions]))
    results = [{hit.id for hit in engine.knn(vectors[question], DEPTH)} for question in questions]
    return times, recall(results, exact)


def recall(found: Sequence[set[str]], exact: Sequence[set[str]]) -> float:
    shares = [len(some & true) / len(true) for some, true in zip(found, exact, strict=True) if true]
    return float(np.mean(shares)) if shares else 1.0


def exact_neighbours(engine: Engine, queries: Vectors) -> list[set[str]]:
    """The true 100 nearest of each query by cosine."""
    ids = [id_ for id_, _ in engine.addresses()]
    scores = np.empty((len(queries), len(ids)), dtype=np.float32)
    for start in range(0, len(ids), SLICE):
        rows = engine.vectors(ids[start : start + SLICE])
        scores[:, start : start + SLICE] = queries @ rows.T
    best = np.argpartition(-scores, min(DEPTH, len(ids)) - 1, axis=1)[:, :DEPTH]
    return [{ids[column] for column in row} for row in best]


def whole_search(searcher: Searcher, questions: Sequence[str], rounds: int, **switches: Any) -> dict[str, Times]:
    """A search as a user asks it: ten results with bodies, by stage and in total."""
    stages: dict[str, list[float]] = {}
    for round_number in range(rounds + 1):
        for question in questions:
            begin = perf_counter()
            answer = searcher.search(Query(question, feedback=False, **switches))
            times = {**answer.timings, "total": (perf_counter() - begin) * 1000}
            if round_number:  # the first round warms up
                for stage, milliseconds in times.items():
                    stages.setdefault(stage, []).append(milliseconds)
    return {stage: Times.of(times) for stage, times in stages.items()}


RAW_HITS = 300  # of each lane, as a search asks for
LIKE_RAW = 1.4  # goal: at most this many times as long as the raw requests


def beside_raw(searcher: Searcher, encoder: Encoder, questions: Sequence[str], rounds: int) -> Iterator[Line]:
    """Time a hybrid search and its two raw searches in one `_msearch`, in turn, so both see the same load."""
    from treeline.engine.elasticsearch import ElasticsearchEngine

    engine = searcher.engine
    assert isinstance(engine, ElasticsearchEngine)
    vectors = encoder.encode_queries(questions)
    times: dict[str, list[float]] = {"raw": [], "hybrid": []}
    processor = dict.fromkeys(times, 0.0)
    for round_number in range(rounds + 1):
        for question, vector in zip(questions, vectors, strict=True):
            query = Query(question, mode="hybrid", feedback=False, explain=False)  # as the API asks
            calls: dict[str, Callable[[], object]] = {
                "raw": partial(engine.raw, terms(question), vector, RAW_HITS),
                "hybrid": partial(searcher.search, query),
            }
            for name, call in calls.items():
                begin, begin_processor = perf_counter(), process_time()
                call()
                if round_number:  # the first round warms up
                    times[name].append((perf_counter() - begin) * 1000)
                    processor[name] += (process_time() - begin_processor) * 1000
    raw, hybrid = Times.of(times["raw"]), Times.of(times["hybrid"])
    yield from _percentiles("both searches in a raw _msearch", raw)
    yield from _percentiles("hybrid search beside it", hybrid, 25.0, 50.0)
    yield Line("hybrid / raw, p50", round(hybrid.p50 / raw.p50, 2), "", LIKE_RAW)
    yield Line("hybrid / raw, p95", round(hybrid.p95 / raw.p95, 2), "", LIKE_RAW)
    for name, milliseconds in processor.items():
        yield Line(f"{name}, processor time here", round(milliseconds / len(times[name]), 2), "ms a question")
    yield Line("load of the machine, one minute", round(os.getloadavg()[0], 1), f"{os.cpu_count()} cores")


def encoding(engine: Engine, encoder: Encoder, questions: Sequence[str], functions: int = 2_000) -> dict[str, float]:
    """Questions and functions encoded per second on one thread."""
    single = timed(lambda question: encoder.encode_queries([question]), questions, 3)
    some = []
    for function in engine.scan():
        some.append(function)
        if len(some) == functions:
            break
    encoder.encode_functions(some[:64])
    begin = perf_counter()
    encoder.encode_functions(some)
    times = perf_counter() - begin
    return {"one question, p50 ms": single.p50, "functions per second": round(len(some) / times)}


def tree(engine: Engine, questions: Sequence[str]) -> dict[str, float]:
    """Time to build and embed the whole tree, and the query-local tree of each question."""
    from treeline.graph import embedding, global_embedding
    from treeline.graph import tree as whole
    from treeline.graph.local_tree import local_tree

    begin = perf_counter()
    grown = whole.grow(engine.addresses())
    build = perf_counter()
    global_embedding.embed_whole(grown)
    embeddings = perf_counter()
    local = []
    for question in questions:
        addresses = [hit.address for hit in engine.keyword(terms(question), DEPTH)]
        if not addresses:
            continue
        start = perf_counter()
        small = local_tree(addresses)
        embedding.embed(small.parents, small.weights)
        local.append((perf_counter() - start) * 1000)
    times = Times.of(local)
    return {
        "nodes": len(grown),
        "tree built, s": round(build - begin, 3),
        "whole tree embedded, s": round(embeddings - build, 3),
        "query-local tree embedded, p50 ms": times.p50,
        "query-local tree embedded, p95 ms": times.p95,
    }


COLD_STARTS = 5


@dataclass(frozen=True, slots=True)
class Line:
    """One figure, its unit and its goal."""

    name: str
    value: float
    unit: str
    goal: float | None = None
    less_is_better: bool = True

    @property
    def met(self) -> bool | None:
        if self.goal is None:
            return None
        return self.value <= self.goal if self.less_is_better else self.value >= self.goal


@click.command
@index_options
@click.option(
    "--source", default="", metavar="SOURCE", help="Also measure indexing this source, into a temporary index."
)
@click.option(
    "--rounds", default=3, show_default=True, type=click.IntRange(1), help="How often each question is asked."
)
@JSON
def command(engine: str | None, name: str, source: str, rounds: int, json_file: str) -> None:
    """Measure the speed and memory of indexing and searching, stage by stage."""
    report = Report(json_file)
    report.write(in_process(settings_for(engine, name), source, rounds, report.console))


def in_process(settings: Settings, source: str, rounds: int, console: Console) -> dict[str, Any]:
    """Measure indexing, if a source is given, then searching."""
    lines: list[Line] = []

    def add(found: Iterator[Line]) -> None:
        for line in found:
            lines.append(line)
            console.print(_format_line(line), soft_wrap=True)

    if source:
        add(indexing(source, settings))
    questions = bench_questions()
    searcher = open_searcher(settings)
    try:
        info = searcher.info
        console.print(f"index {info.name}: {info.functions:,} functions, {info.engine}; {len(questions)} questions")
        add(searching(searcher, questions, rounds))
    finally:
        searcher.close()
    add(cold_start(settings, questions))
    return {
        "bench": "in process",
        "index": {"name": info.name, "engine": info.engine, "functions": info.functions},
        "encoders": [asdict(spec) for spec in info.encoders],
        "lines": [{**asdict(line), "met": line.met} for line in lines],
    }


def indexing(source: str, settings: Settings) -> Iterator[Line]:
    """Index the source end to end in a separate process, so that its memory is measured alone."""
    with tempfile.TemporaryDirectory(prefix="treeline-bench-") as folder:
        begin = perf_counter()
        process = _treeline(replace(settings, home=folder), "index", source, "--name", "bench", "--json")
        seconds = perf_counter() - begin
        summary = orjson.loads(process)
    yield Line("index, end to end", round(summary["indexed"] / seconds), "functions/s", 1_500, less_is_better=False)
    yield Line("index, peak memory", summary["peak_memory_mb"], "MB", 3_000)
    for stage, times in summary["seconds"].items():
        yield Line(f"index, {stage}", round(times, 2), "s")


def searching(searcher: LiveSearcher, questions: Sequence[str], rounds: int) -> Iterator[Line]:
    """The lanes alone, the whole search by stage, the encoder and the tree."""
    with searcher.searcher() as current:
        engine = current.engine
        bm25 = keyword(engine, questions, rounds)
        yield from _percentiles("BM25, top 100", bm25, 3.0)
        if engine.info.encoders:
            encoder = load(engine.info.encoders[0].name)
            assert encoder is not None
            times, results = knn(engine, encoder, questions, rounds)
            yield from _percentiles("kNN, top 100", times, 5.0)
            yield Line("kNN, recall@100 against exact", round(results, 4), "", 0.95, less_is_better=False)
            for what, value in encoding(engine, encoder, questions).items():
                yield Line(f"encoder, {what}", value, "")
            if engine.info.engine == "elasticsearch":
                yield from beside_raw(current, encoder, questions, rounds)
        for stage, durations in whole_search(current, questions, rounds).items():
            goals = {"total": (10.0, 25.0), "rerank": (4.0, None)}.get(stage, (None, None))
            yield from _percentiles(f"search, {stage}", durations, *goals)
        for what, value in tree(engine, questions).items():
            yield Line(f"tree, {what}", value, "", 5.0 if what == "whole tree embedded, s" else None)


def cold_start(settings: Settings, questions: Sequence[str]) -> Iterator[Line]:
    """`treeline search` in a new process, as the shell sees it."""
    times = []
    for question in questions[:COLD_STARTS]:
        begin = perf_counter()
        _treeline(settings, "search", question, "--name", settings.index, "--json")
        times.append((perf_counter() - begin) * 1000)
    yield Line("cold start of treeline search, p50", Times.of(times).p50, "ms", 1_000)


def _treeline(settings: Settings, *arguments: str) -> bytes:
    environment = {
        **os.environ,
        "TREELINE_HOME": str(settings.home_path),
        "TREELINE_ENGINE": settings.engine,
        "TREELINE_ENCODER": settings.encoder,
    }
    command = [sys.executable, "-m", "treeline.service.cli", *arguments]
    process = subprocess.run(command, capture_output=True, env=environment, check=False)
    if process.returncode:
        said = process.stderr.decode("utf-8", "replace").strip().splitlines()
        raise InputError(f"treeline {arguments[0]} failed: {said[-1] if said else 'no word'}")
    return process.stdout


def _percentiles(name: str, times: Times, p50: float | None = None, p95: float | None = None) -> Iterator[Line]:
    yield Line(f"{name}, p50", times.p50, "ms", p50)
    yield Line(f"{name}, p95", times.p95, "ms", p95)


def _format_line(line: Line) -> str:
    verdict = {None: "", True: "[green]met[/green]", False: "[red]missed[/red]"}[line.met]
    goal = f"[dim]goal {'≤' if line.less_is_better else '≥'} {line.goal:,g}[/dim]" if line.goal is not None else ""
    return f"{line.name:<38} {line.value:>9,g} {line.unit:<11} {goal} {verdict}".rstrip()  # fits in 80 columns


if __name__ == "__main__":
    main(command)
