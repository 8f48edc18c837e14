"""Writes docs/reference/command-line.md from the commands' own help: `make docs`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from treeline.service.cli import cli

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "command-line.md"
WIDTH = 100
HEAD = """# Command line

Made from `treeline COMMAND --help` by `make docs`. Every command takes `--help`. `--json` prints JSON and nothing else
on standard output. Exit codes: 0 done, 1 a failure, 2 bad input, 130 interrupted.
"""


def page() -> str:
    """The help of every command, one section each."""
    sections = [f"\n## {name}\n\n```\n{text}\n```\n" for name, text in helps(cli, "treeline")]
    return HEAD + "".join(sections)


def helps(command: click.Command, name: str, parent: click.Context | None = None) -> Iterator[tuple[str, str]]:
    """The name and help of a command and of all below it."""
    context = click.Context(command, info_name=name.rpartition(" ")[2], parent=parent, max_content_width=WIDTH)
    context.terminal_width = WIDTH
    yield name, command.get_help(context).rstrip()
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            if found is not None and not found.hidden:
                yield from helps(found, f"{name} {inner}", context)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
