"""What several rooms' tests share."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.elasticsearch_download import ServerMissing
from tests.elasticsearch_server import Cluster, running

# How long an example takes says more about a shared machine than about the code. The same examples every time: whether
# a change is sound must not be a matter of luck. `HYPOTHESIS_PROFILE=explore` looks for new ones.
UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("treeline", UNHURRIED, derandomize=True)
settings.register_profile("explore", UNHURRIED)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "treeline"))


@pytest.fixture(scope="session")
def elasticsearch_cluster() -> Iterator[Cluster]:
    """One real node without security, started when the first test asks for it."""
    try:
        with running() as cluster:
            yield cluster
    except ServerMissing as missing:
        pytest.skip(str(missing))
