"""The data folder is its owner's alone: it holds the text of private repositories, queries and keys."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ingest.loading import project
from treeline.engine.durable import close_to_others
from treeline.search.settings import Settings, open_store


def open_to_others(top: Path) -> list[Path]:
    return [path for path in (top, *top.rglob("*")) if path.lstat().st_mode & 0o077 and not path.is_symlink()]


def test_what_a_program_writes_is_private(tmp_path: Path) -> None:
    folder = project(tmp_path / "shop", {"a.py": "def pay(): pass\n"})
    home = tmp_path / "data" / "home"
    environment = os.environ | {"TREELINE_HOME": str(home), "TREELINE_ENCODER": "none"}
    command = [sys.executable, "-m", "treeline.service.cli", "index", str(folder)]
    subprocess.run(command, env=environment, umask=0o022, check=True, capture_output=True)
    assert list(home.rglob("current"))
    assert open_to_others(home) == []


def test_a_library_makes_the_folder_private(tmp_path: Path) -> None:
    with open_store(Settings(home=str(tmp_path / "home"))).begin("a", [], "x"):
        pass
    assert stat.S_IMODE((tmp_path / "home").stat().st_mode) == 0o700


def test_an_open_folder_of_an_older_version_is_closed_when_it_is_opened(tmp_path: Path) -> None:
    home, outside = tmp_path / "home", tmp_path / "outside"
    outside.write_text("x")
    for name in ("shop/current", "shop/00000001/texts", ".cache/git/clone/a.py", ".keys.json", "own/notes.txt"):
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
        path.chmod(0o644)
    (home / ".cache/link").symlink_to(outside)
    outside.chmod(0o644)
    for folder in (home, home / "shop", home / "own"):
        folder.chmod(0o755)
    open_store(Settings(home=str(home)))
    assert {path.relative_to(home).parts[0] for path in open_to_others(home)} == {"own"}
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert stat.S_IMODE(outside.stat().st_mode) == 0o644


def test_a_home_folder_as_data_folder_keeps_what_is_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".profile").write_text("x")
    (tmp_path / ".profile").chmod(0o644)
    tmp_path.chmod(0o755)
    close_to_others(tmp_path)
    assert stat.S_IMODE((tmp_path / ".profile").stat().st_mode) == 0o644
    close_to_others(tmp_path / "missing")
