"""`treeline show`: one function with its address, its code, and how many call it and are called."""

from __future__ import annotations

import click

from treeline.service.cli.choosing import chosen, which
from treeline.service.cli.options import Once, settings_for, where


@click.command("show", cls=Once)
@which
@where
@click.option("--json", "as_json", is_flag=True, help="JSON in the shape of the HTTP API, and nothing else on stdout.")
def command(function: str, repo: str, path_prefix: str, engine: str | None, name: str, as_json: bool) -> None:
    """Show one function whole.

    FUNCTION is its name, alone or behind its class or module, a line of it (path:12), or its id.
    """
    from treeline.search.live import open_searcher

    searcher = open_searcher(settings_for(engine, name))
    try:
        found = chosen(searcher, function, repo, path_prefix)
        callers, callees = searcher.callers(found.id), searcher.callees(found.id)
        written = searcher.written(found)
    finally:
        searcher.close()
    if as_json:
        import orjson

        from treeline.service.shown.function_rows import around_row, function_row

        row = function_row(found) | around_row(callers, written, callees)
        click.echo(orjson.dumps(row, option=orjson.OPT_INDENT_2))
    else:
        from treeline.service.cli.function_text import show

        show(found, callers, written, callees)
