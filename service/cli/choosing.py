"""The function that a command's FUNCTION means; where a name means several, they are listed to choose from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from treeline.corpus.errors import InputError
from treeline.service.cli.options import Command

if TYPE_CHECKING:
    from treeline.corpus.function import Function
    from treeline.search.live import LiveSearcher


def which(command: Command) -> Command:
    """The argument FUNCTION, with `--repo` and `--path` to narrow a name that several have."""
    about = "Of paths that begin so."
    command = click.option("--path", "path_prefix", default="", metavar="PREFIX", help=about)(command)
    command = click.option("--repo", default="", metavar="OWNER/NAME", help="Of this repository.")(command)
    return click.argument("function", metavar="FUNCTION")(command)


def chosen(searcher: LiveSearcher, reference: str, repo: str, path_prefix: str) -> Function:
    """The one function; a choice goes to stderr with ids, any of which may be given instead of the name."""
    from treeline.engine.protocol import Filters
    from treeline.search.meant import Ambiguous, meant

    filters = Filters(repo=repo, path_prefix=path_prefix)
    try:
        return meant(searcher, reference, otherwise="treeline search finds it by what it does", filters=filters)
    except Ambiguous as several:
        from rich.console import Console
        from rich.text import Text

        from treeline.service.cli.answer_text import headline

        console = Console(stderr=True, highlight=False)
        for one in several.functions:
            console.print(Text(f"{one.id}  ") + headline(one.address), soft_wrap=True)
        hint = "give the id of one, its whole name (Class.name, module.name), or narrow it by --repo and --path"
        raise InputError(several.message, hint) from None
