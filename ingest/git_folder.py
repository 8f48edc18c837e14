"""What a checkout's `.git` says of it, read from its files without running git: top folder, remote, commit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit

SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
REMOTE = re.compile(r'^\s*\[remote "origin"\][^\[]*?^\s*url\s*=\s*(\S+)', re.MULTILINE)
SCP = re.compile(r"(?:[\w.-]+@)?([\w.-]+):(?!//)(.+)")
MAX_BYTES = 10_000_000


@dataclass(frozen=True, slots=True)
class Checkout:
    """The top of a working tree; `web` is the remote's address in a browser, empty when it has none."""

    top: Path
    repo: str
    web: str
    sha: str

    def url(self, path: str, sha: str) -> str:
        """The address of a file at a commit, without lines."""
        return f"{self.web}/blob/{sha}/{quote(path)}"


def checkout_of(folder: Path) -> Checkout | None:
    """The checkout that a folder lies in, or None."""
    folder = folder.resolve()
    for top in (folder, *folder.parents):
        git = top / ".git"
        if git.is_file():
            written = _read(git).removeprefix("gitdir:").strip()
            git = (top / written) if written else git
        if git.is_dir():
            return _describe(top, git)
    return None


def _describe(top: Path, git: Path) -> Checkout:
    common = git / _read(git / "commondir").strip() if (git / "commondir").is_file() else git
    found = REMOTE.search(_read(common / "config"))
    host, repo = split_remote(found[1]) if found else ("", "")
    sha = _head(git, common)
    return Checkout(top, repo, f"https://{host}/{repo}" if host and repo and sha else "", sha)


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
    head = _read(git / "HEAD").strip()
    if not head.startswith("ref:"):
        return head if SHA.fullmatch(head) else ""
    ref = head.removeprefix("ref:").strip()
    if ".." in ref or ref.startswith("/"):
        return ""
    loose = _read(common / ref).strip()
    if SHA.fullmatch(loose):
        return loose
    for line in _read(common / "packed-refs").splitlines():
        sha, _, name = line.partition(" ")
        if name == ref and SHA.fullmatch(sha):
            return sha
    return ""


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
