"""Indexing on an agent's behalf: local folders below the allowed ones, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from treeline.corpus.errors import InputError, TreelineError
from treeline.search.settings import Settings, as_environment
from treeline.service.present.text import visible

TIME_LIMIT = 1_800  # seconds; a repository of 100,000 functions takes about one minute


def index_folder(folder: str, settings: Settings) -> str:
    """Index one folder into the served index; what the loader says of it: its counts, and why records were rejected.

    It runs as a process of its own: the protocol owns this one's standard output, and a loader that runs out of
    memory must not take the agent's connection with it. What this one was set up with by options, that one is told by
    variables: it writes where this one reads.
    """
    path = allowed_folder(folder, settings)
    command = [sys.executable, "-m", "treeline.service.cli", "index", str(path)]
    environment = os.environ | as_environment(settings)
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=TIME_LIMIT, env=environment
        )
    except subprocess.TimeoutExpired as error:
        raise TreelineError(f"{path} took longer than {TIME_LIMIT} s", "index it with `treeline index`") from error
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no reason given"]
        raise TreelineError(f"indexing {path} failed: {lines[-1].removeprefix('treeline: ')}")
    return visible(f"Indexed {path}\n{done.stdout.strip()}")


def allowed_roots(settings: Settings) -> list[Path]:
    """The folders that an agent may have read: those of the settings, or the one that the server runs in."""
    roots = [Path(root).expanduser().resolve() for root in settings.mcp_roots.split(os.pathsep) if root]
    return roots or [Path.cwd().resolve()]


def allowed_folder(folder: str, settings: Settings) -> Path:
    """The real folder, when it lies below an allowed one; links are followed before the comparison."""
    roots = allowed_roots(settings)
    if not folder.strip() or "\0" in folder or "://" in folder:
        raise InputError(f"{folder!r} is not a local folder", "name one; what is elsewhere is cloned first")
    try:
        path = Path(folder).expanduser().resolve()
        exists = path.is_dir()
    except (OSError, RuntimeError):  # a name that is too long, the home of nobody
        raise InputError(f"{folder[:80]!r} is not a local folder", "name an existing folder") from None
    if not any(path.is_relative_to(root) for root in roots):
        names = ", ".join(map(str, roots))
        raise InputError(f"{path} is outside the allowed folders ({names})", "TREELINE_MCP_ROOTS names them")
    if not exists:
        raise InputError(f"{path} is not a folder", "name an existing folder")
    return path
