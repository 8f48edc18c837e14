"""The `treeline` command: each subcommand is a file of its own, imported only when it is called."""

from __future__ import annotations

import sys
from importlib import import_module

import click

from corpus.errors import TreelineError

# The evaluation's commands are named here as text, so that the service does not import the room above it.
COMMANDS = {
    "index": "service.cli.index",
    "search": "service.cli.search",
    "serve": "service.cli.serve",
    "status": "service.cli.status",
    "doctor": "service.cli.doctor",
    "mcp": "service.cli.mcp",
    "keys": "service.cli.keys",
    "eval": "eval.cli",
    "bench": "eval.bench",
    "train-encoder": "service.cli.train_encoder",
}


class LazyGroup(click.Group):
    """A group that imports a subcommand's module when it is asked for: start-up is a feature."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = import_module(COMMANDS[cmd_name]).command
        assert isinstance(command, click.Command)
        return command


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="treeline")
def cli() -> None:
    """Treeline: find functions by what they do."""


def main() -> None:
    """Run the command line; an error is one readable line."""
    try:
        cli(standalone_mode=True)
    except TreelineError as error:
        click.echo(f"treeline: {error}", err=True)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
