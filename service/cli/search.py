"""The commands that look things up: `search`, `show` and `similar`."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from treeline.search.query import Query
from treeline.service.cli.options import (
    StrictCommand,
    choose_function,
    function_argument,
    index_options,
    search_options,
    settings_for,
)

if TYPE_CHECKING:
    from treeline.search.live import LiveSearcher


class Search(StrictCommand):
    """Its help names the methods, which are looked up when somebody reads it."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from treeline.rerank.registry import DEFAULT as DEFAULT_RERANK
        from treeline.rerank.registry import DEFAULT_FUSION, FUSIONS, NAMES

        with formatter.section(f"Methods of --fusion (default: {DEFAULT_FUSION})"):
            formatter.write_text(", ".join(FUSIONS))
        with formatter.section(f"Methods of --rerank (default: {DEFAULT_RERANK})"):
            formatter.write_dl(list(NAMES.items()))


@click.command("search", cls=Search)
@click.argument("words", nargs=-1, required=True, metavar="QUERY")
@index_options
@search_options
@click.option("--full", is_flag=True, help="Whole functions instead of their first lines.")
@click.option("--json", "as_json", is_flag=True, help="JSON in the shape of the HTTP API, and nothing else on stdout.")
def search(
    words: tuple[str, ...],
    engine: str | None,
    name: str,
    full: bool,
    as_json: bool,
    **switches: Any,
) -> None:
    """Find functions by what they do: treeline search convert int to string.

    Filters may stand in the question too (repo:NAME, lang:NAME, path:PREFIX), and -word leaves out functions that
    contain the word: treeline search "parse json repo:flask -xml". What is in quotes is looked for as it is.
    """
    from treeline.search.live import open_searcher
    from treeline.search.overview import clusters_of

    settings = settings_for(engine, name)
    query = Query.of(" ".join(words), switches, settings)
    explain = bool(switches["explain"])
    searcher = open_searcher(settings)
    try:
        if query.mode == "tfidf":
            prepare_tfidf(searcher)
        answer = searcher.search(query)
        clusters = partial(clusters_of, searcher)
        if as_json:
            from treeline.service.api.answers import SearchBody

            body = SearchBody.of(answer, searcher.info, explain=explain, code=True, clusters=clusters)
            click.echo(body.json_bytes(indent=True))
        else:
            from treeline.service.cli.text import show_answer

            show_answer(answer, searcher.info, explain=explain, full=full, clusters=clusters)
    finally:
        searcher.close()


def prepare_tfidf(searcher: LiveSearcher) -> None:
    """Make the matrix now, or read the one that was kept: a thread in the background would end with this command."""
    from treeline.service.cli.index import progress_bar

    with progress_bar() as bar:

        def report(what: str, done: int, total: int) -> None:
            if not done and not sys.stderr.isatty():  # nobody sees the bar
                click.echo(f"treeline: {what}, which is kept for the next time …", err=True)
            bar(what, done, total)

        searcher.prepare("tfidf", report)


@click.command("show", cls=StrictCommand)
@function_argument
@index_options
@click.option("--json", "as_json", is_flag=True, help="JSON in the shape of the HTTP API, and nothing else on stdout.")
def show(function: str, repo: str, path_prefix: str, engine: str | None, name: str, as_json: bool) -> None:
    """Show one function whole.

    FUNCTION is its name, alone or behind its class or module, a line of it (path:12), or its id.
    """
    from treeline.search.live import open_searcher

    searcher = open_searcher(settings_for(engine, name))
    try:
        found = choose_function(searcher, function, repo, path_prefix)
        callers, callees = searcher.callers(found.id), searcher.callees(found.id)
        unresolved = searcher.unresolved_calls(found)
    finally:
        searcher.close()
    if as_json:
        from treeline.service.api.answers import FunctionBody, ShowBody, calls

        function_fields = FunctionBody.of(found).model_dump(exclude_unset=True)
        body = ShowBody.model_validate(function_fields | calls(callers, unresolved, callees))
        click.echo(body.json_bytes(indent=True))
    else:
        from treeline.service.cli.text import show_function

        show_function(found, callers, unresolved, callees)


@click.command("similar", cls=StrictCommand)
@function_argument
@index_options
@click.option("-k", "k", default=10, show_default=True, type=click.IntRange(1), help="How many results.")
@click.option("--json", "as_json", is_flag=True, help="JSON in the shape of the HTTP API, and nothing else on stdout.")
def similar(function: str, repo: str, path_prefix: str, engine: str | None, name: str, k: int, as_json: bool) -> None:
    """Show the functions nearest in meaning to one.

    FUNCTION is its name, alone or behind its class or module, a line of it (path:12), or its id.
    """
    from treeline.search.live import open_searcher
    from treeline.search.overview import find_similar

    searcher = open_searcher(settings_for(engine, name))
    try:
        found = choose_function(searcher, function, repo, path_prefix)
        like = find_similar(searcher, found.id, k)
        if as_json:
            from treeline.service.api.answers import SimilarBody

            click.echo(SimilarBody.of(found.id, like).json_bytes(indent=True))
        else:
            from treeline.service.cli.text import show_similar

            show_similar(found, like, searcher.engine.fetch([hit.id for hit, _ in like.hits]))
    finally:
        searcher.close()
