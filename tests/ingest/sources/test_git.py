"""A git URL: fetched from allowed places, nothing of it is run, and read like a folder."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.ingest.reading import read
from treeline.corpus.errors import InputError, TreelineError
from treeline.ingest.source import ReadOptions
from treeline.ingest.sources import open_source
from treeline.ingest.sources.checkout import split_remote
from treeline.ingest.sources.git import check_url, is_git_url, url_and_ref

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
