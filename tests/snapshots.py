"""Expected output in files: `make snapshots` writes them anew, and `git diff` shows what has changed."""

import os
from pathlib import Path

UPDATE = "UPDATE_SNAPSHOTS"
SUFFIX = ".snap"


def fixtures(folder: Path) -> list[Path]:
    """The files below a folder that are not snapshots."""
    return sorted(file for file in folder.rglob("*") if file.is_file() and file.suffix != SUFFIX)


def check(snapshot: Path, text: str) -> None:
    """Compare a text with its snapshot, or write the snapshot if the environment says so."""
    if os.environ.get(UPDATE):
        snapshot.write_text(text, encoding="utf-8", newline="")
    assert snapshot.is_file(), f"{snapshot} is missing: `make snapshots` writes it"
    assert text.splitlines() == snapshot.read_bytes().decode().splitlines()
