"""Both engines' stores, so that every claim is tested on each."""

import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.elasticsearch_server import Cluster
from tests.engine.functions import build, function
from treeline.engine.embedded import EmbeddedStore
from treeline.engine.protocol import Engine, Store

ENGINES = [
    "embedded",
    pytest.param("elasticsearch", marks=pytest.mark.elasticsearch),
    pytest.param("newest_elasticsearch", marks=[pytest.mark.elasticsearch, pytest.mark.slow]),
]


@pytest.fixture(params=ENGINES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    yield from _stores(request, tmp_path / "home")


def _stores(request: pytest.FixtureRequest, folder: Path) -> Iterator[Store]:
    if request.param == "embedded":
        yield EmbeddedStore(folder)
        return
    from treeline.engine.elasticsearch import ElasticsearchStore

    cluster: Cluster = request.getfixturevalue(f"{request.param}_cluster")
    with closing(ElasticsearchStore(cluster.urls)) as server:
        yield server


@pytest.fixture
def name(store: Store) -> Iterator[str]:
    """The name of an index that nobody else uses; dropped in the end."""
    name = f"test-{uuid.uuid4().hex[:12]}"
    yield name
    if name in store.names():
        store.drop(name)


@pytest.fixture
def engine(store: Store, name: str) -> Iterator[Engine]:
    """The sample, indexed and open."""
    build(store, name)
    opened = store.open(name)
    yield opened
    opened.close()


@pytest.fixture(scope="module", params=ENGINES)
def paths_engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """A unit in each of some paths of all roles, indexed and open."""
    from tests.engine.test_contract_search import PATHS

    for store in _stores(request, tmp_path_factory.mktemp("paths")):
        name = f"test-{uuid.uuid4().hex[:12]}"
        build(store, name, [function(f"f{number}", path=path, line=number + 1) for number, path in enumerate(PATHS)])
        opened = store.open(name)
        yield opened
        opened.close()
        store.drop(name)
