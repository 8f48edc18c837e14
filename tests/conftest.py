"""What several rooms' tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.elasticsearch_server import Cluster, ServerMissing, running


@pytest.fixture(scope="session")
def elasticsearch_cluster() -> Iterator[Cluster]:
    """One real node without security, started when the first test asks for it."""
    try:
        with running() as cluster:
            yield cluster
    except ServerMissing as missing:
        pytest.skip(str(missing))
