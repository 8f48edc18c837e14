"""The application over a small real index, and a client for it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from apiflask import APIFlask
from flask.testing import FlaskClient

from tests.conftest import TIMEOUT
from tests.service.web.library import INDEX, make_library
from treeline.search.settings import Settings
from treeline.service.app import create_app


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the index; tests that write make a copy of it."""
    home = tmp_path_factory.mktemp("library") / "home"
    make_library(home)
    return home


@pytest.fixture(scope="session")
def make_app() -> Iterator[Callable[[Settings], APIFlask]]:
    """Applications that wait for their lanes on a busy machine, and are closed at the end."""
    made: list[APIFlask] = []

    def make(settings: Settings) -> APIFlask:
        made.append(create_app(replace(settings, lane_timeout=TIMEOUT)))
        return made[-1]

    yield make
    for app in made:
        app.extensions["treeline"].close()


@pytest.fixture(scope="session")
def shared_app(library: Path, make_app: Callable[[Settings], APIFlask]) -> APIFlask:
    """One application for all tests that only read."""
    return make_app(Settings(home=str(library), index=INDEX, feedback=False))


@pytest.fixture
def client(shared_app: APIFlask) -> FlaskClient:
    return shared_app.test_client()


@pytest.fixture
def own_home(library: Path, tmp_path: Path) -> Path:
    home = tmp_path / "home"
    shutil.copytree(library, home)
    return home


@pytest.fixture
def app(own_home: Path, make_app: Callable[[Settings], APIFlask]) -> APIFlask:
    """An application of the test's own, with feedback."""
    return make_app(Settings(home=str(own_home), index=INDEX))
