"""What the remote of a checkout is known to have: only that has an address there."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import new
from pathlib import Path

from treeline.ingest.git_command import git_command, git_environment

TIMEOUT_S = 30
REMOTE = "refs/remotes/origin"
SHA1_LETTERS = 40


@dataclass(frozen=True, slots=True)
class Published:
    """The newest commit here that the remote has (empty: none), and the content of each of its files."""

    sha: str
    blobs: Mapping[str, str]

    def has(self, path: str, content: bytes) -> bool:
        """Whether the file is there as it is here; the ends of its lines do not matter, which git may have changed."""
        known = self.blobs.get(path)
        if not known:
            return False
        return known == _blob(content, known) or known == _blob(content.replace(b"\r\n", b"\n"), known)


def published(top: Path) -> Published | None:
    """What git knows of the checkout's remote; None where git cannot say (it is not there, or not allowed to)."""
    try:
        sha = _newest(top)
        return Published(sha, _blobs(top, sha) if sha else {})
    except (OSError, subprocess.SubprocessError):
        return None


def _newest(top: Path) -> str:
    """Of a checkout that never heard of its remote's branches, such as a fetched commit: the one checked out."""
    head = _git(top, "rev-parse", "--verify", "HEAD^{commit}").decode().strip()
    if not _git(top, "for-each-ref", "--count=1", REMOTE):
        return head
    unpublished = _git(top, "rev-list", "--boundary", head, "--not", f"--glob={REMOTE}").decode().split()
    if not unpublished:
        return head
    return next((commit.removeprefix("-") for commit in unpublished if commit.startswith("-")), "")


def _blobs(top: Path, sha: str) -> dict[str, str]:
    """The files of a commit, each with the name of its content."""
    blobs = {}
    for entry in _git(top, "ls-tree", "-r", "-z", "--full-tree", sha).split(b"\0"):
        kind, _, path = entry.partition(b"\t")
        if path:
            blobs[os.fsdecode(path)] = kind.rpartition(b" ")[2].decode()
    return blobs


def _blob(content: bytes, like: str) -> str:
    """The name that git gives to content."""
    digest = new("sha1" if len(like) == SHA1_LETTERS else "sha256", usedforsecurity=False)
    digest.update(b"blob %d\0" % len(content))
    digest.update(content)
    return digest.hexdigest()


def _git(top: Path, *arguments: str) -> bytes:
    command = git_command(["-C", str(top), *arguments])
    return subprocess.run(
        command,
        env=git_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        timeout=TIMEOUT_S,
    ).stdout
