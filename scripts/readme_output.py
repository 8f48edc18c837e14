"""Runs the commands that the README shows and puts their output under them: `make readme`.

A command is in a comment, `<!-- $ treeline … -->`; the fenced block after it is replaced.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"
SHOWN = re.compile(r"(<!-- \$ (?P<command>.+?) -->\n)(?:```\n.*?```\n)?", re.DOTALL)


def block(match: re.Match[str]) -> str:
    command = match["command"]
    program, *arguments = shlex.split(command)
    done = subprocess.run(
        [Path(sys.executable).parent / program, *arguments],
        env=os.environ | {"COLUMNS": "110"},
        capture_output=True,
        text=True,
        check=True,
    )
    return f"{match[1]}```\n$ {command}\n{done.stdout.rstrip()}\n```\n"


if __name__ == "__main__":
    README.write_text(SHOWN.sub(block, README.read_text(encoding="utf-8")), encoding="utf-8")
