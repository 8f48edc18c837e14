"""How git is run here: nothing of a repository is executed, and nobody is asked for anything."""

from __future__ import annotations

import os
from collections.abc import Sequence

SETTINGS = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.symlinks": "false",
    "protocol.allow": "never",
    "credential.interactive": "false",
    "filter.lfs.smudge": "",
    "filter.lfs.process": "",
    "filter.lfs.required": "false",
    "submodule.recurse": "false",
}


def git_command(arguments: Sequence[str], scheme: str = "") -> list[str]:
    """The command line; without a scheme git reaches nothing but the files that are here."""
    settings = SETTINGS | ({f"protocol.{scheme}.allow": "always"} if scheme else {})
    return ["git", *(part for name, value in settings.items() for part in ("-c", f"{name}={value}")), *arguments]


def git_environment() -> dict[str, str]:
    """This process's, without what it says to git."""
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
