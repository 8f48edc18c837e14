"""The two engines rank alike: over the 99 questions on a slice of CodeSearchNet."""

import csv
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from tests.elasticsearch_server import Cluster
from treeline.corpus.analysis import analyse, terms
from treeline.corpus.function import Function
from treeline.encoder.registry import load
from treeline.engine.elasticsearch import ElasticsearchStore
from treeline.engine.embedded import EmbeddedStore
from treeline.engine.hits import Hit, Vectors
from treeline.engine.protocol import EncoderSpec, Engine, Store
from treeline.ingest.source import ReadOptions
from treeline.ingest.sources import open_source

SHARED = Path(__file__).parents[3] / "shared" / "codesearchnet"
FUNCTIONS = 20_000
BATCH = 1_000
K = 10
pytestmark = [pytest.mark.elasticsearch, pytest.mark.shared, pytest.mark.slow]


@pytest.fixture(scope="module")
def engines(
    elasticsearch_cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Engine, Engine]]:
    """The same functions in both."""
    if not SHARED.exists():
        pytest.skip(f"{SHARED} is not there")
    server = ElasticsearchStore(elasticsearch_cluster.urls)
    embedded = EmbeddedStore(tmp_path_factory.mktemp("agreement"))
    functions = list(islice(shared_functions(), FUNCTIONS))
    for store in (server, embedded):
        fill(store, functions)
    yield embedded.open("agreement"), server.open("agreement")
    server.drop("agreement")
    server.close()


def shared_functions() -> Iterator[Function]:
    for unit in open_source(f"codesearchnet:{SHARED}", ReadOptions()).units():
        for chunk in unit.chunks():
            yield from chunk.parse().functions


def fill(store: Store, functions: list[Function]) -> None:
    encoder = load("static")
    assert encoder is not None
    with store.begin("agreement", [EncoderSpec(encoder.name, encoder.dimension)], "f") as writer:
        for start in range(0, len(functions), BATCH):
            batch = functions[start : start + BATCH]
            writer.write(batch, [analyse(one) for one in batch], {encoder.name: encoder.encode_functions(batch)})
        assert writer.rejected == []
        writer.publish()


def questions() -> list[str]:
    with (SHARED / "queries.csv").open(encoding="utf-8") as file:
        return [row["query"] for row in csv.DictReader(file)]


def overlap(ours: Sequence[Hit], theirs: Sequence[Hit]) -> float:
    """Share of the first ten that both have."""
    if not ours:
        return float(not theirs)
    return len({hit.id for hit in ours} & {hit.id for hit in theirs}) / len(ours)


Lane = Callable[[Engine, str, Vectors], Sequence[Hit]]


@pytest.mark.parametrize(
    ("lane", "share"),
    [
        (lambda engine, text, _: engine.keyword(terms(text), K), 0.99),
        (lambda engine, _, vector: engine.knn(vector, K), 0.97),
        (lambda engine, text, _: engine.fuzzy(text, K), 0.8),
    ],
    ids=["keyword", "dense", "fuzzy"],
)
def test_searches_agree(engines: tuple[Engine, Engine], lane: Lane, share: float) -> None:
    embedded, server = engines
    encoder = load("static")
    assert encoder is not None
    asked = list(zip(questions(), encoder.encode_queries(questions()), strict=True))
    shares = [overlap(lane(embedded, *one), lane(server, *one)) for one in asked]
    print(f"overlap@{K}: {np.mean(shares):.4f}, worst {min(shares):.2f}")
    assert np.mean(shares) >= share


def test_keyword_scores_are_the_same(engines: tuple[Engine, Engine]) -> None:
    embedded, server = engines
    for question in questions():
        ours = {hit.id: hit.score for hit in embedded.keyword(terms(question), K)}
        theirs = {hit.id: hit.score for hit in server.keyword(terms(question), K)}
        for id in ours.keys() & theirs.keys():
            assert ours[id] == pytest.approx(theirs[id], rel=0.001)
