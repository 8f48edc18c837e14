"""An index that another version of Treeline wrote: said in words, no obstacle to the others, made anew when loaded."""

import re
from pathlib import Path
from time import monotonic, sleep

import orjson
import pytest
from click.testing import CliRunner

from tests.ingest.loading import project
from treeline.corpus.errors import EncoderMismatch, IndexOutdated
from treeline.engine.embedded import EmbeddedStore
from treeline.engine.embedded.manifest import write_manifest
from treeline.search.settings import Settings, from_environment
from treeline.service.app import create_app
from treeline.service.cli import doctor, index, search, status
from treeline.service.cli.index import make_first_index

FILES = {"numbers.py": "def add_one(number):\n    return number + 1\n"}


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Two indexes of it, the second written by a later version."""
    monkeypatch.setenv("TREELINE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TREELINE_INDEX", "default")
    monkeypatch.setenv("TREELINE_ENCODER", "none")
    folder = str(project(tmp_path / "demo", FILES))
    for name in ("good", "default"):
        CliRunner().invoke(index.index, [folder, "--name", name], catch_exceptions=False)
    age(tmp_path / "home" / "default" / "000001" / "info.json")
    return folder


def age(info: Path) -> None:
    info.write_bytes(orjson.dumps(orjson.loads(info.read_bytes()) | {"format": 99}))
    write_manifest(info.parent)


def test_bringing_it_up_to_date_is_refused_with_the_way_out(source: str) -> None:
    with pytest.raises(IndexOutdated, match=r"format 99.*--fresh"):
        CliRunner().invoke(index.index, [source], catch_exceptions=False)


def test_its_status_does_not_hide_the_others(source: str) -> None:
    told = CliRunner().invoke(status.status, [], catch_exceptions=False).output
    assert "default: " in told and "another version" in told
    assert told.count(f"  source {source}\n") == 2  # also of the one to be made anew
    assert "good: 2 units, 1 repository" in told


def test_made_afresh_it_is_not_gone_back_from(source: str, tmp_path: Path) -> None:
    CliRunner().invoke(index.index, [source, "--fresh"], catch_exceptions=False)
    store = EmbeddedStore(tmp_path / "home")
    assert [info.generation for info in store.generations("default")] == ["000002"]
    with pytest.raises(Exception, match="no generation before"):
        store.roll_back("default")
    assert store.prune("default", keep=1) == ["000001"]


def test_a_server_makes_it_anew_from_what_it_was_made_of(source: str, tmp_path: Path) -> None:
    settings = Settings(home=str(tmp_path / "home"), encoder="none")
    other = str(project(tmp_path / "other", {"words.py": "def shout(word):\n    return word.upper()\n"}))
    store = EmbeddedStore(tmp_path / "home")
    for _ in range(2):
        make_first_index(settings, (other,))  # for where there is no index at all
        assert store.current("default") == "000002"
        assert [address.func_name for _, address in store.open("default").addresses()] == ["add_one", "numbers.py"]


def test_with_the_encoder_of_another_version_it_is_told_and_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREELINE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TREELINE_INDEX", "default")
    folder = str(project(tmp_path / "demo", FILES))
    index_of_another_encoder(folder, tmp_path / "home")
    for command, asked in ((search.search, "add one"), (index.index, folder)):
        with pytest.raises(EncoderMismatch, match=r"with encoder 'static:0'.*--fresh"):
            CliRunner().invoke(command, [asked], catch_exceptions=False)
    assert "made with encoder 'static:0'" in CliRunner().invoke(doctor.doctor, []).output
    other = str(project(tmp_path / "other", {"words.py": "def shout(word):\n    return word.upper()\n"}))
    for _ in range(2):
        CliRunner().invoke(index.first_index, [other], catch_exceptions=False)
        assert EmbeddedStore(tmp_path / "home").current("default") == "000002"
        assert "add_one" in CliRunner().invoke(search.search, ["add one"], catch_exceptions=False).output


def test_a_server_answers_without_the_encoder_until_it_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREELINE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TREELINE_INDEX", "default")
    folder = str(project(tmp_path / "demo", FILES))
    index_of_another_encoder(folder, tmp_path / "home")
    client = create_app(from_environment()).test_client()
    answer = client.get("/api/search?q=add+one").get_json()
    assert [result["func_name"] for result in answer["results"]] == ["add_one", "numbers.py"]
    (left_out,) = answer["degraded"]
    assert left_out["lane"] == "dense"
    assert re.search(r"made with encoder 'static:0'.*--fresh", left_out["reason"])
    assert "static:0" in client.get("/search?q=add+one").get_data(as_text=True)
    assert client.get("/api/search?q=add+one&mode=dense").status_code == 503
    make_first_index(from_environment(), (folder,))
    patience = monotonic() + 120
    while monotonic() < patience:  # it looks for a new generation once a second
        answer = client.get("/api/search?q=add+one").get_json()
        if not answer["degraded"]:
            break
        sleep(0.1)
    assert answer["degraded"] == []
    assert client.get("/api/search?q=add+one&mode=dense").get_json()["results"]


def test_a_server_says_why_it_does_not_switch_to_one_that_it_cannot_read(source: str, tmp_path: Path) -> None:
    client = create_app(
        from_environment({"TREELINE_HOME": str(tmp_path / "home"), "TREELINE_INDEX": "good"})
    ).test_client()
    assert client.get("/api/status").get_json()["passed_over"] is None
    CliRunner().invoke(index.index, [source, "--name", "good", "--fresh"], catch_exceptions=False)
    age(tmp_path / "home" / "good" / "000002" / "info.json")
    patience = monotonic() + 120
    while monotonic() < patience:  # it looks for a new generation once a second
        told = client.get("/api/status").get_json()
        if told["passed_over"]:
            break
        sleep(0.1)
    assert told["index"]["generation"] == "000001"
    assert "another version of Treeline" in told["passed_over"]


def index_of_another_encoder(folder: str, home: Path) -> None:
    """An index that another version of Treeline made, with the encoder that it shipped."""
    CliRunner().invoke(index.index, [folder, "--encoder", "static"], catch_exceptions=False)
    info = home / "default" / "000001" / "info.json"
    info.write_bytes(re.sub(rb"static:\d+", b"static:0", info.read_bytes()))
    write_manifest(info.parent)
