"""Printing for a person on a terminal, with colours, and for other programs."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from treeline.search.occurrences import Line
from treeline.service.present.text import visible


def is_for_a_person() -> bool:
    """Whether a person reads the output, and no other program."""
    return sys.stdout.isatty()


def say(text: str = "", **style: Any) -> None:
    """Print a line, styled on a terminal. Importing rich would take as long as the search."""
    click.echo(paint(text, **style), color=shows_colours())


def paint(text: str, **style: Any) -> str:
    return click.style(text, **style) if style and shows_colours() else text


def shows_colours() -> bool:
    """Whether to print colours, by the rules of no-color.org."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return bool(os.environ.get("FORCE_COLOR")) or sys.stdout.isatty()


def painted(line: Line) -> str:
    """The text of a line with what matches in red, as grep has it."""
    at, parts = 0, []
    for begin, end in line.spans:
        start = max(begin, at)  # parts of names may overlap by a letter
        parts += [visible(line.text[at:start]), paint(visible(line.text[start:end]), fg="red", bold=True)]
        at = max(at, end)
    return "".join((*parts, visible(line.text[at:])))


def grep_line(path: str, line: Line, column: int = 0) -> str:
    """`path:line:column: text`, which editors, `fzf` and Emacs read; a line of context as grep has it."""
    if not line.spans and not column:
        return f"{visible(path)}-{line.number}- {visible(line.text)}"
    return f"{visible(path)}:{line.number or 1}:{column or line.column}: {visible(line.text)}"
