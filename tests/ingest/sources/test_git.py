"""A git URL: fetched from allowed places, nothing of it is run, and read like a folder."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.ingest.reading import read
from treeline.corpus.errors import InputError, TreelineError
from treeline.ingest.source import ReadOptions, without_user
from treeline.ingest.sources import open_source
from treeline.ingest.sources.checkout import split_remote
from treeline.ingest.sources.git import check_url, is_git_url, url_and_ref
from treeline.ingest.state import Entry, Manifest, State, entry_key, sources_in

FILE = frozenset({"file"})


def git(folder: Path, *arguments: str) -> str:
    environment = os.environ | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "origin" / "project"
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    (folder / "a.py").write_text("def first():\n    return 1\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "one")
    git(folder, "tag", "v1")
    return folder


def options(tmp_path: Path, ref: str = "") -> ReadOptions:
    return ReadOptions(git_schemes=FILE, cache=tmp_path / "cache", ref=ref)


def test_a_repository_is_fetched_and_brought_up_to_date(repository: Path, tmp_path: Path) -> None:
    url = f"file://{repository}"
    (function,) = read(url, options(tmp_path)).functions
    assert (function.repo, function.func_name) == ("project", "first")
    assert function.sha == git(repository, "rev-parse", "HEAD")
    (repository / "b.py").write_text("def second():\n    return 2\n")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "two")
    assert {one.func_name for one in read(url, options(tmp_path)).functions} == {"first", "second"}
    assert {one.func_name for one in read(url, options(tmp_path, "v1")).functions} == {"first"}


@pytest.mark.parametrize("ref", ["v1", "feature/one", "pkg@1.2.3"])
def test_a_source_with_a_ref_can_be_given_by_the_name_it_has(ref: str, repository: Path, tmp_path: Path) -> None:
    git(repository, "tag", "--force", ref)
    (repository / "b.py").write_text("def second():\n    return 2\n")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "two")
    source = open_source(f"file://{repository}", options(tmp_path, ref))
    assert open_source(source.name, options(tmp_path)).name == source.name
    assert [one.func_name for one in read(source.name, options(tmp_path)).functions] == ["first"]
    with pytest.raises(InputError, match=r"names .* and --ref main"):
        open_source(source.name, options(tmp_path, "main"))


def test_hooks_filters_and_submodules_do_not_run(repository: Path, tmp_path: Path) -> None:
    mark = tmp_path / "was here"
    template = tmp_path / "template" / "hooks"
    template.mkdir(parents=True)
    hook = template / "post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch '{mark}'\n")
    hook.chmod(0o755)
    (repository / ".gitattributes").write_text("*.py filter=lfs\n")
    (repository / ".gitmodules").write_text(f'[submodule "x"]\n\tpath = x\n\turl = file://{repository}\n')
    (repository / "link.py").symlink_to("/etc/passwd")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "two")
    os.environ["GIT_TEMPLATE_DIR"] = str(template.parent)
    try:
        parsed = read(f"file://{repository}", options(tmp_path))
    finally:
        del os.environ["GIT_TEMPLATE_DIR"]
    assert [one.func_name for one in parsed.functions] == ["first"]
    assert not mark.exists()


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://github.com/a/b", "not an allowed way"),
        ("git://github.com/a/b", "^git:// is not an allowed way"),
        ("file:///etc", "not an allowed way"),
        ("ext::sh -c id", "is not there"),
        ("https://evil.example/a/b", r"^evil\.example is not an allowed host"),
        ("https://evil.example/a/b", "allowed by TREELINE_GIT_HOSTS: "),
        ("https://github.com.evil.example/a/b", "not an allowed host"),
        ("https://github.com@evil.example/a/b", "not an allowed host"),
        ("https://127.0.0.1/a/b", "not an allowed host"),
        ("git@evil.example:a/b.git", "not an allowed host"),
        ("https://me:secret@github.com/a/b", "^the URL holds a password"),
        ("https://github.com/", "not the URL"),
        ("https://[half/a/b", "cannot be read|not a URL"),
    ],
)
def test_urls_that_are_not_allowed_are_refused_before_anything_is_fetched(
    url: str, reason: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=reason):
        open_source(url, ReadOptions(cache=tmp_path))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("ref", ["--upload-pack=touch x", "-x", "a..b", "a b", "$(id)"])
def test_a_ref_cannot_smuggle_an_option(ref: str, repository: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a branch"):
        open_source(f"file://{repository}", options(tmp_path, ref))


def test_a_repository_that_is_not_there_is_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(TreelineError, match="could not fetch"):
        open_source(f"file://{tmp_path}/nowhere", options(tmp_path))


def test_what_is_a_git_url() -> None:
    assert is_git_url("https://github.com/a/b")
    assert is_git_url("git@github.com:a/b.git")
    assert not is_git_url("folder/name")
    assert not is_git_url("C:/folder")


@pytest.mark.parametrize(
    ("spec", "url", "ref"),
    [
        ("https://github.com/o/n@v1.0", "https://github.com/o/n", "v1.0"),
        ("git@github.com:o/n.git@feature/x", "git@github.com:o/n.git", "feature/x"),
        ("ssh://git@host:22/o/n@p@1", "ssh://git@host:22/o/n", "p@1"),
        ("https://host/@team/n@v1", "https://host/@team/n", "v1"),
        ("https://github.com@evil.example/a/b", "https://github.com@evil.example/a/b", ""),
        ("git@github.com:o/n.git", "git@github.com:o/n.git", ""),
        ("https://host/@team/n", "https://host/@team/n", ""),
    ],
)
def test_a_ref_is_what_follows_the_at_sign_in_the_path(spec: str, url: str, ref: str) -> None:
    assert url_and_ref(spec, "") == (url, ref)


def test_allowed_urls_give_scheme_host_and_name() -> None:
    assert check_url("https://github.com/owner/name.git", ReadOptions()) == ("https", "github.com", "owner/name")
    assert check_url("git@gitlab.com:group/sub/name.git", ReadOptions()) == ("ssh", "gitlab.com", "group/sub/name")
    assert check_url("https://any.example/a/b", ReadOptions(git_hosts=frozenset("*")))[1] == "any.example"


def test_the_name_of_a_remote_is_without_user_and_password() -> None:
    assert split_remote("ssh://git@github.com:22/owner/name.git") == ("github.com", "owner/name")
    assert split_remote("https://user:word@host.example/o/n") == ("host.example", "o/n")
    assert split_remote("/srv/git/name.git") == ("", "")


def tree(folder: Path, entries: str) -> str:
    command = ["git", "-C", str(folder), "mktree"]
    return subprocess.run(command, input=entries, check=True, capture_output=True, text=True).stdout.strip()


def bomb(folder: Path, content: bytes, levels: int) -> str:
    """A repository of ten to the power of `levels` files of this content, which are one blob and a tree a level."""
    git(folder, "init", "-q")
    command = ["git", "-C", str(folder), "hash-object", "-w", "--stdin"]
    blob = subprocess.run(command, input=content, check=True, capture_output=True).stdout.decode().strip()
    top = tree(folder, "".join(f"100644 blob {blob}\ta{number}.py\n" for number in range(10)))
    for _ in range(levels - 1):
        top = tree(folder, "".join(f"040000 tree {top}\td{number}\n" for number in range(10)))
    git(folder, "update-ref", "HEAD", git(folder, "commit-tree", "-m", "bomb", top))
    return f"file://{folder}"


@pytest.mark.parametrize(
    ("size", "levels", "message"),
    [
        (0, 5, r"has more than 1,\d+ files, which is not plausible for its size in git"),
        (0, 12, r"has more than 1,\d+ files, which is not plausible for its size in git"),
        (1_000_000, 2, "unpacks to more than 5. MB, which is not plausible for its size in git"),
    ],
    ids=["100,000 files", "10^12 files", "100 MB"],
)
def test_a_bomb_is_refused_before_it_is_checked_out(size: int, levels: int, message: str, tmp_path: Path) -> None:
    (tmp_path / "bomb").mkdir()
    url = bomb(tmp_path / "bomb", b"\n" * size, levels)
    with pytest.raises(InputError, match=message) as error:
        open_source(url, options(tmp_path))
    assert "clone it and give the folder" in error.value.hint
    left = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert [path.suffix for path in left] == [".lock"]


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ({"max_source_files": 1}, "has more than 1 files.*raise TREELINE_SOURCE_FILES"),
        ({"max_source_bytes": 20}, "unpacks to more than 0 MB.*raise TREELINE_SOURCE_MB"),
        ({"max_pack_bytes": 20}, "is more than 0 MB to fetch.*raise TREELINE_GIT_PACK_MB"),
    ],
)
def test_a_repository_over_a_limit_is_refused_by_its_name(
    limit: dict[str, Any], message: str, repository: Path, tmp_path: Path
) -> None:
    (repository / "b.py").write_text("".join(f"def f{number}(): pass\n" for number in range(10_000)))
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "two")
    with pytest.raises(InputError, match=message):
        open_source(f"file://{repository}", replace(options(tmp_path), **limit))
    assert len(read(f"file://{repository}", options(tmp_path)).functions) == 10_001


def test_a_token_in_a_url_is_neither_kept_nor_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fetch itself fails: a port where nothing listens."""
    allowed = ReadOptions(cache=tmp_path, git_hosts=frozenset(["127.0.0.1"]))
    with pytest.raises(TreelineError) as error:
        open_source("https://ghp_token@127.0.0.1:1/o/n@v1", allowed)
    assert "ghp_token" not in f"{error.value.message} {error.value.hint}" and "127.0.0.1:1/o/n" in error.value.message
    assert not any(b"ghp_token" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    for url in ("https://ghp_token@evil.example/o/n", "https://ghp_token@[half/o/n", "https://ghp_token@a.org/o.zip"):
        with pytest.raises(InputError) as refusal:
            open_source(url, allowed)
        assert "ghp_token" not in f"{refusal.value.message} {refusal.value.hint}"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://token@github.com/o/n@v1", "https://github.com/o/n@v1"),
        ("https://me:token@github.com/o/n", "https://github.com/o/n"),
        ("https://github.com/@team/n", "https://github.com/@team/n"),
        ("ssh://git@github.com/o/n", "ssh://git@github.com/o/n"),
        ("git@github.com:o/n", "git@github.com:o/n"),
        ("/srv/a@b", "/srv/a@b"),
    ],
)
def test_the_user_is_cut_out_of_a_url(url: str, expected: str) -> None:
    assert without_user(url) == expected


def test_a_name_that_an_older_version_kept_loses_its_token() -> None:
    state, old = State(), "https://token@github.com/o/n"
    entries = {entry_key(source, "a.py"): Entry(source, "1") for source in (old, "/srv/code")}
    state.replace(Manifest(entries), [])
    assert sources_in(state.dump()) == ["https://github.com/o/n", "/srv/code"]
