"""`treeline install`: write Treeline into the configuration of a coding agent, or take it out again."""

from __future__ import annotations

import difflib
import json
import re
import shutil
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from treeline.corpus.errors import InputError

NAME = "treeline"
BEGIN, END = "<!-- treeline: begin -->", "<!-- treeline: end -->"
BLOCK = re.compile(rf"\n*{re.escape(BEGIN)}.*?{re.escape(END)}\n?", re.DOTALL)
INSTRUCTIONS = f"""{BEGIN}
## Finding code

Use the `treeline` tools before grep and before reading whole files: `search_code` finds code by what it does, by name,
or by exact text in quotes; `outline` and `read_lines` show a file; `find_callers` and `find_callees` follow calls.
{END}
"""
CURSOR_HEAD = "---\ndescription: How to find code\nalwaysApply: true\n---\n"


@dataclass(frozen=True, slots=True)
class Agent:
    """Where an agent has its servers and its instructions, below the project or (`~/`) the person's home folder."""

    label: str
    config: str
    keys: tuple[str, ...]  # the objects around our entry
    instructions: str
    entry: Callable[[list[str]], dict[str, Any]]
    head: str = ""  # of a file of instructions that is ours alone


def command_and_arguments(command: list[str]) -> dict[str, Any]:
    return {"command": command[0], "args": command[1:]}


AGENTS = {
    # https://code.claude.com/docs/en/mcp: project scope
    "claude": Agent("Claude Code", ".mcp.json", ("mcpServers",), "CLAUDE.md", command_and_arguments),
    # https://cursor.com/docs/context/mcp
    "cursor": Agent(
        "Cursor",
        ".cursor/mcp.json",
        ("mcpServers",),
        ".cursor/rules/treeline.mdc",
        command_and_arguments,
        CURSOR_HEAD,
    ),
    # https://developers.openai.com/codex/mcp
    "codex": Agent("Codex", "~/.codex/config.toml", ("mcp_servers",), "AGENTS.md", command_and_arguments),
    # https://geminicli.com/docs/tools/mcp-server
    "gemini": Agent("Gemini CLI", ".gemini/settings.json", ("mcpServers",), "GEMINI.md", command_and_arguments),
    # https://code.visualstudio.com/docs/copilot/customization/mcp-servers
    "copilot": Agent(
        "GitHub Copilot in VS Code",
        ".vscode/mcp.json",
        ("servers",),
        ".github/copilot-instructions.md",
        lambda command: {"type": "stdio"} | command_and_arguments(command),
    ),
    # https://opencode.ai/docs/mcp-servers
    "opencode": Agent(
        "OpenCode",
        "opencode.json",
        ("mcp",),
        "AGENTS.md",
        lambda command: {"type": "local", "command": command, "enabled": True},
    ),
}


@click.command("install")
@click.argument("agent", type=click.Choice(list(AGENTS)))
@click.option("--remove", is_flag=True, help="Take Treeline out of the files again.")
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@click.option("--folder", type=click.Path(exists=True, file_okay=False, path_type=Path), default=".", help="Project.")
def install(agent: str, remove: bool, dry_run: bool, folder: Path) -> None:
    """Write Treeline into the configuration of AGENT, with a short instruction, and show what changed."""
    chosen = AGENTS[agent]
    changes = [
        (path_of(chosen.config, folder), configured(chosen, path_of(chosen.config, folder), remove=remove)),
        (path_of(chosen.instructions, folder), instructed(chosen, path_of(chosen.instructions, folder), remove=remove)),
    ]
    changed = False
    for path, text in changes:
        before = read(path)
        if text == before:
            continue
        changed = True
        click.echo(difference(path, before, text), nl=False)
        if not dry_run:
            write(path, text)
    done = "would be changed" if dry_run else "taken out" if remove else "set up"
    click.echo(f"{chosen.label}: {done if changed else 'nothing to change'}")


def path_of(name: str, folder: Path) -> Path:
    return Path(name).expanduser() if name.startswith("~") else folder / name


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def write(path: Path, text: str) -> None:
    """Replace the file; one that has nothing left is removed."""
    if not text:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def difference(path: Path, before: str, after: str) -> str:
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), str(path), str(path), n=1
    )
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def configured(agent: Agent, path: Path, *, remove: bool) -> str:
    """The configuration with our entry, or without it; everything else stays as it is."""
    before = read(path)
    command = [(shutil.which(NAME) and NAME) or sys.argv[0], "mcp"]
    if path.suffix == ".toml":
        return configured_toml(before, path, None if remove else command)
    try:
        whole = json.loads(before) if before.strip() else {}
        if not isinstance(whole, dict):
            raise ValueError("it is no object")
    except ValueError as error:
        entry = json.dumps({agent.keys[0]: {NAME: agent.entry(command)}})
        raise InputError(f"{path} cannot be read as JSON: {error}", f"change it by hand: {entry}") from error
    servers = whole.setdefault(agent.keys[0], {})
    if remove:
        if servers.pop(NAME, None) is None:
            return before
        if not servers:
            del whole[agent.keys[0]]
        return json.dumps(whole, indent=2, ensure_ascii=False) + "\n" if whole else ""
    if servers.get(NAME) == agent.entry(command):
        return before
    servers[NAME] = agent.entry(command)
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def configured_toml(before: str, path: Path, command: list[str] | None) -> str:
    """The table `[mcp_servers.treeline]` set or removed; the rest keeps its comments and order."""
    try:
        tomllib.loads(before)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} cannot be read as TOML: {error}", "correct it first") from error
    table = f"[mcp_servers.{NAME}]"
    kept: list[str] = []
    ours = False
    for line in before.splitlines(keepends=True):
        if line.lstrip().startswith("["):
            ours = line.strip() == table or line.strip().startswith(f"[mcp_servers.{NAME}.")
        if not ours:
            kept.append(line)
    rest = "".join(kept).rstrip("\n")
    rest = f"{rest}\n" if rest else ""
    if command is None:
        return rest if rest != before.rstrip("\n") + "\n" else before
    gap = "\n" if rest else ""
    return f"{rest}{gap}{table}\ncommand = {json.dumps(command[0])}\nargs = {json.dumps(command[1:])}\n"


def instructed(agent: Agent, path: Path, *, remove: bool) -> str:
    """The file of instructions with our block, or without it."""
    before = read(path)
    rest = BLOCK.sub("\n", before).strip("\n")
    rest = f"{rest}\n" if rest and rest.strip() != agent.head.strip() else ""
    if remove:
        return rest
    return f"{rest}\n{INSTRUCTIONS}" if rest else f"{agent.head}{INSTRUCTIONS}"
