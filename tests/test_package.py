"""`pip install .` brings along every module, and every file that the modules read."""

import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SETUPTOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
ROOMS = sorted({package.partition(".")[0] for package in SETUPTOOLS["packages"]})


def packaged(room: str) -> set[Path]:
    modules = {
        path
        for package in SETUPTOOLS["packages"]
        if package.partition(".")[0] == room
        for path in ROOT.joinpath(*package.split(".")).glob("*.py")
    }
    return modules.union(*(ROOT.joinpath(room).glob(pattern) for pattern in SETUPTOOLS["package-data"].get(room, ())))


@pytest.mark.parametrize("room", ROOMS)
def test_every_file_of_a_room_is_packaged(room: str) -> None:
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", room], capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    files = {ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()}
    assert files <= packaged(room)


def test_the_pages_find_the_evaluations_results_where_they_are_packaged() -> None:
    from service.evaluation.files import folder
    from service.settings import Settings

    assert set(folder(Settings()).glob("*.json")) <= packaged("eval")
