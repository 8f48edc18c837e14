"""Options that several commands share, and how they become settings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import click
from click.core import ParameterSource

from treeline.corpus.errors import InputError
from treeline.engine.names import check_name
from treeline.search.settings import Settings, from_environment

Command = Callable[..., Any]


class Once(click.Command):
    """A command that refuses an option given twice, as the API does a parameter: which of the two is meant?"""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        _, _, order = self.make_parser(ctx).parse_args(list(args))
        given = Counter(one for one in order if isinstance(one, click.Option) and not one.is_flag)
        repeated = sorted(max(one.opts, key=len) for one, times in given.items() if times > 1)
        if repeated:
            raise InputError(f"given more than once: {', '.join(repeated)}", "give every option once")
        return super().parse_args(ctx, args)


def where(command: Command) -> Command:
    """`--engine` and `--name`: which index is meant."""
    about = "Index; default: the setting `index`."
    command = click.option("--name", default="", metavar="NAME", callback=_not_empty, help=about)(command)
    engines = click.Choice(["embedded", "elasticsearch"])
    return click.option("--engine", type=engines, help="Where it lives; default: the setting `engine`.")(command)


def _not_empty(context: click.Context, parameter: click.Parameter, value: str) -> str:
    """A script whose variable is unset means no index, not the default one."""
    if not value and context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE:
        raise click.BadParameter("it is empty")
    return value


def settings_for(engine: str | None, name: str) -> Settings:
    """The environment's settings, with what the command line says."""
    settings = from_environment()
    return replace(settings, engine=engine or settings.engine, index=check_name(name) if name else settings.index)


def how_to_index(settings: Settings) -> str:
    """The command that makes the index these settings name, with the options that the environment does not say."""
    usual = from_environment()
    engine = f" --engine {settings.engine}" if settings.engine != usual.engine else ""
    name = f" --name {settings.index}" if settings.index != usual.index else ""
    return f"treeline index SOURCE{engine}{name}"
