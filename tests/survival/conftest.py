"""Clusters for the survival tests, shared by all tests of a module: they take the longest to start."""

from collections.abc import Iterator

import pytest

from tests.elasticsearch_download import ServerMissing, fetch
from tests.elasticsearch_server import Cluster, running


def server_or_skip() -> None:
    try:
        fetch()
    except ServerMissing as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="module")
def single_node() -> Iterator[Cluster]:
    server_or_skip()
    with running() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def three_nodes() -> Iterator[Cluster]:
    server_or_skip()
    with running(nodes=3) as cluster:
        yield cluster
