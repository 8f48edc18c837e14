"""Deep vectors come later: in the background or by `treeline refine`, one process at a time, never in the way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.elasticsearch_server import Cluster
from tests.encoder.deep_model import write_model
from tests.ingest.loading import project
from treeline.corpus.errors import InputError
from treeline.engine.embedded.engine import EmbeddedEngine
from treeline.ingest import refine as ingest_refine
from treeline.ingest.project import find_project
from treeline.search.settings import Settings, from_environment, open_store
from treeline.service import refining
from treeline.service.app import create_app
from treeline.service.cli import cli

ROOT = Path(__file__).parent.parent.parent
FILES = {f"file{n}.py": f"def sell_{n}(count):\n    return count * PRICES[{n}]\n" for n in range(6)}
UNITS = 12  # a function and a file each
PATIENCE = 240.0  # seconds; only what hangs takes as long
# A background process that has the lock and will not end by itself.
IDLE = """
import os, sys, time
from treeline.search.settings import from_environment
from treeline.service import refining
settings = from_environment()
with refining._locked(settings):
    refining._write(settings, refining.Worker("some", 3, 9, os.getpid(), idle=True))
    print("locked", flush=True)
    time.sleep(600)
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("model"))


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project to ask in."""
    monkeypatch.setenv("TREELINE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    folder = project(tmp_path / "shop", FILES)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def refine_on(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREELINE_REFINE", str(model))


def treeline(*words: str) -> Result:
    result = CliRunner().invoke(cli, words)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.output
    return result


def settings_in(folder: Path) -> Settings:
    settings = from_environment()
    return replace(settings, index=find_project(folder, settings.home_path).index)


def state(settings: Settings) -> refining.RefinementState:
    found = refining.state(settings, settings.index)
    assert found is not None
    return found


def wait_for(what: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_nothing_is_refined_unless_the_setting_says_so(shop: Path) -> None:
    treeline("sell", "things")
    settings = settings_in(shop)
    assert settings.refine == "off"
    assert not (settings.home_path / ".run").exists()
    assert refining.state(settings, settings.index) is None
    assert json.loads(treeline("status", "--json").stdout)["indexes"][0]["refinement"] is None


def test_a_question_is_answered_at_once_and_refined_behind_its_back(shop: Path, refine_on: None) -> None:
    asked = [sys.executable, "-m", "treeline.service.cli", "sell", "things", "--json"]
    first = subprocess.run(asked, capture_output=True, check=True, timeout=PATIENCE)
    assert f"reading the code more closely in the background (0 of {UNITS} units done)" in first.stderr.decode()
    settings = settings_in(shop)
    wait_for(lambda: state(settings).refined == UNITS and not state(settings).running)
    wait_for(lambda: not refining._is_running(settings))
    assert f"refined by {settings.refine}" in treeline("status").output
    generation = open_store(settings).current(settings.index)
    again = subprocess.run(asked, capture_output=True, check=True, timeout=PATIENCE)
    assert again.stderr == b""  # neither refreshed nor refined again
    assert open_store(settings).current(settings.index) == generation
    assert {one["func_name"] for one in json.loads(again.stdout)["results"]} & {"sell_1", "sell_2"}


def test_an_edit_after_the_refinement_is_answered_at_once_and_refined_again(
    shop: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the foreground command, which uses the same code."""
    treeline("sell", "things")
    monkeypatch.setenv("TREELINE_REFINE", str(model))
    done = json.loads(treeline("refine", "--json").stdout)
    assert (done["refined"], done["units"], done["encoder"]) == (UNITS, UNITS, str(model))
    monkeypatch.setenv("TREELINE_REFINE", "off")
    project(shop, {"file0.py": "def buy(count):\n    return -count\n"})
    assert "buy" in treeline("buy", "a", "count").output
    settings = settings_in(shop)
    assert state(settings).refined == UNITS - 2
    assert f"refined: 10 of {UNITS} units" in treeline("status").output
    monkeypatch.setenv("TREELINE_REFINE", str(model))
    assert f"{UNITS} units refined" in treeline("refine").output
    assert state(settings).refined == UNITS


def test_refining_names_what_is_missing(shop: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREELINE_REFINE", str(model))
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    asked = treeline("sell", "things")
    assert "sell_1" in asked.output
    assert "is not refined: this needs onnxruntime" in asked.output
    assert not (settings_in(shop).home_path / ".run").exists()
    refused = CliRunner().invoke(cli, ["refine"]).exception
    assert isinstance(refused, InputError) and "treeline-search[deep]" in refused.hint
    assert "✗ refinement: this needs onnxruntime" in treeline("doctor").output
    assert "this needs onnxruntime" in state(settings_in(shop)).problem


def test_one_process_refines_and_the_command_takes_over_from_the_background(shop: Path, refine_on: None) -> None:
    settings = settings_in(shop)
    other = subprocess.Popen([sys.executable, "-c", IDLE], stdout=subprocess.PIPE)
    try:
        assert other.stdout is not None and other.stdout.readline() == b"locked\n"
        asked = treeline("sell", "things")
        assert "in the background" in asked.output  # which goes on to this index afterwards
        worker = [sys.executable, "-m", "treeline.service.cli", "refine", "--idle", "--name", settings.index]
        subprocess.run(worker, check=True, timeout=PATIENCE)
        assert state(settings).refined == 0 and other.poll() is None
        assert f"{UNITS} units refined" in treeline("refine").output
        assert other.wait(PATIENCE) == -signal.SIGTERM
    finally:
        other.kill()
        other.wait()
        other.stdout.close() if other.stdout else None


def test_a_load_ends_the_refinement_of_its_index_and_of_no_other(shop: Path, refine_on: None) -> None:
    for index, ended in (("other", False), ("some", True)):
        other = subprocess.Popen([sys.executable, "-c", IDLE], stdout=subprocess.PIPE)
        try:
            assert other.stdout is not None and other.stdout.readline() == b"locked\n"
            refining.make_way(from_environment(), index)
            assert other.wait(PATIENCE) == -signal.SIGTERM if ended else other.poll() is None
        finally:
            other.kill()
            other.wait()
            other.stdout.close() if other.stdout else None


def test_two_commands_do_not_end_each_other(shop: Path, refine_on: None) -> None:
    settings = from_environment()
    with refining._locked(settings):
        refining._write(settings, refining.Worker("some", process=os.getpid()))
        refused = CliRunner().invoke(cli, ["refine"]).exception
    assert isinstance(refused, InputError) and "another process refines" in refused.message


def test_the_background_process_goes_on_with_the_other_indexes(
    shop: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    treeline("sell", "things")
    treeline("index", str(shop), "--name", "named", "--workers", "0")
    treeline("index", str(shop), "--name", "bare", "--encoder", "none", "--workers", "0")
    monkeypatch.setenv("TREELINE_REFINE", str(model))
    worker = [sys.executable, "-m", "treeline.service.cli", "refine", "--idle", "--name", "named"]
    subprocess.run(worker, check=True, timeout=PATIENCE)
    settings = settings_in(shop)
    assert state(settings).refined == state(replace(settings, index="named")).refined == UNITS
    assert refining.state(settings, "bare") is None


def test_the_page_and_the_api_show_how_far_it_is(shop: Path, model: Path) -> None:
    treeline("sell", "things")
    settings = replace(settings_in(shop), refine=str(model))
    client = create_app(settings).test_client()
    # A busy machine may need a second request: the front page waits 1.5 s for its figures.
    wait_for(lambda: "0 of 12 parts have been read more closely" in client.get("/").text)
    with refining._locked(settings):
        refining._write(settings, refining.Worker(settings.index, 7, UNITS, os.getpid(), idle=True))
        wait_for(lambda: "7 of 12 parts so far" in client.get("/").text)
        body = client.get("/api/status").get_json()["refinement"]
        assert (body["running"], body["read"], body["refined"], body["units"]) == (True, 7, 0, UNITS)
        shown = CliRunner(env={"TREELINE_REFINE": str(model)}).invoke(cli, ["status"]).output
        assert "refining: 7 of 12 units read" in shown
    assert refining.run(settings, settings.index, lambda *_: None).is_complete
    assert "parts have been read" not in client.get("/").text


def test_units_that_cannot_be_read_are_said_by_the_command_and_the_status(
    shop: Path, refine_on: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(EmbeddedEngine, "fetch", lambda *_: [])
    said = f"{UNITS} units cannot be read from the index"
    assert said in treeline("refine").output
    assert f"refined: 0 of {UNITS} units ({said}" in treeline("status").output


def test_a_damaged_count_is_read_from_the_units_and_named(shop: Path, model: Path) -> None:
    treeline("sell", "things")
    settings = replace(settings_in(shop), refine=str(model))
    assert refining.run(settings, settings.index, lambda *_: None).is_complete
    store = open_store(settings)
    count = settings.home_path / settings.index / store.current(settings.index) / "artifacts" / ingest_refine.COUNT
    count.unlink()
    count.write_bytes(b"[")
    assert state(settings).refined == UNITS
    client = create_app(settings).test_client()
    assert client.get("/").status_code == 200
    assert client.get("/api/status").get_json()["refinement"]["refined"] == UNITS
    degraded = client.get("/api/search?q=sell").get_json()["degraded"]
    assert [one["reason"] for one in degraded] == [f"artifacts/{ingest_refine.COUNT}"]


@pytest.mark.elasticsearch
def test_an_index_on_elasticsearch_is_refined_behind_its_back_and_shown(
    shop: Path, refine_on: None, elasticsearch_cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREELINE_ENGINE", "elasticsearch")
    monkeypatch.setenv("TREELINE_ELASTICSEARCH_URL", elasticsearch_cluster.url)
    monkeypatch.setenv("TREELINE_INDEX", "shop")
    settings = from_environment()
    made = treeline("index", str(shop), "--workers", "0")
    assert f"reading the code more closely in the background (0 of {UNITS} units done)" in made.output
    wait_for(lambda: state(settings).refined == UNITS and not refining._is_running(settings))
    assert f"refined by {settings.refine}" in treeline("status").output
    assert "parts have been read" not in create_app(settings).test_client().get("/").text
    monkeypatch.setenv("TREELINE_REFINE", "off")
    project(shop, {"file0.py": "def buy(count):\n    return -count\n"})
    treeline("index", str(shop), "--workers", "0")
    client = create_app(replace(settings, refine=str(settings.refine))).test_client()
    body = client.get("/api/status").get_json()["refinement"]
    assert (body["running"], body["refined"], body["units"]) == (False, UNITS - 2, UNITS)
    monkeypatch.setenv("TREELINE_REFINE", settings.refine)
    assert f"{UNITS} units refined" in treeline("refine", "--name", "shop").output
    assert refining.start(settings, "shop") == ""
    open_store(settings).drop("shop")


@pytest.mark.skipif(not hasattr(os, "SCHED_IDLE"), reason="the system has no idle priority")
def test_reading_is_idle_and_the_rest_of_the_process_is_not() -> None:
    assert ingest_refine.run_idle(lambda: os.sched_getscheduler(0)) == os.SCHED_IDLE
    assert os.sched_getscheduler(0) == os.SCHED_OTHER
    with pytest.raises(ZeroDivisionError):
        ingest_refine.run_idle(lambda: 1 // 0)
