"""Options that name what a command writes: whether it can be written is found out before the work, not after it."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import click


class Target(click.Path):
    """A file in a folder that is there, or (`folder=True`) a folder that is made with those it lies in."""

    def __init__(self, *, folder: bool = False) -> None:
        super().__init__(file_okay=not folder, dir_okay=folder, writable=True, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if path.exists():  # and click has seen that it can be written; `/dev/stdout` is in a folder that cannot
            return path
        above = path.absolute().parents
        where = next(folder for folder in above if folder.exists()) if self.dir_okay else above[0]
        if not where.is_dir():
            self.fail(f"cannot write {path}: {where} is no folder", param, ctx)
        try:
            # Tried, not asked for: root may write everywhere, and yet nowhere in /proc or on a read-only disk.
            with TemporaryFile(dir=where):
                pass
        except OSError as error:
            self.fail(f"cannot write {path}: in {where}: {error.strerror}", param, ctx)
        return path
