"""Options that several commands share, and how they become settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import click

from service.settings import Settings, from_environment

Command = Callable[..., Any]


def where(command: Command) -> Command:
    """`--engine` and `--name`: which index is meant."""
    command = click.option("--name", default="", metavar="NAME", help="Index; default: the setting `index`.")(command)
    engines = click.Choice(["embedded", "elasticsearch"])
    return click.option("--engine", type=engines, help="Where it lives; default: the setting `engine`.")(command)


def settings_for(engine: str | None, name: str) -> Settings:
    """The environment's settings, with what the command line says."""
    settings = from_environment()
    return replace(settings, engine=engine or settings.engine, index=name or settings.index)
