"""`treeline install`: write Treeline into the configuration of a coding agent, or take it out again."""

from __future__ import annotations

import difflib
import json
import re
import shutil
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from treeline.corpus.errors import InputError
from treeline.corpus.frozen import frozen
from treeline.service.cli import jsonc

NAME = "treeline"
BEGIN, END = "<!-- treeline: begin -->", "<!-- treeline: end -->"
BLOCK = re.compile(rf"\n*{re.escape(BEGIN)}.*?{re.escape(END)}\n?", re.DOTALL)
INSTRUCTIONS = f"""{BEGIN}
## Finding code

Use the `treeline` tools before grep and before reading whole files: `search_code` finds code by what it does, by name,
or by exact text in quotes, and answers with `path:first-last` and the best lines. `get_function` and `read_lines` show
more of one place, `outline` what a file defines, `find_callers` and `find_callees` follow calls.
{END}
"""
CURSOR_HEAD = "---\ndescription: How to find code\nalwaysApply: true\n---\n"


@frozen
class Agent:
    """The files where an agent keeps its servers and instructions, in the project or (`~/`) the home folder."""

    label: str
    configs: tuple[str, ...]  # written: the first that exists, or else the first
    keys: tuple[str, ...]  # path to the object that contains our entry
    instructions: str
    entry: Callable[[list[str], Path], dict[str, Any]]
    head: str = ""  # header of an instructions file that only we write
    inner: str = ""  # a nested object that newer versions of the agent use for entries, if present


def stdio(command: list[str], _folder: Path) -> dict[str, Any]:
    return {"command": command[0], "args": command[1:]}


def typed_stdio(command: list[str], folder: Path) -> dict[str, Any]:
    return {"type": "stdio"} | stdio(command, folder)


def rooted_stdio(command: list[str], folder: Path) -> dict[str, Any]:
    """Names the project's folder, for an agent with one list of servers for all projects."""
    return stdio([*command, "--root", str(folder.resolve())], folder)


def local_list(command: list[str], _folder: Path) -> dict[str, Any]:
    return {"type": "local", "command": command, "enabled": True}


def local_tools(command: list[str], folder: Path) -> dict[str, Any]:
    return {"type": "local"} | stdio(command, folder) | {"tools": ["*"]}


SERVERS = ("mcpServers",)
NOTES = "AGENTS.md"
AGENTS = {
    # https://code.claude.com/docs/en/mcp: project scope
    "claude": Agent("Claude Code", (".mcp.json",), SERVERS, "CLAUDE.md", stdio),
    # https://cursor.com/docs/mcp, https://cursor.com/docs/rules
    "cursor": Agent("Cursor", (".cursor/mcp.json",), SERVERS, ".cursor/rules/treeline.mdc", stdio, CURSOR_HEAD),
    # https://developers.openai.com/codex/mcp; a project's own .codex/config.toml counts only once it is trusted
    "codex": Agent("Codex", ("~/.codex/config.toml",), ("mcp_servers",), NOTES, stdio),
    # https://geminicli.com/docs/tools/mcp-server
    "gemini": Agent("Gemini CLI", (".gemini/settings.json",), SERVERS, "GEMINI.md", stdio),
    # https://code.visualstudio.com/docs/copilot/customization/mcp-servers
    "copilot": Agent(
        "GitHub Copilot in VS Code",
        (".vscode/mcp.json",),
        ("servers",),
        ".github/copilot-instructions.md",
        typed_stdio,
    ),
    # https://docs.github.com/en/copilot/how-tos/copilot-cli/customize-copilot/add-mcp-servers
    "copilot-cli": Agent("GitHub Copilot CLI", ("~/.copilot/mcp-config.json",), SERVERS, NOTES, local_tools),
    # https://opencode.ai/docs/mcp-servers; version 2 has the entries in `mcp.servers`, and reads the older form too
    "opencode": Agent("OpenCode", ("opencode.json", "opencode.jsonc"), ("mcp",), NOTES, local_list, inner="servers"),
    # https://zed.dev/docs/ai/mcp
    "zed": Agent("Zed", (".zed/settings.json",), ("context_servers",), NOTES, stdio),
    # https://docs.windsurf.com/windsurf/cascade/mcp
    "windsurf": Agent("Windsurf", ("~/.codeium/windsurf/mcp_config.json",), SERVERS, NOTES, rooted_stdio),
    # https://ampcode.com/manual
    "amp": Agent("Amp", (".amp/settings.json",), ("amp.mcpServers",), NOTES, stdio),
}


@click.command("install")
@click.argument("agent", type=click.Choice(list(AGENTS)), metavar="AGENT")
@click.option("--remove", is_flag=True, help="Take Treeline out of the files again.")
@click.option("--yes", is_flag=True, help="Write the changes without asking.")
@click.option(
    "--folder", type=click.Path(exists=True, file_okay=False, path_type=Path), default=".", help="The project."
)
def install(agent: str, remove: bool, yes: bool, folder: Path) -> None:
    """Write Treeline into the configuration of AGENT, with a short instruction.

    AGENT is claude, cursor, codex, gemini, copilot, copilot-cli, opencode, zed, windsurf or amp. Shows what would
    change and asks first; without a terminal to ask at, nothing is written unless --yes says so.
    """
    target = AGENTS[agent]
    config, notes = config_of(target, folder), path_of(target.instructions, folder)
    texts = {
        config: config_text(target, config, folder, remove=remove),
        notes: notes_text(target, notes, remove=remove),
    }
    changes = {path: text for path, text in texts.items() if text != read(path)}
    for path, text in changes.items():
        click.echo(difference(path, read(path), text), nl=False)
    if not changes:
        click.echo(f"{target.label}: nothing to change")
        return
    if not yes and not sys.stdin.isatty():
        click.echo(f"{target.label}: nothing is written yet; --yes writes it")
        return
    if not yes and not click.confirm("Write this?", default=True):
        click.echo(f"{target.label}: left as it is")
        return
    for path, text in changes.items():
        write(path, text)
    click.echo(f"{target.label}: {'taken out' if remove else 'set up'}")


def config_of(agent: Agent, folder: Path) -> Path:
    paths = [path_of(name, folder) for name in agent.configs]
    return next((path for path in paths if path.exists()), paths[0])


def path_of(name: str, folder: Path) -> Path:
    return Path(name).expanduser() if name.startswith("~") else folder / name


def read(path: Path) -> str:
    return path.read_bytes().decode("utf-8") if path.exists() else ""


def write(path: Path, text: str) -> None:
    """Replace the file, or remove it if nothing is left."""
    if not text:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="")


def difference(path: Path, before: str, after: str) -> str:
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), str(path), str(path), n=1
    )
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def config_text(agent: Agent, path: Path, folder: Path, *, remove: bool) -> str:
    """The configuration with our entry, or without it. Everything else is unchanged."""
    before = read(path)
    command = [(shutil.which(NAME) and NAME) or str(Path(sys.argv[0]).absolute()), "mcp"]
    if path.suffix == ".toml":
        return toml_text(before, path, None if remove else command)
    entry = agent.entry(command, folder)
    keys = agent.keys
    try:
        outer = jsonc.read(before).get(keys[0])
        if agent.inner and isinstance(outer, dict) and isinstance(outer.get(agent.inner), dict):
            keys = (*keys, agent.inner)
        return jsonc.remove_entry(before, (*keys, NAME)) if remove else jsonc.set_entry(before, (*keys, NAME), entry)
    except ValueError as error:
        snippet = json.dumps({keys[0]: {NAME: entry}})
        raise InputError(f"{path} cannot be read as JSON: {error}", f"change it by hand: {snippet}") from error


def toml_text(before: str, path: Path, command: list[str] | None) -> str:
    """The table `[mcp_servers.treeline]` set or removed; the rest keeps its comments and order."""
    try:
        tomllib.loads(before)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} cannot be read as TOML: {error}", "correct it first") from error
    table = f"[mcp_servers.{NAME}]"
    lines: list[str] = []
    ours = False
    for line in before.splitlines(keepends=True):
        if line.lstrip().startswith("["):
            ours = line.strip() == table or line.strip().startswith(f"[mcp_servers.{NAME}.")
        if not ours:
            lines.append(line)
    rest = "".join(lines).rstrip("\n")
    rest = f"{rest}\n" if rest else ""
    if command is None:
        return rest if rest != before.rstrip("\n") + "\n" else before
    gap = "\n" if rest else ""
    return f"{rest}{gap}{table}\ncommand = {json.dumps(command[0])}\nargs = {json.dumps(command[1:])}\n"


def notes_text(agent: Agent, path: Path, *, remove: bool) -> str:
    """The instructions file with our block, or without it."""
    before = read(path)
    rest = BLOCK.sub("\n", before).strip("\n")
    rest = f"{rest}\n" if rest and rest.strip() != agent.head.strip() else ""
    if remove:
        return rest
    return f"{rest}\n{INSTRUCTIONS}" if rest else f"{agent.head}{INSTRUCTIONS}"
