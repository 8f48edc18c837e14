"""An index with a damaged file: said in words, no obstacle to the others, and a roll-back leads away from it."""

import json
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.ingest.loading import project
from treeline.corpus.errors import TreelineError
from treeline.engine.embedded import EmbeddedStore
from treeline.service.cli import doctor, index, status

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
    assert "good: 2 units, 1 repository" in shown
    assert "hurt: 2 units, 1 repository" in shown
    assert re.search(rf"^  damage: .*{file} \(rebuild it with", shown, re.MULTILINE)
    assert f"* {served}" in shown


def test_an_old_generation_does_not_hide_the_current_one(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    (home / "hurt" / "000001" / "info.json").write_text("{")
    shown = told()
    assert "hurt: 2 units, 1 repository" in shown and "* 000002" in shown
    assert "generation 000001 of 'hurt' cannot be read" in caplog.text
    with pytest.raises(TreelineError, match="no generation before 000002"):
        EmbeddedStore(home).roll_back("hurt")


def test_a_roll_back_leads_away_from_it(home: Path) -> None:
    (home / "hurt" / "000002" / "info.json").write_text("[]")
    store = EmbeddedStore(home)
    with pytest.raises(TreelineError, match=r"000002 is damaged: info\.json"):
        store.info("hurt")
    assert store.roll_back("hurt").generation == "000001"
    assert "hurt: 2 units, 1 repository" in told()


def verified(monkeypatch: pytest.MonkeyPatch, *options: str) -> tuple[int, dict[str, str]]:
    """What `doctor --verify` says of each index's files: the detail and the hint."""
    monkeypatch.setattr(doctor, "CHECKS", (doctor.python,))  # the others start programs
    done = CliRunner().invoke(doctor.doctor, ["--verify", "--json", *options], catch_exceptions=False)
    found = [one for one in json.loads(done.output) if one["what"] == "files"]
    return done.exit_code, {one["detail"]: one["hint"] for one in found}


def overwrite(file: Path) -> None:
    """Another last byte, in this generation only."""
    data = file.read_bytes()
    file.unlink()
    file.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))


def test_doctor_verifies_every_file_of_every_index(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert verified(monkeypatch) == (
        0,
        {
            "good: 1 generation, every file as it was written": "",
            "hurt: 2 generations, every file as it was written": "",
        },
    )
    folder = home / "hurt" / "000002"
    files = [path for path in folder.rglob("*") if path.is_file() and path.stat().st_size and path.suffix != ".lock"]
    listed = {path for path in files if path.name != "manifest.json"}
    assert len(listed) > 30
    for file in listed:
        overwrite(file)
    code, found = verified(monkeypatch, "--name", "hurt")
    [detail] = found
    assert code == 1
    assert set(detail.partition("damaged: ")[2].split(", ")) == {str(file.relative_to(folder)) for file in listed}
    overwrite(folder / "manifest.json")
    assert list(verified(monkeypatch, "--name", "hurt")[1]) == ["hurt: generation 000002 is damaged: manifest.json"]


def test_doctor_names_one_command_that_repairs(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    overwrite(home / "hurt" / "000001" / "rows" / "id.npy")
    code, found = verified(monkeypatch, "--name", "hurt")
    assert (code, found) == (
        1,
        {"hurt: generation 000001 is damaged: rows/id.npy": "treeline status --name hurt --prune 1"},
    )
    assert run(*found.values()) == 0
    overwrite(home / "hurt" / "000002" / "rows" / "id.npy")
    overwrite(home / "hurt" / "000002" / "artifacts" / "tree")
    code, found = verified(monkeypatch, "--name", "hurt")
    [(detail, repair)] = found.items()
    assert "artifacts/tree, rows/id.npy" in detail
    assert repair == f"treeline index {tmp_path / 'demo'} --name hurt --fresh"
    assert run(repair) == 0
    assert EmbeddedStore(home).open("hurt").damaged == ()
    overwrite(home / "good" / "000001" / "artifacts" / "state")
    [(_, repair)] = verified(monkeypatch, "--name", "good")[1].items()
    assert repair == "treeline index SOURCE… --name good --fresh"  # what it was made of cannot be known


def run(command: str) -> int:
    program, name, *arguments = shlex.split(command)
    assert program == "treeline"
    commands = {"status": status.status, "index": index.index}
    return CliRunner().invoke(commands[name], arguments, catch_exceptions=False).exit_code
