"""Indexes local folders for an agent, inside allowed folders only, in a separate process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from treeline.corpus.errors import InputError, TreelineError
from treeline.search.settings import Settings, as_environment
from treeline.service.present.text import visible
from treeline.service.projects import local_path

TIME_LIMIT = 1_800  # seconds; a repository of 100,000 functions takes about one minute


def index_folder(folder: str, settings: Settings) -> str:
    """Index one folder into the served index. Returns the loader's report: counts, and why records were rejected.

    The loader is a separate process: the protocol owns this one's standard output, and a loader that runs out of
    memory must not break the agent's connection. Environment variables pass on this process's options, so the loader
    writes the index that this process reads.
    """
    path = allowed_folder(folder, settings)
    command = [sys.executable, "-m", "treeline.service.cli", "index", str(path)]
    environment = os.environ | as_environment(settings)
    try:
        loader = subprocess.run(
            command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=TIME_LIMIT, env=environment
        )
    except subprocess.TimeoutExpired as error:
        raise TreelineError(f"{path} took longer than {TIME_LIMIT} s", "index it with `treeline index`") from error
    if loader.returncode:
        lines = loader.stderr.strip().splitlines() or ["no reason given"]
        raise TreelineError(f"indexing {path} failed: {lines[-1].removeprefix('treeline: ')}")
    return visible(f"Indexed {path}\n{loader.stdout.strip()}")


def allowed_roots(settings: Settings) -> list[Path]:
    """The folders that an agent may index and read: those of the settings, or the current folder."""
    roots = [Path(root).expanduser().resolve() for root in settings.mcp_roots.split(os.pathsep) if root]
    return roots or [Path.cwd().resolve()]


def allowed_folder(folder: str, settings: Settings) -> Path:
    """The resolved path of a folder below an allowed one; raises for any other. Links are followed first."""
    roots = allowed_roots(settings)
    if not folder.strip() or "://" in folder:
        raise InputError(f"{folder[:80]!r} is not a local folder", "name one; what is elsewhere is cloned first")
    path = local_path(folder)
    if not any(path.is_relative_to(root) for root in roots):
        names = ", ".join(map(str, roots))
        raise InputError(f"{path} is outside the allowed folders ({names})", "TREELINE_MCP_ROOTS names them")
    if not path.is_dir():
        raise InputError(f"{path} is not a folder", "name an existing folder")
    return path
