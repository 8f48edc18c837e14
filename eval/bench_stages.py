"""How fast each part is, in this process: text lane, vector lane, whole search by stage, encoder, tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from treeline.corpus.analysis import terms
from treeline.encoder.protocol import Encoder, Vectors
from treeline.engine.protocol import Engine
from treeline.eval.statistics import percentile
from treeline.search.query import Query
from treeline.search.searcher import Searcher

DEPTH = 100
# Exact search over more vectors than this at once would take gigabytes; the matrix is read in slices.
SLICE = 20_000


@dataclass(frozen=True, slots=True)
class Times:
    """Percentiles of one thing done many times, in milliseconds."""

    p50: float
    p95: float
    count: int

    @classmethod
    def of(cls, milliseconds: Sequence[float]) -> Times:
        return cls(round(percentile(milliseconds, 0.5), 3), round(percentile(milliseconds, 0.95), 3), len(milliseconds))


def timed(work: Callable[[str], object], questions: Sequence[str], rounds: int) -> Times:
    """Each question `rounds` times after one round to warm up."""
    for question in questions:
        work(question)
    spent = []
    for _ in range(rounds):
        for question in questions:
            begin = perf_counter()
            work(question)
            spent.append((perf_counter() - begin) * 1000)
    return Times.of(spent)


def keyword(engine: Engine, questions: Sequence[str], rounds: int) -> Times:
    """BM25, the first 100, analysis of the question included."""
    return timed(lambda question: engine.keyword(terms(question), DEPTH), questions, rounds)


def knn(engine: Engine, encoder: Encoder, questions: Sequence[str], rounds: int) -> tuple[Times, float]:
    """The 100 nearest vectors (encoding left out), and the share of the exact 100 that they contain."""
    vectors = dict(zip(questions, encoder.encode_queries(questions), strict=True))
    times = timed(lambda question: engine.knn(vectors[question], DEPTH), questions, rounds)
    exact = exact_neighbours(engine, np.stack([vectors[question] for question in questions]))
    found = [{hit.id for hit in engine.knn(vectors[question], DEPTH)} for question in questions]
    return times, recall(found, exact)


def recall(found: Sequence[set[str]], exact: Sequence[set[str]]) -> float:
    shares = [len(some & true) / len(true) for some, true in zip(found, exact, strict=True) if true]
    return float(np.mean(shares)) if shares else 1.0


def exact_neighbours(engine: Engine, queries: Vectors) -> list[set[str]]:
    """The true 100 nearest of each query by cosine, over every vector of the index."""
    ids = [id_ for id_, _ in engine.addresses()]
    scores = np.empty((len(queries), len(ids)), dtype=np.float32)
    for start in range(0, len(ids), SLICE):
        rows = engine.vectors(ids[start : start + SLICE])
        scores[:, start : start + SLICE] = queries @ rows.T
    best = np.argpartition(-scores, min(DEPTH, len(ids)) - 1, axis=1)[:, :DEPTH]
    return [{ids[column] for column in row} for row in best]


def whole_search(searcher: Searcher, questions: Sequence[str], rounds: int, **switches: Any) -> dict[str, Times]:
    """A search as a user asks it (10 results with bodies): every stage the answer reports, and the whole."""
    stages: dict[str, list[float]] = {}
    for round_number in range(rounds + 1):
        for question in questions:
            begin = perf_counter()
            answer = searcher.search(Query(question, feedback=False, **switches))
            spent = {**answer.timings, "total": (perf_counter() - begin) * 1000}
            if round_number:  # the first round warms up
                for stage, milliseconds in spent.items():
                    stages.setdefault(stage, []).append(milliseconds)
    return {stage: Times.of(spent) for stage, spent in stages.items()}


def encoding(engine: Engine, encoder: Encoder, questions: Sequence[str], functions: int = 2_000) -> dict[str, float]:
    """Questions and functions a second, one thread of Python, batches as the pipeline makes them."""
    single = timed(lambda question: encoder.encode_queries([question]), questions, 3)
    some = []
    for function in engine.scan():
        some.append(function)
        if len(some) == functions:
            break
    encoder.encode_functions(some[:64])
    begin = perf_counter()
    encoder.encode_functions(some)
    spent = perf_counter() - begin
    return {"one question, p50 ms": single.p50, "functions per second": round(len(some) / spent)}


def tree(engine: Engine, questions: Sequence[str]) -> dict[str, float]:
    """The whole tree built and embedded once, and per question the query-local one of what the keyword lane finds."""
    from treeline.graph import embedding, global_embedding
    from treeline.graph import tree as whole
    from treeline.graph.local_tree import local_tree

    begin = perf_counter()
    grown = whole.grow(engine.addresses())
    built = perf_counter()
    global_embedding.embed_whole(grown)
    embedded = perf_counter()
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
        "tree built, s": round(built - begin, 3),
        "whole tree embedded, s": round(embedded - built, 3),
        "query-local tree embedded, p50 ms": times.p50,
        "query-local tree embedded, p95 ms": times.p95,
    }
