"""A repository answers alike from either engine: kinds, phrases, patterns, names, paths, members, calls, shapes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.elasticsearch_server import Cluster
from treeline.corpus.analysis import terms
from treeline.corpus.function import Function
from treeline.encoder.registry import load as load_encoder
from treeline.engine.elasticsearch import ElasticsearchStore
from treeline.engine.embedded import EmbeddedStore
from treeline.engine.hits import Hit
from treeline.engine.protocol import NO_FILTERS, Engine, Filters
from treeline.ingest.pipeline import LoadOptions, load
from treeline.ingest.source import ReadOptions
from treeline.ingest.sources import open_source
from treeline.search.answer import Result
from treeline.search.executor import Inline
from treeline.search.query import Query
from treeline.search.searcher import Searcher
from treeline.search.settings import Settings

NAME = "agree"
ROOT = Path(__file__).parents[2]
SOURCES = (ROOT / "engine", ROOT / "docs" / "how-to")  # small ones of our own: this project's engine room, and guides
QUESTIONS = [
    "take over the writing of an index",
    "rows of length one",
    "kind:class one open generation of an index",
    "kind:constant seconds without a heartbeat",
    "kind:file bulk requests",
    "kind:section back up and restore a snapshot",
    "how do I make an API key",
    '"without a heartbeat"',
    '"raise EngineUnavailable"',
    "/forcemerge\\(/",
    "/def _[a-z]+_of/",
    "lease.py",
    "elasticsearch/columns",
    "path:embedded merge tables",
    "ElasticsearchWriter.publish",
    "flip_alias",
    "required_literals",
    "nomalize vectors",
    "writer",
    "what calls await_shards",
    "what does publish call",
    "what uses POINTER_SECONDS",
    "what extends Sequence",
    "recursive function that walks a tree",
    "function that retries with a pause",
    "nested loops over the rows",
    "function that raises EngineUnavailable",
]
KINDS = ("function", "method", "class", "constant", "file", "section")
LIKE = 40  # questions for each kind: what its units say of themselves
K = 10
pytestmark = pytest.mark.elasticsearch


@pytest.fixture(scope="module")
def engines(
    elasticsearch_cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Engine, Engine]]:
    """The same repository in both."""
    home = tmp_path_factory.mktemp("agree")
    server, embedded = ElasticsearchStore(elasticsearch_cluster.urls), EmbeddedStore(home / "home")
    for store in (embedded, server):
        options = LoadOptions(work=home / store.__class__.__name__, workers=0, fresh=True)
        load(store, NAME, [open_source(str(folder), ReadOptions()) for folder in SOURCES], options)
    opened = embedded.open(NAME), server.open(NAME)
    yield opened
    for engine in opened:
        engine.close()
    server.drop(NAME)
    server.close()


@pytest.fixture(scope="module")
def searchers(engines: tuple[Engine, Engine]) -> tuple[Searcher, Searcher]:
    encoders = {spec.name: load_encoder(spec.name) for spec in engines[0].info.encoders}
    given = {name: encoder for name, encoder in encoders.items() if encoder is not None}
    one, other = (Searcher(engine, given, Settings(), executor=Inline()) for engine in engines)
    return one, other


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_first_ten_are_the_same(searchers: tuple[Searcher, Searcher], question: str) -> None:
    ours, theirs = ([shown(one) for one in searcher.search(Query(question)).results] for searcher in searchers)
    assert ours
    assert len({row[0] for row in ours} & {row[0] for row in theirs}) >= 0.9 * len(ours), question
    assert ours[0] == theirs[0], question


def shown(result: Result) -> tuple[str, tuple[str, ...]]:
    """A result by its id, with the members listed under it."""
    return result.function.id, tuple(member.id for member in result.members)


@pytest.mark.parametrize("kind", KINDS)
def test_both_lanes_agree_on_every_kind_of_unit(engines: tuple[Engine, Engine], kind: str) -> None:
    embedded, _ = engines
    said = sorted({said_first(unit) for unit in embedded.scan() if unit.kind == kind})
    asked = said[:: max(1, len(said) // LIKE)]
    assert len(asked) > 10
    [spec] = embedded.info.encoders
    encoder = load_encoder(spec.name)
    assert encoder is not None
    for filters in (NO_FILTERS, Filters(kind=kind)):
        keyword = [overlap(*(one.keyword(terms(text), K, filters) for one in engines)) for text in asked]
        vectors = encoder.encode_queries(asked)
        dense = [overlap(*(one.knn(vector, K, filters) for one in engines)) for vector in vectors]
        print(f"{kind} {filters.kind or 'of all'}: keyword {np.mean(keyword):.4f}, dense {np.mean(dense):.4f}")
        assert np.mean(keyword) >= 0.99
        assert np.mean(dense) >= 0.97


def said_first(unit: Function) -> str:
    """A unit's name, and the first line of what is said of it."""
    return f"{unit.func_name} {unit.docstring.strip().partition(chr(10))[0]}"[:200]


def overlap(ours: Sequence[Hit], theirs: Sequence[Hit]) -> float:
    """Share of the first ten that both have; which of several with the tenth's score they take is chance."""
    if not ours or not theirs:
        return float(not ours and not theirs)
    known, last = {hit.id for hit in theirs}, theirs[-1].score
    return sum(hit.id in known or hit.score == pytest.approx(last, rel=1e-4) for hit in ours) / len(ours)


def test_structural_questions_have_the_same_exact_answer(searchers: tuple[Searcher, Searcher]) -> None:
    for question in ("what calls await_shards", "what does publish call", "what extends Sequence"):
        ours, theirs = (searcher.search(Query(question)) for searcher in searchers)
        assert ours.exact is not None, question
        assert ours.exact == theirs.exact
        assert [shown(one) for one in ours.results] == [shown(one) for one in theirs.results], question


def test_the_engines_hold_the_same_units(engines: tuple[Engine, Engine]) -> None:
    embedded, server = engines
    assert embedded.facets() == server.facets()
    assert embedded.count(Filters(kind="class")) == server.count(Filters(kind="class")) > 5
    assert dict(embedded.addresses()) == dict(server.addresses())


TEXTS = [
    "without a heartbeat",
    "ithout a heartb",  # begins and ends inside words
    "raise EngineUnavailable(",
    "if not text",
    "for one in",
    "self._client",
    "raise",
    "index_name(",
    "Hits",
]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("kind", ["", "class", "function,method"])
def test_a_phrase_finds_the_same_units_in_the_same_order(engines: tuple[Engine, Engine], text: str, kind: str) -> None:
    ours, theirs = ([hit.id for hit in engine.phrase(text, 10, Filters(kind=kind))] for engine in engines)
    assert ours == theirs


@pytest.mark.parametrize(
    "pattern", [r"def _\w+_of", r"\bINDEX\b", r"forcemerge\(", r"^class \w+Writer", r"import (os|re)$"]
)
def test_a_pattern_finds_the_same_units_in_the_same_order(engines: tuple[Engine, Engine], pattern: str) -> None:
    ours, theirs = ([hit.id for hit in engine.regex(pattern, 10)] for engine in engines)
    assert ours == theirs
    assert ours
