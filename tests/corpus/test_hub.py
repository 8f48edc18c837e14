"""Models by name: local files first, a hub that is away is asked once and briefly, and nothing is logged of it."""

import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from huggingface_hub import constants

from tests.waiting import until
from treeline.corpus import hub
from treeline.corpus.hub import HubUnavailable, is_cached, load_model

really_ask = hub._ask


class Shelf:
    """Makes a model where it is allowed to look, and counts the attempts."""

    def __init__(self, *, local: bool, remote: bool) -> None:
        self._there = {True: local, False: remote}
        self.asked: list[bool] = []

    def __call__(self, local_files_only: bool) -> str:
        self.asked.append(local_files_only)
        logging.getLogger("huggingface_hub.utils").warning("Retrying in 1s [Retry 1/5].")
        if not self._there[local_files_only]:
            raise OSError("no such model")
        return "model"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A local cache where something of `some/model` is."""
    monkeypatch.delenv("SENTENCE_TRANSFORMERS_HOME", raising=False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    (tmp_path / "hub" / "models--some--model").mkdir(parents=True)
    return tmp_path


@pytest.fixture(autouse=True)
def heard(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """The hub: what it does when it is asked, by default nothing; nobody remembers it from another test."""
    monkeypatch.setattr(hub, "_away_since", None)
    monkeypatch.setattr(hub, "ANSWER_TIMEOUT_S", 0.05)
    asked: list[bool] = []
    monkeypatch.setattr(hub, "_ask", lambda event: asked.append(True))
    yield asked


def test_a_model_on_this_machine_needs_no_hub(heard: list[bool]) -> None:
    shelf = Shelf(local=True, remote=False)
    assert load_model("some/model", shelf) == "model"
    assert (shelf.asked, heard) == ([True], [])


def test_what_cannot_be_had_is_said_before_anything_is_loaded(cache: Path) -> None:
    shelf = Shelf(local=False, remote=True)
    with pytest.raises(HubUnavailable):
        load_model("other/model", shelf)
    assert shelf.asked == []


def test_a_hub_that_is_away_is_said_at_once_and_not_asked_again(
    heard: list[bool], caplog: pytest.LogCaptureFixture
) -> None:
    shelf = Shelf(local=False, remote=True)
    for _ in range(3):
        with pytest.raises(
            HubUnavailable, match=r"'some/model' is not on this machine and the model hub does not answer"
        ):
            load_model("some/model", shelf)
    until(lambda: heard == [True])  # the thread that asks may be slow to begin
    assert False not in shelf.asked
    assert not caplog.records


def test_a_hub_that_was_away_is_asked_again_later(heard: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    assert not hub.answers()
    monkeypatch.setattr(hub, "RETRY_SECONDS", 0.0)
    monkeypatch.setattr(hub, "ANSWER_TIMEOUT_S", 300.0)
    monkeypatch.setattr(hub, "_ask", threading.Event.set)
    assert load_model("some/model", Shelf(local=False, remote=True)) == "model"


def test_a_folder_without_a_model_is_never_looked_for_at_the_hub(heard: list[bool], tmp_path: Path) -> None:
    with pytest.raises(OSError, match="no such model"):
        load_model(str(tmp_path), Shelf(local=False, remote=True))
    with pytest.raises(OSError, match="no such model"):
        load_model(str(tmp_path / "nowhere"), Shelf(local=False, remote=True))
    assert heard == []


@pytest.fixture
def hub_of_errors() -> Iterator[str]:
    """A hub that answers, if only with an error."""
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        answering = threading.Thread(target=server.serve_forever)
        answering.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        answering.join()


def test_any_answer_is_an_answer_and_none_is_asked_for_offline(
    hub_of_errors: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "ANSWER_TIMEOUT_S", 300.0)
    monkeypatch.setattr(hub, "_ask", really_ask)
    monkeypatch.setattr(constants, "ENDPOINT", hub_of_errors)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    assert hub.answers()
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    begun = time.monotonic()
    assert not hub.answers()
    assert time.monotonic() - begun < 60  # its patience is for a hub that may still answer


def test_a_folder_of_sentence_transformers_own_is_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own" / "models--own--model").mkdir(parents=True)
    monkeypatch.setenv("SENTENCE_TRANSFORMERS_HOME", str(tmp_path / "own"))
    assert is_cached("own/model") and not is_cached("some/model")


@pytest.mark.parametrize(
    ("variable", "below"),
    [("HF_HUB_CACHE", ""), ("HUGGINGFACE_HUB_CACHE", ""), ("HF_HOME", "hub"), ("XDG_CACHE_HOME", "huggingface/hub")],
)
def test_the_cache_is_where_the_library_keeps_it(variable: str, below: str, tmp_path: Path) -> None:
    (tmp_path / "home" / below / "models--some--model").mkdir(parents=True)
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGINGFACE_", "XDG_"))}
    code = (
        "import sys; from treeline.corpus.hub import is_cached; print(is_cached('some/model'), 'torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=clean | {"HOME": str(tmp_path), variable: "~/home" if variable.startswith("HF_") else f"{tmp_path}/home"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["True", "False"]
