"""Runs git without hooks, filters, prompts or network access."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

TIMEOUT_S = 30
SETTINGS = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.symlinks": "false",
    # Of a pack that git maps at a time; without limits all of it, half a gigabyte for kubernetes.
    "core.packedGitWindowSize": "16m",
    "core.packedGitLimit": "128m",
    "protocol.allow": "never",
    "credential.interactive": "false",
    "filter.lfs.smudge": "",
    "filter.lfs.process": "",
    "filter.lfs.required": "false",
    "submodule.recurse": "false",
}


def git_command(arguments: Sequence[str], scheme: str = "") -> list[str]:
    """The command line. Without a scheme, git may only use local files."""
    settings = SETTINGS | ({f"protocol.{scheme}.allow": "always"} if scheme else {})
    return ["git", *(part for name, value in settings.items() for part in ("-c", f"{name}={value}")), *arguments]


def git_environment() -> dict[str, str]:
    """This process's environment without its GIT_ variables."""
    return {key: value for key, value in os.environ.items() if not key.startswith("GIT_")} | {
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "true",
        "SSH_ASKPASS": "true",
        "GIT_SSH_COMMAND": "ssh -oBatchMode=yes",
        "GIT_LFS_SKIP_SMUDGE": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "LC_ALL": "C",
    }


def run_git(top: Path, *arguments: str) -> bytes:
    """The output of git in a folder."""
    command = git_command(["-C", str(top), *arguments])
    return subprocess.run(
        command,
        env=git_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        timeout=TIMEOUT_S,
    ).stdout


def ask_git(top: Path, *arguments: str) -> str | None:
    """The answer of git, without the last line's end; None if it fails."""
    with suppress(OSError, subprocess.SubprocessError):
        return run_git(top, *arguments).decode("utf-8", "replace").strip()
    return None
