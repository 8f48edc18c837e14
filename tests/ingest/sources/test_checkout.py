"""Only what the remote has as it is here is linked there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ingest.reading import read
from tests.ingest.sources.test_git import git
from treeline.ingest.sources.checkout import published_files

WEB = "https://github.com/owner/name"
ONE, TWO = "def first():\n    return 1\n", "def second():\n    return 2\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """One commit with two files, which its remote has."""
    folder = tmp_path / "checkout"
    (folder / "src").mkdir(parents=True)
    git(folder, "init", "-q")
    git(folder, "remote", "add", "origin", f"{WEB}.git")
    (folder / "src" / "a.py").write_text(ONE)
    (folder / "src" / "b ü.py").write_text(TWO)
    commit(folder)
    git(folder, "update-ref", "refs/remotes/origin/main", "HEAD")
    return folder


def commit(folder: Path) -> str:
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "more")
    return git(folder, "rev-parse", "HEAD")


def addresses(folder: Path) -> dict[str, tuple[str, str]]:
    return {one.path: (one.sha, one.url.partition("#")[0]) for one in read(str(folder)).functions}


def on_the_web(sha: str, path: str) -> tuple[str, str]:
    return sha, f"{WEB}/blob/{sha}/{path}"


def here(folder: Path, path: str) -> tuple[str, str]:
    return "", (folder / path).as_uri()


def test_what_is_committed_is_linked_and_what_is_not_is_on_this_machine(checkout: Path) -> None:
    sha = git(checkout, "rev-parse", "HEAD")
    (checkout / "src" / "a.py").write_text(ONE + TWO)
    (checkout / "src" / "new.py").write_text(ONE)
    expected = {
        "src/a.py": here(checkout, "src/a.py"),
        "src/b ü.py": on_the_web(sha, "src/b%20%C3%BC.py"),
        "src/new.py": here(checkout, "src/new.py"),
    }
    assert addresses(checkout) == expected
    assert addresses(checkout / "src") == expected


def test_commits_that_the_remote_does_not_have_are_not_linked(checkout: Path) -> None:
    known = git(checkout, "rev-parse", "HEAD")
    (checkout / "src" / "new.py").write_text(ONE)
    (checkout / "src" / "a.py").write_text(TWO)
    newer = commit(checkout)
    found = addresses(checkout)
    assert found["src/b ü.py"] == on_the_web(known, "src/b%20%C3%BC.py")
    assert found["src/a.py"] == here(checkout, "src/a.py")
    assert found["src/new.py"] == here(checkout, "src/new.py")
    git(checkout, "update-ref", "refs/remotes/origin/main", newer)
    assert addresses(checkout)["src/new.py"] == on_the_web(newer, "src/new.py")


def test_a_remote_with_another_history_has_nothing_of_it(checkout: Path) -> None:
    git(checkout, "checkout", "-q", "--orphan", "other")
    (checkout / "c.py").write_text(ONE)
    commit(checkout)
    assert addresses(checkout)["src/a.py"] == here(checkout, "src/a.py")


def test_a_checkout_that_never_heard_of_branches_of_its_remote_is_believed(checkout: Path) -> None:
    sha = git(checkout, "rev-parse", "HEAD")
    git(checkout, "update-ref", "-d", "refs/remotes/origin/main")
    assert addresses(checkout)["src/a.py"] == on_the_web(sha, "src/a.py")


def test_other_ends_of_lines_are_no_change(checkout: Path) -> None:
    (checkout / "src" / "a.py").write_bytes(ONE.replace("\n", "\r\n").encode())
    assert addresses(checkout)["src/a.py"][1].startswith(WEB)


def test_without_git_the_checked_out_commit_is_linked(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sha = git(checkout, "rev-parse", "HEAD")
    (checkout / "src" / "new.py").write_text(ONE)
    monkeypatch.setenv("PATH", str(checkout))
    assert published_files(checkout) is None
    assert addresses(checkout)["src/new.py"] == on_the_web(sha, "src/new.py")


def test_nothing_of_the_checkout_is_run(checkout: Path, tmp_path: Path) -> None:
    mark, script = tmp_path / "was here", tmp_path / "script"
    script.write_text(f"#!/bin/sh\ntouch '{mark}'\n")
    script.chmod(0o755)
    for setting in (
        "core.fsmonitor",
        "core.pager",
        "core.sshCommand",
        "diff.external",
        "filter.x.cleancore.editor",
    ):
        git(checkout, "config", setting, str(script))
    (checkout / ".git" / "info").mkdir(exist_ok=True)
    (checkout / ".git" / "info" / "attributes").write_text("*.py filter=x\n")
    assert addresses(checkout)["src/a.py"][1].startswith(WEB)
    assert not mark.exists()
