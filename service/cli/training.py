"""What the commands that teach models share: their options, what they read, and the extra that they need."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from treeline.corpus.errors import InputError
from treeline.corpus.function import Function

NEVER = click.option(
    "--never",
    type=click.Path(exists=True, path_type=Path),
    multiple=True,
    help="File of questions (lines, or JSON lines with `query`) that no example may ask.",
)
ANSWERED = click.option(
    "--answered",
    type=click.Path(exists=True, path_type=Path),
    multiple=True,
    help="JSON lines of questions (`query`) with the function that answers each (its `url`): what people asked and "
    "chose. They teach most; those of functions that are held out say when to stop.",
)
GENERATED = click.option(
    "--generated",
    type=click.Path(exists=True, path_type=Path),
    multiple=True,
    help="The same, written by a model (`treeline write-questions`): more of them, and they count less.",
)
RATE = click.option("--rate", type=float, help="Learning rate: the smaller the model, the higher.")
DEVICE = click.option("--device", default="", help="cuda or cpu; empty: what is there.")


@contextmanager
def needing_torch(what: str) -> Iterator[None]:
    """Where the imports inside fail, say which extra brings them."""
    try:
        yield
    except ImportError as error:
        raise InputError(
            f"{what} needs torch and sentence-transformers: {error}", "install the `transformers` extra"
        ) from error


def given(**numbers: float | None) -> dict[str, Any]:
    """Those that the caller gave, to replace the usual ones."""
    return {name: value for name, value in numbers.items() if value is not None}


def read(sources: tuple[str, ...]) -> list[Function]:
    """All functions of the sources; what cannot be read is left out, and counted in the log."""
    from treeline.ingest.sources import functions_of, open_source

    return [function for source in sources for function in functions_of(open_source(source))]


def lines_of(files: tuple[Path, ...]) -> tuple[str, ...]:
    """The questions or wishes in text, CSV or JSON lines files."""
    # Not by `splitlines`: of what else ends a line for Unicode (U+2028), JSON may hold some in a string.
    lines = [line.strip() for file in files for line in file.read_text(encoding="utf-8").split("\n")]
    return tuple(json.loads(line)["query"] if line.startswith("{") else line for line in lines if line)
