"""Commits with one file hidden."""

from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner

from benchmarks.impact import command
from tests.ingest.test_history import commit, git
from treeline.graph.git import run_git


def test_the_hidden_file_of_a_commit_is_found_from_those_that_change_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREELINE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TREELINE_ENCODER", "none")
    root = tmp_path / "shop"
    root.mkdir()
    git(root, "init", "--quiet")
    commit(root, "Price", {"cart.py": "def price():\n    return 3\n", "data/prices.txt": "3"})
    for number in range(14):
        commit(root, "Fill", {f"shelf/{number}.py": f"box_{number} = 1\n"})
    commit(root, "Price", {"cart.py": "def price():\n    return 4\n", "data/prices.txt": "4"})
    commit(root, "Fill and label", {"cart.py": "def price():\n    return 5\n", "label.py": "label = 'dear'\n"})
    label = run_git(root, "rev-parse", "HEAD:label.py").decode().strip()
    blob = root / ".git" / "objects" / label[:2] / label[2:]
    blob.chmod(0o600)
    blob.unlink()
    said = CliRunner().invoke(command, [str(root), "--commits", "2", "--ablate", "--json", "-"], catch_exceptions=False)
    assert "shop: 1 commit left out, of which git lacks a file" in said.stderr
    document = orjson.loads(said.stdout)
    means = {system["name"]: system["means"]["hit_10"]["mean"] for system in document["systems"]}
    assert means["default"] == means["co-changes"] == 1.0 and {"without words", "without share"} < means.keys()
