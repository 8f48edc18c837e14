"""An index with a damaged file: said in words, no obstacle to the others, and a roll-back leads away from it."""

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
    ("file", "left"),
    [("info.json", 0.5), ("rows/id.npy", 0.0), ("artifacts/embedding", 0.5), ("artifacts/tree", 0.5)],
)
def test_its_status_does_not_hide_the_others(home: Path, file: str, left: float) -> None:
    damaged = home / "hurt" / "000002" / file
    data = damaged.read_bytes()
    damaged.write_bytes(data[: int(len(data) * left)])
    shown = told()
    assert "good: 2 functions, 1 repository" in shown
    assert "hurt: " in shown and ("cannot be opened" in shown or "cannot be read" in shown)


def test_an_old_generation_does_not_hide_the_current_one(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    (home / "hurt" / "000001" / "info.json").write_text("{")
    shown = told()
    assert "hurt: 1 function, 1 repository" in shown and "* 000002" in shown
    assert "left out: generation 000001 of the index 'hurt'" in caplog.text
    with pytest.raises(TreelineError, match="no generation before 000002"):
        EmbeddedStore(home).roll_back("hurt")


def test_a_roll_back_leads_away_from_it(home: Path) -> None:
    (home / "hurt" / "000002" / "info.json").write_text("[]")
    store = EmbeddedStore(home)
    with pytest.raises(TreelineError, match=r"generation 000002 .* cannot be opened"):
        store.info("hurt")
    assert store.roll_back("hurt").generation == "000001"
    assert "hurt: 1 function, 1 repository" in told()
