"""`python -m benchmarks.repository`: three moments of asking in a repository, timed from the shell."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import repository
from benchmarks.plots import growth_svg
from tests.ingest.loading import project
from treeline.corpus.errors import InputError


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    code = "def handle_errors(error):\n    return str(error)\n"
    return project(tmp_path / "shop", {"a.py": code, "b.py": code.replace("handle", "raise")})


def test_each_moment_is_timed_and_the_repository_is_left_as_it_is(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repository, "SETTLE_S", 0.0)
    before = {path: path.read_bytes() for path in shop.rglob("*")}
    told: list[str] = []
    document = repository.run([shop], rounds=1, tell=told.append)
    (step,) = document["steps"]
    rows = [row for row in step["spent"] if row["tool"] == "treeline"]
    assert [row["moment"] for row in rows] == list(repository.MOMENTS)
    assert all(row["processor"] > 0 and row["wall"] > 0 and row["memory_mb"] > 0 for row in rows)
    assert step["functions"] >= 2 and step["disk_mb"]["treeline"] > 0
    assert {path: path.read_bytes() for path in shop.rglob("*")} == before
    chart = growth_svg("Growth", repository.CHARTS, document["steps"])
    assert all(title in chart for title, _ in repository.CHARTS)


def test_a_bare_repository_is_checked_out(shop: Path, tmp_path: Path) -> None:
    bare = tmp_path / "ada+shop" / "repo"
    commands = ("init -q", "add .", "-c user.name=a -c user.email=a commit -qm one", f"clone -q --bare . {bare}")
    for command in commands:
        subprocess.run(["git", *command.split()], cwd=shop, check=True)
    repository.check_out(bare, tmp_path / "copy")
    assert sorted(path.name for path in (tmp_path / "copy").iterdir()) == ["a.py", "b.py"]


def test_a_python_without_semble_is_said(shop: Path) -> None:
    with pytest.raises(InputError, match=r"cannot run semble: .*model2vec"):
        repository.run([shop], rounds=1, semble=sys.executable, tell=print)
