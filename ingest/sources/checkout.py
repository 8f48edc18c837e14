"""Reads a git checkout: its top folder, remote and commit, and which of its files the remote has."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from hashlib import new
from pathlib import Path
from urllib.parse import quote, urlsplit

from treeline.corpus.frozen import frozen
from treeline.graph.git import run_git
from treeline.ingest.source import is_own, read_plain

SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
SCP = re.compile(r"(?:[\w.-]+@)?([\w.-]+):(?!//)(.+)")
MAX_BYTES = 10_000_000


@frozen
class Checkout:
    """The top of a working tree; `web` is the remote's web address, empty if there is none; `end` has the last commits
    of a shallow clone, a line each."""

    top: Path
    repo: str
    web: str
    sha: str
    end: str = ""

    def url(self, path: str, sha: str) -> str:
        """The address of a file at a commit, without lines."""
        return f"{self.web}/blob/{sha}/{quote(path)}"


def checkout_of(folder: Path) -> Checkout | None:
    """The checkout that a folder lies in, or None. One above the folder counts only if it is the caller's own."""
    folder = folder.resolve()
    for top in (folder, *folder.parents):
        if top != folder and not is_own(top, top / ".git"):
            continue
        if git := _git_folder(top):
            return _describe(top, git)
    return None


def repository_name(top: Path) -> str:
    """The name that all copies of a repository share: its remote's, or without one that of the folder with its first
    working tree; '' for what is no checkout."""
    git = _git_folder(top)
    if git is None:
        return ""
    common = _common(git).resolve()
    where = _origin(read_git_file(common / "config")) or str(common)
    return re.split("[/:]", where.rstrip("/").removesuffix(".git").rstrip("/"))[-1]


def _git_folder(top: Path) -> Path | None:
    """Git's folder of a working tree, if it has one."""
    git = top / ".git"
    if git.is_file():
        target = read_git_file(git).removeprefix("gitdir:").strip()
        git = (top / target) if target else git
    return git if git.is_dir() else None


def _common(git: Path) -> Path:
    """The part of git's folder that all worktrees share."""
    return git / read_git_file(git / "commondir").strip() if (git / "commondir").is_file() else git


def _describe(top: Path, git: Path) -> Checkout:
    common = _common(git)
    host, repo = split_remote(_origin(read_git_file(common / "config")))
    sha = _head(git, common)
    web = f"https://{host}/{repo}" if host and repo and sha else ""
    return Checkout(top, repo, web, sha, read_git_file(common / "shallow").strip())


def _origin(config: str) -> str:
    """The URL of the remote `origin`, or ''."""
    is_origin = False
    for line in config.splitlines():
        section, _, rest = line.strip().rpartition("]")
        if section.startswith("["):
            is_origin = section == '[remote "origin"'
        name, _, value = (rest or line).partition("=")
        if is_origin and name.strip().lower() == "url" and value.strip():
            return value.split()[0]
    return ""


def split_remote(url: str) -> tuple[str, str]:
    """Host and `owner/name` of a remote, without user or password; empty for a path on this machine."""
    scp = SCP.fullmatch(url)
    host, path = (scp[1], scp[2]) if scp else ("", "")
    if "://" in url:
        try:
            parts = urlsplit(url)
            host, path = (parts.hostname or "", parts.path) if parts.scheme != "file" else ("", "")
        except ValueError:
            return "", ""
    return host, path.strip("/").removesuffix(".git")


def _head(git: Path, common: Path) -> str:
    head = read_git_file(git / "HEAD").strip()
    if not head.startswith("ref:"):
        return head if SHA.fullmatch(head) else ""
    ref = head.removeprefix("ref:").strip()
    if ".." in ref or ref.startswith("/"):
        return ""
    loose = read_git_file(common / ref).strip()
    if SHA.fullmatch(loose):
        return loose
    for line in read_git_file(common / "packed-refs").splitlines():
        sha, _, name = line.partition(" ")
        if name == ref and SHA.fullmatch(sha):
            return sha
    return ""


def read_git_file(path: Path) -> str:
    """The text of a plain file; '' for anything else."""
    content = read_plain(path, MAX_BYTES, follow=True)
    return content.decode("utf-8", "replace") if isinstance(content, bytes) else ""


REMOTE_REFS = "refs/remotes/origin"
SHA1_LETTERS = 40


@frozen
class PublishedFiles:
    """The newest local commit that the remote has (empty: none), and the blob id of each of its files."""

    sha: str
    blobs: Mapping[str, str]

    def has(self, path: str, content: bytes) -> bool:
        """Whether the remote has this content. Line endings are ignored, because git may convert them."""
        known = self.blobs.get(path)
        if not known:
            return False
        return known == _blob(content, known) or known == _blob(content.replace(b"\r\n", b"\n"), known)


def published_files(top: Path) -> PublishedFiles | None:
    """The files that the checkout's remote has, as far as git knows; None if git is missing or refuses."""
    try:
        sha = _newest(top)
        return PublishedFiles(sha, _blobs(top, sha) if sha else {})
    except (OSError, subprocess.SubprocessError):
        return None


def _newest(top: Path) -> str:
    """The newest published commit; HEAD for a checkout without remote branches, such as a fetched commit."""
    head = run_git(top, "rev-parse", "--verify", "HEAD^{commit}").decode().strip()
    if not run_git(top, "for-each-ref", "--count=1", REMOTE_REFS):
        return head
    commits = run_git(top, "rev-list", "--boundary", head, "--not", f"--glob={REMOTE_REFS}").decode().split()
    if not commits:
        return head
    return next((commit.removeprefix("-") for commit in commits if commit.startswith("-")), "")


def _blobs(top: Path, sha: str) -> dict[str, str]:
    """The files of a commit, each with its blob id."""
    blobs = {}
    for entry in run_git(top, "ls-tree", "-r", "-z", "--full-tree", sha).split(b"\0"):
        kind, _, path = entry.partition(b"\t")
        if path:
            blobs[os.fsdecode(path)] = kind.rpartition(b" ")[2].decode()
    return blobs


def _blob(content: bytes, like: str) -> str:
    """The git blob id of content, in the hash of `like`."""
    digest = new("sha1" if len(like) == SHA1_LETTERS else "sha256", usedforsecurity=False)
    digest.update(b"blob %d\0" % len(content))
    digest.update(content)
    return digest.hexdigest()
