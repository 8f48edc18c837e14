"""Options that name what a command writes: whether it can be written is found out before the work, not after it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click


class Target(click.Path):
    """A file in a folder that is there, or (`folder=True`) a folder that is made with those it lies in."""

    def __init__(self, *, folder: bool = False) -> None:
        super().__init__(file_okay=not folder, dir_okay=folder, writable=True, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        above = path.absolute().parents
        where = next(folder for folder in above if folder.exists()) if self.dir_okay else above[0]
        if not where.is_dir():
            self.fail(f"cannot write {path}: {where} is no folder", param, ctx)
        if not os.access(where, os.W_OK):
            self.fail(f"cannot write {path}: {where} is not yours to write in", param, ctx)
        return path
