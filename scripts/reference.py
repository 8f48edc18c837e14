"""Writes the reference pages that are made from the code, the command line's and the languages': `make docs`."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import click

from treeline.ingest.parsers.registry import by_suffix, grammars
from treeline.service.cli import cli

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "reference"
COMMAND_LINE, LANGUAGES = FOLDER / "command-line.md", FOLDER / "languages.md"
WIDTH = 100
HEAD = """# Command line

Made from `treeline COMMAND --help` by `make docs`. Every command takes `--help`. `--json` prints JSON and nothing else
on standard output. Exit codes: 0 done, 1 a failure, 2 bad input, 130 interrupted. Searches exit as grep does: 0 found,
1 nothing found, 2 an error.
"""
TABLE = re.compile(r"(<!-- languages -->\n).*?(<!-- end -->)", re.DOTALL)
KINDS = ("function", "class", "interface", "type", "enum", "constant")


def pages() -> dict[Path, str]:
    """Each page with its text as the code has it now."""
    sections = [f"\n## {name}\n\n```\n{text}\n```\n" for name, text in helps(cli, "treeline")]
    languages = LANGUAGES.read_text(encoding="utf-8")
    return {
        COMMAND_LINE: HEAD + "".join(sections),
        LANGUAGES: TABLE.sub(lambda found: found[1] + language_table() + found[2], languages),
    }


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


def language_table() -> str:
    """One row for each language with a grammar: its files, the units found in them, and whether calls are known."""
    suffixes: defaultdict[str, list[str]] = defaultdict(list)
    for suffix, grammar in by_suffix().items():
        suffixes[grammar.name].append(suffix)
    rows = ["| language | files | units | calls |", "|---|---|---|---|"]
    for name, grammar in sorted({one.name: one for one in grammars().values()}.items()):
        captures = set(re.findall(r"@([a-z]+)", grammar.query))
        units = ", ".join(kind for kind in KINDS if kind in captures)
        calls = "yes" if captures & {"call", "bare"} else ""
        rows.append(f"| {name} | `{' '.join(sorted(suffixes[name]))}` | {units} | {calls} |")
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    for page, text in pages().items():
        page.write_text(text, encoding="utf-8")
