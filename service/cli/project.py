"""The commands around a project: `outline` of a file, `watch` for changes, `completion` for shells."""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from treeline.service.cli.options import echo, echo_json, settings_for

COMPLETE = "_TREELINE_COMPLETE"  # set by click's completion scripts
SHELLS = {
    "bash": "~/.local/share/bash-completion/completions/treeline",
    "zsh": "~/.local/share/zsh/site-functions/_treeline",
    "fish": "~/.config/fish/completions/treeline.fish",
}
ZSH_HINT = "add to ~/.zshrc: fpath+=(~/.local/share/zsh/site-functions); autoload -U compinit; compinit"


@click.command("outline")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="As JSON, and nothing else on stdout.")
def outline(file: Path, as_json: bool) -> None:
    """Show what FILE defines: line, kind and name of every unit, indented by nesting."""
    show_outline(file, as_json=as_json)


def show_outline(file: Path, *, as_json: bool) -> None:
    from treeline.service.projects import outline_of

    units = outline_of(file)
    if as_json:
        echo_json(
            [
                {"name": unit.func_name, "kind": unit.kind, "lines": unit.address.lines, "depth": depth}
                for depth, unit in units
            ]
        )
        return
    for depth, unit in units:
        first = (unit.address.lines or (0, 0))[0]
        echo(f"{first:>6}  {'  ' * depth}{unit.kind} {unit.func_name}")


@click.command("watch")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), default=".")
def watch(folder: Path) -> None:
    """Keep the index of the project around FOLDER fresh until Ctrl-C."""
    from treeline.ingest import project
    from treeline.search.settings import open_store
    from treeline.service.projects import project_encoders, reading_of

    settings = settings_for("embedded", "")
    root = project.find_project(folder, settings.home_path)
    try:
        store, reading = open_store(settings), reading_of(settings)
        for change in project.watch(root, store, settings.home_path, reading, encoders=project_encoders(settings)):
            echo(str(change))
    except KeyboardInterrupt:
        echo(f"{root.name}: no longer watched", err=True)


@click.command("completion")
@click.argument("shell", type=click.Choice(list(SHELLS)), metavar="SHELL")
@click.option("--install", is_flag=True, help="Install it where the shell finds it.")
def completion(shell: str, install: bool) -> None:
    """Print the completion script for SHELL, or install it."""
    from treeline.service.cli import cli

    source_of = get_completion_class(shell)
    assert source_of is not None
    script = source_of(cli, {}, "treeline", COMPLETE).source()
    if not install:
        click.echo(script)
        return
    path = Path(SHELLS[shell]).expanduser()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(script, encoding="utf-8")
    click.echo(f"written: {path}; open a new {shell} to use it")
    if shell == "zsh" and str(path.parent) not in os.environ.get("FPATH", ""):
        click.echo(ZSH_HINT)
