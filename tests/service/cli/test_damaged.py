"""An index with a damaged file: said in words, no obstacle to the others, and a roll-back leads away from it."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.ingest.loading import project
from treeline.corpus.errors import TreelineError
from treeline.engine.embedded import EmbeddedStore
from treeline.service.cli import index, status

FILES = {"numbers.py": "def add_one(number):\n    return number + 1\n"}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two indexes, the second with two generations."""
    monkeypatch.setenv("TREELINE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TREELINE_ENCODER", "none")
    folder = str(project(tmp_path / "demo", FILES))
    for name in ("good", "hurt", "hurt"):
        CliRunner().invoke(index.index, [folder, "--name", name, "--fresh"], catch_exceptions=False)
    return tmp_path / "home"


def told() -> str:
    return CliRunner().invoke(status.status, [], catch_exceptions=False).output


@pytest.mark.parametrize(
    ("file", "left", "served"),
    [
        ("info.json", 0.5, "000001"),
        ("rows/id.npy", 0.0, "000001"),
        ("artifacts/embedding", 0.5, "000002"),
        ("artifacts/tree", 0.5, "000002"),
    ],
)
def test_its_status_does_not_hide_the_others(home: Path, file: str, left: float, served: str) -> None:
    damaged = home / "hurt" / "000002" / file
    data = damaged.read_bytes()
    damaged.write_bytes(data[: int(len(data) * left)])
    shown = told()
    assert "good: 2 functions, 1 repository" in shown
    assert "hurt: 2 functions, 1 repository" in shown
    assert re.search(rf"^  damage: .*{file} \(make it anew with", shown, re.MULTILINE)
    assert f"* {served}" in shown


def test_an_old_generation_does_not_hide_the_current_one(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    (home / "hurt" / "000001" / "info.json").write_text("{")
    shown = told()
    assert "hurt: 2 functions, 1 repository" in shown and "* 000002" in shown
    assert "generation 000001 of 'hurt' cannot be read" in caplog.text
    with pytest.raises(TreelineError, match="no generation before 000002"):
        EmbeddedStore(home).roll_back("hurt")


def test_a_roll_back_leads_away_from_it(home: Path) -> None:
    (home / "hurt" / "000002" / "info.json").write_text("[]")
    store = EmbeddedStore(home)
    with pytest.raises(TreelineError, match=r"000002 is damaged: info\.json"):
        store.info("hurt")
    assert store.roll_back("hurt").generation == "000001"
    assert "hurt: 2 functions, 1 repository" in told()
