"""The command `log`: commits by what they are about."""

from __future__ import annotations

from contextlib import closing, suppress

import click

from treeline.corpus.errors import InputError, TreelineError
from treeline.service.cli.options import StrictCommand, echo, echo_json, index_options, target_settings

NO_HISTORY = "Treeline reads the history of git checkouts that are indexed; see TREELINE_HISTORY"


@click.command("log", cls=StrictCommand)
@click.argument("words", nargs=-1, metavar="[QUESTION]")
@index_options
@click.option("-k", "k", default=10, show_default=True, type=click.IntRange(1, 1000), help="How many commits.")
@click.option("--path", default="", metavar="FILE", help="The last commits that touched this file.")
@click.option("--json", "as_json", is_flag=True, help="As JSON, and nothing else on stdout.")
def log(words: tuple[str, ...], engine: str | None, name: str, k: int, path: str, as_json: bool) -> int:
    """Find commits by what they are about: treeline log why are uploads retried

    Exits with 0 if there are any, 1 if not, 2 after an error.
    """
    from treeline.graph.history import StoredHistory, history_file
    from treeline.ingest.history import update
    from treeline.service.present.text import describe_commit

    if bool(words) == bool(path):
        raise InputError("treeline log takes a question or --path FILE", "treeline log why are uploads retried")
    settings = target_settings(engine, name)
    with suppress(TreelineError):  # then what is there is searched
        update(settings.home_path, settings.index, {})
    with closing(StoredHistory(history_file(settings.home_path, settings.index))) as opener:
        if (history := opener()) is None:
            raise InputError("there is no history of this folder", NO_HISTORY)
        rows = history.find(" ".join(words), path, k)
    if as_json:
        echo_json([commit._asdict() | {"paths": paths} for commit, paths in rows])
    for commit, paths in () if as_json else rows:
        for line in describe_commit(commit, paths).splitlines():
            echo(line)
    return int(not rows)
