"""`treeline similar`: the functions nearest in meaning to one."""

from __future__ import annotations

import click

from treeline.service.cli.choosing import chosen, which
from treeline.service.cli.options import Once, settings_for, where


@click.command("similar", cls=Once)
@which
@where
@click.option("-k", "k", default=10, show_default=True, type=click.IntRange(1), help="How many results.")
@click.option("--json", "as_json", is_flag=True, help="JSON in the shape of the HTTP API, and nothing else on stdout.")
def command(function: str, repo: str, path_prefix: str, engine: str | None, name: str, k: int, as_json: bool) -> None:
    """Show the functions nearest in meaning to one.

    FUNCTION is its name, alone or behind its class or module, a line of it (path:12), or its id.
    """
    from treeline.search.alike import alike
    from treeline.search.live import open_searcher

    searcher = open_searcher(settings_for(engine, name))
    try:
        found = chosen(searcher, function, repo, path_prefix)
        like = alike(searcher, found.id, k)
        if as_json:
            import orjson

            from treeline.service.shown.function_rows import similar_row

            click.echo(orjson.dumps(similar_row(found.id, like), option=orjson.OPT_INDENT_2))
        else:
            from treeline.service.cli.function_text import show_similar

            show_similar(found, like, searcher.engine.fetch([hit.id for hit, _ in like.hits]))
    finally:
        searcher.close()
