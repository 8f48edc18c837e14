"""From the SOURCE that a person writes to an opened source."""

from __future__ import annotations

from pathlib import Path

from corpus.errors import InputError
from ingest.source import ReadOptions, Source

FORMS = "codesearchnet:DIR-or-zip, a folder, a git URL, python-env, or a .jsonl[.gz] file"


def open_source(spec: str, options: ReadOptions | None = None) -> Source:
    """Open it, or say in one line what was wrong with it."""
    options = options or ReadOptions()
    if spec.startswith("codesearchnet:"):
        from ingest.codesearchnet import open_codesearchnet

        return open_codesearchnet(spec.removeprefix("codesearchnet:"), options)
    if not Path(spec).exists():
        raise InputError(f"{spec!r} is not a source", f"a source is {FORMS}")
    raise InputError(f"{spec!r} cannot be read yet", f"a source is {FORMS}")
