"""Both engines' stores, so that every claim is tested on each."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.elasticsearch_server import Cluster
from tests.engine.functions import build, function
from treeline.engine.embedded import EmbeddedStore
from treeline.engine.protocol import Engine, Store


@pytest.fixture(params=["embedded", pytest.param("elasticsearch", marks=pytest.mark.elasticsearch)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if request.param == "embedded":
        yield EmbeddedStore(tmp_path / "home")
        return
    from treeline.engine.elasticsearch import ElasticsearchStore

    cluster: Cluster = request.getfixturevalue("elasticsearch_cluster")
    server = ElasticsearchStore(cluster.urls)
    yield server
    server.close()


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


@pytest.fixture(scope="module", params=["embedded", pytest.param("elasticsearch", marks=pytest.mark.elasticsearch)])
def paths_engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """A unit in each of some paths of all roles, indexed and open."""
    from tests.engine.test_contract_search import PATHS

    store: Store = EmbeddedStore(tmp_path_factory.mktemp("paths"))
    if request.param == "elasticsearch":
        from treeline.engine.elasticsearch import ElasticsearchStore

        cluster: Cluster = request.getfixturevalue("elasticsearch_cluster")
        store = ElasticsearchStore(cluster.urls)
    name = f"test-{uuid.uuid4().hex[:12]}"
    build(store, name, [function(f"f{number}", path=path, line=number + 1) for number, path in enumerate(PATHS)])
    opened = store.open(name)
    yield opened
    opened.close()
    store.drop(name)
