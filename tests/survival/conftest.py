"""Clusters for the survival tests, shared by all tests of a module: they take the longest to start."""

from collections.abc import Iterator

import pytest

from tests.elasticsearch_download import BEFORE_NEWEST, VERSION, ServerMissing, fetch
from tests.elasticsearch_server import Cluster, running


def server_or_skip(version: str = VERSION) -> None:
    try:
        fetch(version)
    except ServerMissing as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="module")
def single_node() -> Iterator[Cluster]:
    server_or_skip()
    with running() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def three_nodes() -> Iterator[Cluster]:
    server_or_skip(BEFORE_NEWEST)
    with running(nodes=3, version=BEFORE_NEWEST) as cluster:
        yield cluster
