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


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Side by side (`-n 2 --dist loadgroup`), a file stays on one worker, and so do all tests of one shared server."""
    if not config.pluginmanager.hasplugin("xdist"):
        return
    for item in items:
        shared = next((name for name in ("docker", "elasticsearch") if item.get_closest_marker(name)), "")
        item.add_marker(pytest.mark.xdist_group(shared or str(item.path)))
