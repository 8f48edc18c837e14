"""The wheel holds one import name, `treeline`, with every module and every file that the modules read."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [Path(sys.executable).with_name("uv"), "build", "--quiet", "--wheel", "--out-dir", folder, ROOT]
    subprocess.run(command, check=True)
    return next(folder.glob("*.whl"))


def test_the_wheel_has_one_import_name(wheel: Path) -> None:
    names = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {name for name in names if not name.endswith(".dist-info")} == {"treeline"}


def test_the_wheel_has_every_file_of_the_rooms(wheel: Path) -> None:
    rooms = [link.name for link in (ROOT / "treeline").iterdir() if link.is_symlink()]
    assert {"corpus", "encoder", "engine", "eval", "graph", "ingest", "rerank", "search", "service"} == set(rooms)
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", *rooms], capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    files = {f"treeline/{name}" for name in listed.stdout.split() if (ROOT / name).is_file()}
    assert files <= set(zipfile.ZipFile(wheel).namelist())
