"""What several rooms' tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.elasticsearch_server import Cluster, ServerMissing, running

# How long an example takes says more about a shared machine than about the code.
settings.register_profile("treeline", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("treeline")


@pytest.fixture(scope="session")
def elasticsearch_cluster() -> Iterator[Cluster]:
    """One real node without security, started when the first test asks for it."""
    try:
        with running() as cluster:
            yield cluster
    except ServerMissing as missing:
        pytest.skip(str(missing))
