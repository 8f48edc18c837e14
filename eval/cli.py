"""`treeline eval`: every claim about quality, repeated with one command."""

from __future__ import annotations

from importlib import import_module

import click

DATASETS = {
    "codesearchnet": "eval.cli_codesearchnet",
    "docstrings": "eval.cli_docstrings",
    "encoders": "eval.cli_encoders",
    "mined": "eval.cli_mined",
    "web": "eval.cli_web",
}


class LazyDatasets(click.Group):
    """A group that imports a data set's command when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(DATASETS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in DATASETS:
            return None
        command = import_module(DATASETS[cmd_name]).command
        assert isinstance(command, click.Command)
        return command


@click.group(cls=LazyDatasets)
def command() -> None:
    """Measure the quality of search."""
