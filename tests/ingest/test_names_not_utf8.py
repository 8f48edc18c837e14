"""Names of files and folders that are not UTF-8: indexed, refreshed, and answered in every front end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ingest.loading import functions, loaded
from treeline.engine.embedded import EmbeddedStore
from treeline.ingest.project import find_project, projects, refresh
from treeline.ingest.source import on_disk
from treeline.search.settings import Settings
from treeline.service.lsp.workspace import Workspace
from treeline.service.mcp.server import create_server

PROJECT, COFFEE, CUP, WORDS = (
    os.fsdecode(name) for name in (b"pub\xe9", b"caf\xe9.py", b"d\xe9p/mod.py", b"th\xe9.md")
)
READABLE = ["caf\\xe9.py", "d\\xe9p/mod.py", "th\\xe9.md"]


@pytest.fixture(params=["pub", PROJECT], ids=["file", "project"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A repository with such names, also as its own name, all committed."""
    found = Path(tmp_path, request.param)
    for name, text in {
        COFFEE: 'def brew_coffee():\n    """Brew the coffee."""\n    return 1\n',
        CUP: "def wash_cup():\n    return brew_coffee()\n",
        WORDS: "# Tea\n\nSteep the tea for four minutes.\n",
        os.fsdecode(b".gitignore"): "ign\xe9\n",
    }.items():
        (found / name).parent.mkdir(parents=True, exist_ok=True)
        (found / name).write_text(text, encoding="latin-1")
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "Brew"]):
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *identity, *command], cwd=found, check=True)
    return found


def paths(home: Path, index: str) -> list[str]:
    return sorted({one.path for one in functions(home, index).values()} - {".gitignore"})


def test_a_project_is_indexed_and_refreshed(root: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    store, project = EmbeddedStore(home), find_project(root, home)
    done = refresh(project, store, home, encoders=("none",))
    assert done.is_new and done.files == 3 and str(done).isprintable()
    assert paths(home, project.index) == READABLE
    assert not refresh(project, store, home, encoders=("none",)).published
    (root / CUP).write_text("def dry_cup(): pass\n")
    assert refresh(project, store, home, encoders=("none",)).changed == 1
    (root / COFFEE).unlink()
    assert refresh(project, store, home, encoders=("none",)).removed == 1
    assert projects(home) == [project]


def test_the_command_line_answers(root: Path, tmp_path: Path) -> None:
    environment = os.environ | {"TREELINE_HOME": str(tmp_path / "home"), "TREELINE_ENCODER": "none"}

    def treeline(*arguments: str) -> str:
        command = [sys.executable, "-m", "treeline.service.cli", *arguments]
        done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert READABLE[0] in treeline("brew", "the", "coffee")
    [row] = json.loads(treeline("status", "--json"))["indexes"]
    assert row["project"]["name"] in ("pub", "pub\\xe9")
    assert row["project"]["name"] in treeline("status")
    assert "brew_coffee" in treeline("outline", COFFEE)


def test_agents_and_editors_are_answered(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    settings = Settings(home=str(tmp_path / "home"), encoder="none")
    server = create_server(settings, follow=True)

    def call(name: str, **arguments: object) -> str:
        return str(server.call(name, arguments))

    assert "brew_coffee" in call("search_code", query="brew the coffee")
    assert "brew_coffee" in call("outline", file=READABLE[0])
    assert "wash_cup" in call("read_lines", file=READABLE[1])
    workspace = Workspace(settings, root)
    [coffee] = [place for place in workspace.symbols("brew_coffee") if place.kind == "function"][:1]
    assert coffee.path == root / COFFEE
    assert [hit.address.path for hit in workspace.functions(root / CUP)] == [READABLE[1]]
    workspace.close()


def test_a_folder_in_a_checkout_with_a_remote_has_readable_addresses(root: Path, tmp_path: Path) -> None:
    root = root.rename(tmp_path / "shop")
    command = ["git", "-C", str(root), "remote", "add", "origin", "https://github.com/owner/name"]
    subprocess.run(command, check=True)
    (root / "pkg").mkdir()
    (root / CUP).rename(root / "pkg" / COFFEE)
    loaded(tmp_path / "home", root / "pkg")
    [unit] = functions(tmp_path / "home").values()
    assert (unit.repo, unit.path) == ("owner/name", "pkg/caf\\xe9.py")


def test_a_readable_path_leads_back_to_its_file(tmp_path: Path) -> None:
    (tmp_path / COFFEE).touch()
    assert on_disk(tmp_path, READABLE[0]) == tmp_path / COFFEE
    (tmp_path / READABLE[0]).touch()
    assert on_disk(tmp_path, READABLE[0]) == tmp_path / READABLE[0]
    assert on_disk(tmp_path, "a.py") == tmp_path / "a.py"
