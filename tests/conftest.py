"""What several rooms' tests share."""

import logging
import os
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.elasticsearch_download import NEWEST, VERSION, ServerMissing
from tests.elasticsearch_server import Cluster, running
from treeline.search import plan

# How long an example takes says more about a shared machine than about the code. The same examples every time: whether
# a change is sound must not be a matter of luck. `HYPOTHESIS_PROFILE=explore` looks for new ones.
UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("treeline", UNHURRIED, derandomize=True)
settings.register_profile("explore", UNHURRIED)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "treeline"))

# Seconds that a lane and a look for near spellings may take: on a busy machine the defaults may be too few, and an
# answer without its dense lane is another answer. Tests of the time-outs set their own.
TIMEOUT = 30.0

# The client of a cluster that is away logs no tracebacks, as in the service: to place their carets Python 3.11 parses
# code, and it fails when two threads do that at once (python/cpython#106905). So `make test` also switches carets off.
logging.getLogger("elastic_transport").setLevel(logging.ERROR)

SHARED = ("docker", "elasticsearch")  # marks of tests that share a server

# Left out by `make test`, beside the tests that carry the mark `slow` themselves.
SLOW_FOLDERS = ("benchmarks", "fuzz", "lab/training", "survival")
SLOW_MARKS = ("docker", "transformers")


@pytest.fixture(scope="session", autouse=True)
def long_timeouts() -> Iterator[None]:
    """For commands, and for servers in processes of their own, by the environment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "SPELLING_TIMEOUT_S", TIMEOUT)
        patch.setenv("TREELINE_LANE_TIMEOUT", str(TIMEOUT))
        yield


@pytest.fixture(scope="session")
def elasticsearch_cluster() -> Iterator[Cluster]:
    """One real node without security, started when the first test asks for it; `ELASTICSEARCH_VERSION` chooses it."""
    yield from _started(os.environ.get("ELASTICSEARCH_VERSION", VERSION))


@pytest.fixture(scope="session")
def newest_elasticsearch_cluster() -> Iterator[Cluster]:
    """The same of the newest version, the default of compose; it needs a newer Java."""
    yield from _started(NEWEST)


def _started(version: str) -> Iterator[Cluster]:
    try:
        with running(version=version) as cluster:
            yield cluster
    except ServerMissing as missing:
        pytest.skip(str(missing))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave slow folders unread where nobody wants their tests: each process would import torch for them."""
    folder = collection_path.relative_to(Path(__file__).parents[1]).as_posix().removeprefix("tests/")
    return True if "not slow" in config.option.markexpr and folder in SLOW_FOLDERS else None


@pytest.hookimpl(tryfirst=True)  # before `-m` selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    folders = tuple(f"tests/{folder}/" for folder in SLOW_FOLDERS)
    for item in items:
        if item.nodeid.startswith(folders) or any(map(item.get_closest_marker, SLOW_MARKS)):
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Escape lone surrogates in what a test logged: xdist ends the whole run over one that it cannot send."""
    report = yield
    report.sections = [(title, text.encode("utf-8", "backslashreplace").decode()) for title, text in report.sections]
    return report


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Side by side (`-n 2 --dist loadgroup`), a file stays on one worker, and so do all tests of one shared server.

    The mark `xdist_group` would say so too, but xdist 3.8 loses it under pytest 9.2, which has no `_nodeid`.
    """
    if config.getvalue("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

    class Grouped(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return group_of(nodeid, config.rootpath)

    return Grouped(config, log)


def group_of(nodeid: str, root: Path) -> str:
    """The server that a test's file or parameter names, otherwise its file. Marks are known to the workers only."""
    file = nodeid.partition("::")[0]
    text = _text(root / file)
    return next((name for name in SHARED if f"mark.{name}" in text or name in nodeid.partition("[")[2]), file)


@cache
def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8")
