"""Fetches a git URL, from allowed hosts only, without hooks, prompts or submodules, and reads it as a folder."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from urllib.parse import urlsplit

from treeline.corpus.errors import InputError, TreelineError
from treeline.ingest.source import Progress, ReadOptions
from treeline.ingest.sources.checkout import SCP, git_command, git_environment, split_remote
from treeline.ingest.sources.folder import Folder, open_folder

SCHEME, SCP_HOST = r"[a-zA-Z][a-zA-Z0-9+.-]*://", r"[\w.-]+@[\w.-]+:(?!//)"
URL = re.compile(SCHEME + r".+")
SCP_LIKE = re.compile(SCP_HOST + r".+")
# In a path, `@` only starts a part (`/@team/`); the first other `@` starts the ref.
WITH_REF = re.compile(rf"((?:{SCHEME}[^/]*+|{SCP_HOST})(?:[^@/]|/@?)++)@(.+)")
PERCENT = re.compile(rb"Receiving objects:\s+(\d+)%")
REF = re.compile(r"[\w][\w./@+-]*")
# A clone that takes longer should be made by hand.
TIMEOUT_S = 1_800


def is_git_url(spec: str) -> bool:
    return bool(URL.fullmatch(spec) or SCP_LIKE.fullmatch(spec))


def open_git(spec: str, options: ReadOptions) -> Folder:
    """Fetch (or bring up to date) the clone in the cache, and open it."""
    url, ref = url_and_ref(spec, options.ref)
    scheme, host, repo = check_url(url, options)
    if ref and (not REF.fullmatch(ref) or ".." in ref):
        raise InputError(f"{ref!r} is not a branch, tag or commit")
    if shutil.which("git") is None:
        raise InputError("git is not installed", "install it, or give a folder instead of a URL")
    readable = re.sub(r"[^\w.-]+", "-", f"{host}-{repo}").strip("-.")[:80]
    digest = blake2b(f"{url}@{ref}".encode(), digest_size=6).hexdigest()
    clone = options.cache / "git" / f"{readable}-{digest}"
    clone.parent.mkdir(parents=True, exist_ok=True)
    with _locked(clone.with_name(clone.name + ".lock")):
        _fetch(url, ref, scheme, clone, options.progress)
    name = f"{url}@{ref}" if ref else url
    return open_folder(str(clone), options, name=name, repo=repo.removeprefix("/"))


def url_and_ref(spec: str, wanted: str) -> tuple[str, str]:
    """The URL and ref of a source, from `URL@REF` (its name in the index) or from --ref (`wanted`)."""
    found = WITH_REF.fullmatch(spec)
    if found is None:
        return spec, wanted
    if wanted not in ("", found[2]):
        raise InputError(f"{spec} names {found[2]}, and --ref {wanted}", "leave one of them out")
    return found[1], found[2]


def check_url(url: str, options: ReadOptions) -> tuple[str, str, str]:
    """The scheme, host and `owner/name` of a URL that may be fetched; raises for any other."""
    scp = SCP.fullmatch(url) if "://" not in url else None
    try:
        parts = urlsplit(url)
        scheme = "ssh" if scp else parts.scheme.lower()
        password = parts.password
    except ValueError as error:
        raise InputError(f"{url!r} is not a URL: {error}") from error
    if scheme not in options.git_schemes:
        raise InputError(
            f"{scheme}:// is not an allowed way to fetch", f"allowed: {', '.join(sorted(options.git_schemes))}"
        )
    if password:
        raise InputError("the URL holds a password", "leave it out and use git's credential helper")
    host, repo = split_remote(url)
    if scheme == "file":
        return scheme, "", Path(parts.path).name.removesuffix(".git")
    if host.startswith("-") or not repo or any(ord(letter) <= 32 for letter in url):
        raise InputError(f"{url!r} is not the URL of a repository")
    if "*" not in options.git_hosts and host not in options.git_hosts:
        known = ", ".join(sorted(options.git_hosts))
        raise InputError(f"{host} is not an allowed host", f"allowed by TREELINE_GIT_HOSTS: {known}")
    return scheme, host, repo


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _fetch(url: str, ref: str, scheme: str, clone: Path, progress: Progress) -> None:
    """Check out the newest commit. Nothing in the repository is run."""
    if not (clone / ".git").is_dir():
        shutil.rmtree(clone, ignore_errors=True)
        _git(["init", "--quiet", "--template=", str(clone)], scheme)
        _git(["-C", str(clone), "remote", "add", "--", "origin", url], scheme)
    fetch = ["fetch", "--progress", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-auto-maintenance"]
    _git(["-C", str(clone), *fetch, "--", "origin", ref or "HEAD"], scheme, progress, url)
    _git(["-C", str(clone), "checkout", "--quiet", "--force", "--detach", "FETCH_HEAD"], scheme)


def _git(arguments: list[str], scheme: str, progress: Progress | None = None, url: str = "") -> None:
    process = subprocess.Popen(
        git_command(arguments, scheme),
        env=git_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    said = _watch(process, progress, url)
    if process.returncode != 0:
        lines = said.decode("utf-8", "replace").splitlines()  # git ends progress with \r
        last = next((line for line in reversed(lines) if line.startswith(("fatal:", "error:"))), "")
        raise TreelineError(f"git could not fetch {url or 'it'}: {last or f'exit {process.returncode}'}")


def _watch(process: subprocess.Popen[bytes], progress: Progress | None, url: str) -> bytes:
    """Collect what git prints, report its progress, and stop it after a timeout."""
    assert process.stderr is not None
    deadline, said = time.monotonic() + TIMEOUT_S, b""
    descriptor = process.stderr.fileno()
    os.set_blocking(descriptor, False)
    try:
        while process.poll() is None or said == b"":
            block = _read(descriptor)
            said = (said + block)[-20_000:]
            percent = PERCENT.findall(block)
            if percent and progress:
                progress(f"fetching {url}", int(percent[-1]), 100)
            if time.monotonic() > deadline:
                raise TreelineError(f"git took longer than {TIMEOUT_S} s to fetch {url}")
            if not block:
                if process.poll() is not None:
                    break
                time.sleep(0.02)
        return said + _read(descriptor)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stderr.close()


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65_536)
    except BlockingIOError:
        return b""
