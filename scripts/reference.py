"""Generates the reference pages of the command line and the languages: `make docs`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click

from treeline.ingest.parsers.formats import DEFINITIONS, DOCUMENTS, KEYS
from treeline.ingest.parsers.registry import FORMATS, PROGRAMS, grammars
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
# Languages whose call graph is resolved and tested.
IN_DEPTH = frozenset("python java go javascript typescript php ruby rust c cpp csharp kotlin".split())
# Formats without names for their parts.
PLAIN = frozenset({"properties", "xml", "css"})
# Names whose spelling is not the capitalised key.
TITLES = {
    "cpp": "C++", "csharp": "C#", "fsharp": "F#", "objc": "Objective-C", "javascript": "JavaScript", "php": "PHP",
    "typescript": "TypeScript", "ocaml": "OCaml", "elisp": "Emacs Lisp", "commonlisp": "Common Lisp", "hcl": "HCL",
    "powershell": "PowerShell", "vim": "Vim script", "proto": "Protocol Buffers", "graphql": "GraphQL", "css": "CSS",
    "restructuredtext": "reStructuredText", "asciidoc": "AsciiDoc", "latex": "LaTeX", "toml": "TOML", "ini": "INI",
    "yaml": "YAML", "json": "JSON", "cmake": "CMake", "sql": "SQL", "html": "HTML and templates", "xml": "XML",
    "text": "Plain text", "properties": "Properties", "org": "Org",
    "jupyter": "Jupyter notebooks", "d": "D", "c": "C", "r": "R", "vhdl": "VHDL",
    "matlab": "MATLAB",
}  # fmt: skip
CAPTURED = re.compile(r"@(function|interface|class|enum|type|constant)\b")
KIND_WORDS = {"function": "functions", "class": "classes", "interface": "interfaces", "enum": "enums"} | {
    "type": "types", "constant": "constants"
}  # fmt: skip


def pages() -> dict[Path, str]:
    """Each page with its generated text."""
    sections = [f"\n## {name}\n\n```\n{text}\n```\n" for name, text in helps(cli, "treeline")]
    languages = LANGUAGES.read_text(encoding="utf-8")
    return {
        COMMAND_LINE: HEAD + "".join(sections),
        LANGUAGES: TABLE.sub(lambda found: found[1] + language_table() + found[2], languages),
    }


def helps(command: click.Command, name: str, parent: click.Context | None = None) -> Iterator[tuple[str, str]]:
    """The name and help of a command and of all its subcommands."""
    # With the settings that a call has: click makes the help option once per process, by the first context.
    settings = {**command.context_settings, "terminal_width": WIDTH, "max_content_width": WIDTH}
    context = click.Context(command, info_name=name.rpartition(" ")[2], parent=parent, **settings)
    yield name, command.get_help(context).rstrip()
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            if found is not None and not found.hidden:
                yield from helps(found, f"{name} {inner}", context)


def language_table() -> str:
    """A table of languages and formats: files, units, and how far calls are resolved."""
    rows = ["| language | files | units | calls |", "|---|---|---|---|"]
    for name in grammars():
        files = " ".join(
            names for some in PROGRAMS.values() for key, names in some.items() if key.split(":")[0] == name
        )
        grammar = grammars()[name]
        found = set(CAPTURED.findall(grammar.query))
        units = ", ".join(words for kind, words in KIND_WORDS.items() if kind in found)
        depth = "in depth" if name in IN_DEPTH else "by name" if "@call" in grammar.query else ""
        rows.append(f"| {TITLES.get(name, name.capitalize())} | `{files}` | {units} | {depth} |")
    for name, (files, _) in FORMATS.items():
        units = (
            "sections" if name in DOCUMENTS else "functions, classes" if name in DEFINITIONS else "keys or targets"
            if name in KEYS and name not in PLAIN else "blocks"
        )  # fmt: skip
        rows.append(f"| {TITLES.get(name, name.capitalize())} | `{files}` | {units} | |")
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    for page, text in pages().items():
        page.write_text(text, encoding="utf-8")
