"""Questions in a file, one JSON object a line: a file that cannot be read and a line that is no question are named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import orjson

from treeline.corpus.errors import InputError

Row = TypeVar("Row")


def read(path: Path, make: Callable[[Any], Row], one: str, several: str) -> list[Row]:
    """What `make` makes of each line; `one` and `several` are what the messages call them."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    rows = []
    for number, line in enumerate(lines, start=1):
        try:
            rows.append(make(orjson.loads(line)))
        except (orjson.JSONDecodeError, KeyError, TypeError) as error:
            raise InputError(f"{path}, line {number}: not {one} ({error})") from None
    if not rows:
        raise InputError(f"{path} has no {several}")
    return rows
