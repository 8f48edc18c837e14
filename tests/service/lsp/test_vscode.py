"""The extension for VS Code: its client half against the real server, and its package. VS Code itself is not run."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.ingest.loading import project
from tests.service.lsp.test_server import FILES

SOURCE = Path(__file__).parents[3] / "editors" / "vscode"


@pytest.fixture(scope="module")
def extension(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The extension with its packages from npm."""
    if not shutil.which("npm"):
        pytest.skip("there is no npm")
    folder = tmp_path_factory.mktemp("extension") / "vscode"
    shutil.copytree(SOURCE, folder, ignore=shutil.ignore_patterns("node_modules", "*.vsix"))
    install = ["npm", "install", "--no-package-lock", "--no-audit", "--no-fund"]
    done = subprocess.run(install, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"npm cannot install: {done.stderr.strip()[-200:]}")
    return folder


@pytest.mark.slow
def test_its_client_half_asks_the_real_server(extension: Path, tmp_path: Path) -> None:
    root = project(tmp_path / "demo", FILES)
    (root / ".git").mkdir()
    own = {"FOLDER": str(root), "TREELINE_HOME": str(tmp_path / "home")}
    own["TREELINE"] = str(Path(sys.executable).with_name("treeline"))
    done = subprocess.run(["npm", "test"], cwd=extension, env=os.environ | own, capture_output=True, text=True)
    assert done.returncode == 0 and "# pass 4" in done.stdout, done.stdout + done.stderr


@pytest.mark.slow
def test_it_is_packaged_by_one_command(extension: Path) -> None:
    subprocess.run(["npm", "run", "package"], cwd=extension, check=True, capture_output=True)
    names = set(zipfile.ZipFile(extension / "treeline.vsix").namelist())
    needs = (
        "package.json",
        "extension.js",
        "questions.js",
        "treeline.svg",
        "node_modules/vscode-languageclient/node.js",
    )
    assert {f"extension/{name}" for name in needs} <= names
    assert not any("/@vscode/" in name or name.endswith("test.js") for name in names)


def test_every_command_and_view_that_it_declares_is_made() -> None:
    code = (SOURCE / "extension.js").read_text(encoding="utf-8")
    declared = json.loads((SOURCE / "package.json").read_text(encoding="utf-8"))["contributes"]
    relations = re.search(r"RELATIONS = {(.*?)}", (SOURCE / "questions.js").read_text(encoding="utf-8"))
    assert relations
    made = {f"treeline.find{name.capitalize()}" for name in re.findall(r"(\w+):", relations[1])}
    assert {one["command"] for one in declared["commands"]} == made | set(re.findall(r'"(treeline\.ask)":', code))
    assert all(f'"{one["id"]}"' in code for one in declared["views"]["treeline"])
