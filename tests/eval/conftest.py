"""A small index over a few modules of the standard library, made once for the evaluation's tests."""

import shutil
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

from treeline.eval.indexes import source_searcher
from treeline.search.live import LiveSearcher
from treeline.search.settings import Settings

MODULES = ("textwrap.py", "heapq.py", "colorsys.py", "fnmatch.py", "bisect.py", "statistics.py", "shutil.py")


@pytest.fixture(scope="session")
def small_source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("source") / "library"
    folder.mkdir()
    for module in MODULES:
        shutil.copy(Path(sysconfig.get_paths()["stdlib"]) / module, folder / module)
    return folder


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="session")
def searcher(small_source: Path, home: Path) -> Iterator[LiveSearcher]:
    opened = source_searcher("small", str(small_source), Settings(home=str(home)))
    yield opened
    opened.close()
