"""Fetches a git URL, from allowed hosts only, without hooks, prompts or submodules, and reads it as a folder."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from urllib.parse import urlsplit

from treeline.corpus.errors import InputError, TreelineError
from treeline.graph.git import git_command, git_environment
from treeline.ingest.source import MAX_RATIO, ReadOptions, without_user
from treeline.ingest.sources.checkout import SCP, split_remote
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
# A file takes more bytes than this in a pack: its name and hash in a tree, and its content.
LEAST_BYTES = 20
# Small repositories may be packed as well as they like.
FREE_FILES, FREE_BYTES = 1_000, 50_000_000
BLOCK = 1 << 20


def is_git_url(spec: str) -> bool:
    return bool(URL.fullmatch(spec) or SCP_LIKE.fullmatch(spec))


def open_git(spec: str, options: ReadOptions) -> Folder:
    """Fetch (or bring up to date) the clone in the cache, and open it."""
    url, ref = url_and_ref(spec, options.ref)
    scheme, host, repo = check_url(url, options)
    url = without_user(url)
    if ref and (not REF.fullmatch(ref) or ".." in ref):
        raise InputError(f"{ref!r} is not a branch, tag or commit")
    if shutil.which("git") is None:
        raise InputError("git is not installed", "install it, or give a folder instead of a URL")
    readable = re.sub(r"[^\w.-]+", "-", f"{host}-{repo}").strip("-.")[:80]
    digest = blake2b(f"{url}@{ref}".encode(), digest_size=6).hexdigest()
    clone = options.cache / "git" / f"{readable}-{digest}"
    clone.parent.mkdir(parents=True, exist_ok=True)
    with _lock(clone.with_name(clone.name + ".lock")):
        try:
            _fetch(url, ref, scheme, clone, options)
        except InputError:  # it is too large
            shutil.rmtree(clone, ignore_errors=True)
            raise
    name = f"{url}@{ref}" if ref else url
    return open_folder(str(clone), options, name=name, repo=repo.removeprefix("/"))


def url_and_ref(spec: str, option: str) -> tuple[str, str]:
    """The URL and ref of a source, from `URL@REF` (its name in the index) or from --ref (`wanted`)."""
    match = WITH_REF.fullmatch(spec)
    if match is None:
        return spec, option
    if option not in ("", match[2]):
        raise InputError(f"{without_user(spec)} names {match[2]}, and --ref {option}", "leave one of them out")
    return match[1], match[2]


def check_url(url: str, options: ReadOptions) -> tuple[str, str, str]:
    """The scheme, host and `owner/name` of a URL that may be fetched; raises for any other."""
    scp = SCP.fullmatch(url) if "://" not in url else None
    try:
        parts = urlsplit(url)
        scheme = "ssh" if scp else parts.scheme.lower()
        password = parts.password
    except ValueError as error:
        raise InputError(f"{without_user(url)!r} is not a URL: {error}") from error
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
        raise InputError(f"{without_user(url)!r} is not the URL of a repository")
    if "*" not in options.git_hosts and host not in options.git_hosts:
        known = ", ".join(sorted(options.git_hosts))
        raise InputError(f"{host} is not an allowed host", f"allowed by TREELINE_GIT_HOSTS: {known}")
    return scheme, host, repo


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _too_large(url: str, why: str, setting: str = "") -> InputError:
    """The error for a repository over a limit: that of a setting, or what is plausible for its size in git."""
    remedy = f"raise TREELINE_{setting}, or " if setting else ""
    message = f"{url} {why}{'' if setting else ', which is not plausible for its size in git'}"
    return InputError(message, f"if that is intended, {remedy}clone it and give the folder")


def _fetch(url: str, ref: str, scheme: str, clone: Path, options: ReadOptions) -> None:
    """Check out the newest commit. Nothing in the repository is run."""
    packs = clone / ".git" / "objects" / "pack"

    def watch(percent: int) -> None:
        if _bytes_in(packs) > options.max_pack_bytes:
            most = f"{options.max_pack_bytes / 1e6:,.0f} MB"
            raise _too_large(url, f"is more than {most} to fetch", "GIT_PACK_MB")
        if percent:
            options.progress(f"fetching {url}", percent, 100)

    if not (clone / ".git").is_dir():
        shutil.rmtree(clone, ignore_errors=True)
        _git(["init", "--quiet", "--template=", str(clone)], scheme)
        _git(["-C", str(clone), "remote", "add", "--", "origin", url], scheme)
    # Always one pack, whose size tells how much there is.
    fetch = ["-c", "fetch.unpackLimit=1", "fetch", "--progress", "--depth=1", "--no-tags"]
    fetch += ["--no-recurse-submodules", "--no-auto-maintenance"]
    _git(["-C", str(clone), *fetch, "--", "origin", ref or "HEAD"], scheme, watch, url)
    watch(0)  # a fast fetch may end unseen
    _check_size(clone, url, options)
    _git(["-C", str(clone), "checkout", "--quiet", "--force", "--detach", "FETCH_HEAD"], scheme)


def _check_size(clone: Path, url: str, options: ReadOptions) -> None:
    """Raise if a checkout would be too large: for the settings, or for what was fetched.

    A hundred thousand files may be one that a few trees name again and again, so they are counted while git lists them.
    """
    pack_size = _bytes_in(clone / ".git" / "objects")
    most_files = min(options.max_source_files, pack_size // LEAST_BYTES + FREE_FILES)
    most_bytes = min(options.max_source_bytes, pack_size * MAX_RATIO + FREE_BYTES)
    command = git_command(["-C", str(clone), "ls-tree", "-r", "-l", "-z", "--full-tree", "FETCH_HEAD"])
    files = size = 0
    process = subprocess.Popen(command, env=git_environment(), stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout is not None
    with _kill_at_end(process):
        rest = b""
        while block := process.stdout.read(BLOCK):
            *entries, rest = (rest + block).split(b"\0")
            files += len(entries)
            size += sum(int(number) for entry in entries if (number := entry.partition(b"\t")[0].split()[-1]).isdigit())
            if files > most_files:
                setting = "SOURCE_FILES" if most_files == options.max_source_files else ""
                raise _too_large(url, f"has more than {most_files:,} files", setting)
            if size > most_bytes or len(rest) > BLOCK:
                setting = "SOURCE_MB" if most_bytes == options.max_source_bytes else ""
                raise _too_large(url, f"unpacks to more than {most_bytes / 1e6:,.0f} MB", setting)
        if process.wait():
            raise TreelineError(f"git cannot list the files of {url}")


def _bytes_in(folder: Path) -> int:
    total = 0
    for top, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):  # git has just renamed it
                total += os.lstat(f"{top}/{name}").st_size
    return total


@contextmanager
def _kill_at_end(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Ends a process, with whatever it started, at the end of the block."""
    with process:
        try:
            yield
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def _git(arguments: list[str], scheme: str, watch: Callable[[int], None] | None = None, url: str = "") -> None:
    process = subprocess.Popen(
        git_command(arguments, scheme),
        env=git_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    said = _collect(process, watch, url)
    if process.returncode != 0:
        lines = said.decode("utf-8", "replace").splitlines()  # git ends progress with \r
        last = next((line for line in reversed(lines) if line.startswith(("fatal:", "error:"))), "")
        raise TreelineError(f"git could not fetch {url or 'it'}: {last or f'exit {process.returncode}'}")


def _collect(process: subprocess.Popen[bytes], watch: Callable[[int], None] | None, url: str) -> bytes:
    """Everything git prints. `watch` gets the percentage each time; it or a timeout may stop git by an exception."""
    assert process.stderr is not None
    deadline, said = time.monotonic() + TIMEOUT_S, b""
    descriptor = process.stderr.fileno()
    os.set_blocking(descriptor, False)
    with _kill_at_end(process):
        while process.poll() is None or said == b"":
            block = _read(descriptor)
            said = (said + block)[-20_000:]
            if watch:
                watch(int((PERCENT.findall(block) or [0])[-1]))
            if time.monotonic() > deadline:
                raise TreelineError(f"git took longer than {TIMEOUT_S} s to fetch {url}")
            if not block:
                if process.poll() is not None:
                    break
                time.sleep(0.02)
        return said + _read(descriptor)


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65_536)
    except BlockingIOError:
        return b""
