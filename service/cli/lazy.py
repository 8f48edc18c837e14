"""A group of commands, each imported only when it is called: start-up is a feature."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import click

from treeline.corpus.errors import InputError


class LazyGroup(click.Group):
    """`modules` has each command's module and its one line of help, so that `--help` imports none of them."""

    def __init__(self, *args: Any, modules: Mapping[str, tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._modules = modules

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._modules:
            return None
        command = import_module(self._modules[cmd_name][0]).command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in self._modules.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self._modules and not args[0].startswith("-"):
            near = get_close_matches(args[0], self._modules, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"commands: {', '.join(self._modules)}"
            raise InputError(f"there is no command {args[0]!r}", hint)
        return super().resolve_command(ctx, args)
