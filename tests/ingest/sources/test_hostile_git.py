"""A `.git` that somebody else put above a folder, or that is no plain file, neither decides nor holds anything up."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.ingest.loading import project
from treeline.ingest.project import find_project
from treeline.ingest.source import is_own
from treeline.ingest.sources import open_source
from treeline.ingest.sources.checkout import checkout_of

NOBODY = 65_534
ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
CONFIG = '[core]\n\tbare = false\n[remote "origin"]\n\turl = https://github.com/owner/name.git\n'


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A shared folder with a checkout in it, and a person's own folder below."""
    return project(
        tmp_path / "shared",
        {
            "theirs.py": "def theirs(): pass\n",
            ".gitignore": "secret/\n",
            ".git/config": CONFIG,
            ".git/HEAD": "a" * 40,
            "mine/secret/own.py": "def own(): pass\n",
        },
    )


@ROOT_ONLY
@pytest.mark.parametrize("foreign", [".", ".git"])
def test_a_repository_of_somebody_else_above_decides_nothing(shared: Path, foreign: str, tmp_path: Path) -> None:
    mine = shared / "mine"
    assert find_project(mine, tmp_path / "home").root == shared
    os.chown(shared / foreign, NOBODY, NOBODY)
    assert find_project(mine, tmp_path / "home").root == mine
    assert checkout_of(mine) is None
    assert [unit.key for unit in open_source(str(mine)).units()] == ["secret/own.py"]
    assert [unit.key for unit in open_source(str(shared)).units()] == ["theirs.py"]


@ROOT_ONLY
def test_a_repository_of_the_user_behind_sudo_counts(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.chown(shared / ".git", NOBODY, NOBODY)
    assert not is_own(shared / ".git")
    monkeypatch.setenv("SUDO_UID", str(NOBODY))
    assert is_own(shared, shared / ".git")
    monkeypatch.setenv("SUDO_UID", "-1 or so")
    assert not is_own(shared / ".git")
    assert not is_own(shared / "missing")


@pytest.mark.parametrize(
    "name", [".git/config", ".git/HEAD", ".git/commondir", ".git/packed-refs", ".git/info/exclude"]
)
@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_what_is_no_plain_file_holds_nothing_up(shared: Path, name: str, kind: str) -> None:
    path = shared / name
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        path.mkdir()
    for folder in (shared, shared / "mine"):
        checkout_of(folder)
        assert list(open_source(str(folder)).units()) or folder != shared


@pytest.mark.parametrize("text", ["\n" * 900_000, '[remote "origin"]\n' * 50_000, "[" * 900_000, "url = \n" * 100_000])
def test_a_long_configuration_is_read_in_linear_time(shared: Path, text: str) -> None:
    (shared / ".git/config").write_text(text + CONFIG)
    start = time.process_time()
    checkout = checkout_of(shared)
    assert checkout is not None and checkout.repo == "owner/name"
    assert time.process_time() - start < 1


@pytest.mark.parametrize(
    ("config", "repo"),
    [
        (CONFIG, "owner/name"),
        (CONFIG.replace("\turl", "\tfetch = +refs/heads/*\n\tURL"), "owner/name"),
        (CONFIG.replace("[core]", '[remote "fork"]\n\turl = https://github.com/fork/name\n[core]'), "owner/name"),
        ('[remote "origin"] url = https://github.com/owner/name', "owner/name"),
        ('[remote "origin"]\n[branch "main"]\n\turl = https://github.com/other/name\n', ""),
        ("", ""),
    ],
    ids=range(6),
)
def test_the_remote_is_the_one_of_origin(shared: Path, config: str, repo: str) -> None:
    (shared / ".git/config").write_text(config)
    checkout = checkout_of(shared)
    assert checkout is not None and checkout.repo == repo
