"""Printing for a person on a terminal, with colours and a pager, and for other programs."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from typing import Any

import click

from treeline.search.occurrences import Line
from treeline.service.cli.options import Command
from treeline.service.present.text import visible, visible_name


def is_for_a_person() -> bool:
    """Whether a person reads the output, and no other program: Emacs' compile mode gives it a terminal."""
    return sys.stdout.isatty() and "compile" not in os.environ.get("INSIDE_EMACS", "")


class _Page(TextIOWrapper):
    """The input of a pager, which shows a terminal what it gets."""

    def isatty(self) -> bool:
        return True


@contextmanager
def pager(*, wanted: bool = True) -> Iterator[None]:
    """Show what is printed in the user's pager, as git does: `PAGER`, else `less`, which leaves a short text alone."""
    command = shlex.split(os.environ.get("PAGER", "less"))
    plain = command[:1] in ([], ["cat"]) or os.environ.get("TERM") == "dumb"
    if not wanted or plain or not is_for_a_person() or not shutil.which(command[0]):
        yield
        return
    environment = {"LESS": "FRX", **os.environ}
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=environment) as process:
        assert process.stdin is not None
        terminal, sys.stdout = sys.stdout, _Page(process.stdin, encoding="utf-8", errors="replace")
        try:
            with suppress(BrokenPipeError):  # left before the end
                yield
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the pager's
            with suppress(BrokenPipeError):
                sys.stdout.close()
            sys.stdout = terminal


def pager_option(command: Command) -> Command:
    return click.option("--no-pager", is_flag=True, help="Don't show long answers in a pager.")(command)


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
        return f"{visible_name(path)}-{line.number}- {visible(line.text)}"
    return f"{visible_name(path)}:{line.number or 1}:{column or line.column}: {visible(line.text)}"
