"""What several rooms' tests share."""

from __future__ import annotations

import logging
import os
import re
import traceback
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.elasticsearch_download import VERSION, ServerMissing
from tests.elasticsearch_server import Cluster, running
from treeline.corpus.errors import TreelineError
from treeline.search import plan
from treeline.search.settings import Settings

# How long an example takes says more about a shared machine than about the code. The same examples every time: whether
# a change is sound must not be a matter of luck. `HYPOTHESIS_PROFILE=explore` looks for new ones.
UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("treeline", UNHURRIED, derandomize=True)
settings.register_profile("explore", UNHURRIED)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "treeline"))

# Seconds that a lane and a look for near spellings may take: on a busy machine the defaults may be too few, and an
# answer without its dense lane is another answer. Tests of the time-outs set their own.
PATIENCE = 30.0

# Python 3.11 fails when two threads parse Python at once (python/cpython#106905): "AST constructor recursion depth
# mismatch". pytest, Hypothesis and Flask parse all the time, and a traceback does to find where its carets go. So
# tracebacks have none here, and the client of a cluster that is away logs none, as in the service.
traceback._extract_caret_anchors_from_line_segment = lambda _segment: None  # type: ignore[attr-defined]
logging.getLogger("elastic_transport").setLevel(logging.ERROR)

SHARED = ("docker", "elasticsearch")  # marks of tests that share a server


@pytest.fixture(scope="session", autouse=True)
def patient_searches() -> Iterator[None]:
    defaults = Settings.__init__.__kwdefaults__
    assert defaults is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "SPELLING_SECONDS", PATIENCE)
        patch.setitem(defaults, "lane_timeout", PATIENCE)
        yield


# How a hint begins. An error has two parts, what was wrong and what to do, and both are text: nothing else would notice
# if they changed places.
ADVICE = re.compile(
    "(?:add|ask|check|choose|correct|download|escape|give|install|leave|look|make|put|rebuild|rename|run|say|see|set|take"
    "|train|try|unpack|unset|use|wait|write) "
)


@pytest.fixture(scope="session", autouse=True)
def errors_say_first_what_was_wrong() -> Iterator[None]:
    make = TreelineError.__init__

    def checked(error: TreelineError, message: str, hint: str = "") -> None:
        assert not ADVICE.match(message), f"an error begins with what to do: {message}"
        make(error, message, hint)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TreelineError, "__init__", checked)
        yield


@pytest.fixture(scope="session")
def elasticsearch_cluster() -> Iterator[Cluster]:
    """One real node without security, started when the first test asks for it; `ELASTICSEARCH_VERSION` chooses it."""
    try:
        with running(version=os.environ.get("ELASTICSEARCH_VERSION", VERSION)) as cluster:
            yield cluster
    except ServerMissing as missing:
        pytest.skip(str(missing))


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
    return next((name for name in SHARED if f"mark.{name}" in text or f"[{name}" in nodeid), file)


@cache
def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8")
