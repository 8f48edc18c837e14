"""The commands `log`, `impact` and `context`: commits, what a change touches, what a task needs."""

from __future__ import annotations

import sys
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from treeline.corpus.errors import InputError, TreelineError
from treeline.engine.protocol import NO_FILTERS, Filters
from treeline.service.cli.options import StrictCommand, echo, echo_json, index_options, is_named, target_settings
from treeline.service.cli.search import ABOUT_JSON, choose_function, piped_text

if TYPE_CHECKING:
    from treeline.search.impact import FileChange
    from treeline.search.live import LiveSearcher
    from treeline.search.settings import Settings

NO_HISTORY = "Treeline reads the history of git checkouts that are indexed; see TREELINE_HISTORY"
LIKELY_FILES = 10
WAIT_S = 60.0  # for the process that reads a new project's history
DIFF_FILES = (".diff", ".patch")


def read_history(settings: Settings) -> None:
    """Read the newest commits; if that fails, those that are there are searched."""
    from treeline.ingest.history import update

    with suppress(TreelineError):
        update(settings.home_path, settings.index, {}, WAIT_S)


@click.command("log", cls=StrictCommand)
@click.argument("words", nargs=-1, metavar="[QUESTION]")
@index_options
@click.option("-k", "k", default=10, show_default=True, type=click.IntRange(1, 1000), help="How many commits.")
@click.option("--path", default="", metavar="FILE", help="The last commits that touched this file.")
@click.option("--json", "as_json", is_flag=True, help="As JSON, and nothing else on stdout.")
def log(words: tuple[str, ...], engine: str | None, name: str, k: int, path: str, as_json: bool) -> int:
    """Find commits by what they are about: treeline log why are uploads retried

    Lists the files and definitions that each touched. Also takes what changed in uploads lately, and who knows uploads.
    Exits with 0 if there are any, 1 if not, 2 after an error.
    """
    if bool(words) == bool(path):
        raise InputError("treeline log takes a question or --path FILE", "treeline log why are uploads retried")
    return show_commits(target_settings(engine, name), " ".join(words), path, k, as_json=as_json)


def show_commits(
    settings: Settings, question: str, path: str, k: int, filters: Filters = NO_FILTERS, *, as_json: bool
) -> int:
    """Print commits about a question, or the last that touched a file; returns the exit code."""
    from treeline.search.commits import SHALLOW
    from treeline.search.live import open_searcher
    from treeline.service.present.text import describe_commits

    read_history(settings)
    with closing(open_searcher(settings, once=True)) as searcher:
        if (history := searcher.history) is None:
            raise InputError("there is no history of this folder", NO_HISTORY)
        if history.is_shallow:
            echo(f"treeline: {SHALLOW}", err=True)
        answer = searcher.commits(question, path, k, filters)
    if as_json:
        from treeline.service.api.function_answers import CommitsBody

        click.echo(CommitsBody.of(answer).json_bytes(indent=True))
    else:
        for line in describe_commits(answer):
            echo(line)
    if not answer.rows:
        echo(f"treeline: no commit {f'touched {path}' if path else 'is about that'}", err=True)
    return int(not answer.rows)


@click.command("impact", cls=StrictCommand)
@click.argument("change", default="", metavar="[CHANGE]")
@click.option("--staged", "is_staged", is_flag=True, help="What is staged for the next commit.")
@click.option("-k", "k", default=LIKELY_FILES, show_default=True, type=click.IntRange(1, 100), help="How many files.")
@click.option("--repo", default="", metavar="OWNER/NAME", help="The repository, where the index has several.")
@index_options
@click.option("--json", "as_json", is_flag=True, help=ABOUT_JSON)
def impact(change: str, is_staged: bool, k: int, repo: str, engine: str | None, name: str, as_json: bool) -> int:
    """Show what a change touches: treeline impact main..topic

    CHANGE is a range of revisions, a .diff file, - for a diff on standard input, or the name of one definition;
    without it, the files here against HEAD. Lists the definitions changed, what calls, extends or uses them, the tests
    that do, and the files that likely have to change as well. Exits with 0 if anything is changed, 1 if not.
    """
    from treeline.search.impact import impact_of, only_repository
    from treeline.search.live import open_searcher

    settings = target_settings(engine, name)
    read_history(settings)
    with closing(open_searcher(settings, once=True)) as searcher:
        repo = repo or only_repository(searcher.engine)
        changes = _changes(searcher, change, is_staged=is_staged, repo=repo, is_project=not is_named(settings, name))
        with searcher.searcher() as current:
            result = impact_of(current, changes, repo, k)
    if as_json:
        from treeline.service.api.function_answers import ImpactBody

        click.echo(ImpactBody.of(result, changes).json_bytes(indent=True))
    else:
        from treeline.service.present.impact import describe_impact

        for line in describe_impact(result, changes):
            echo(line)
    return int(not changes)


def _changes(searcher: LiveSearcher, change: str, *, is_staged: bool, repo: str, is_project: bool) -> list[FileChange]:
    """The changes that the command names."""
    from treeline.ingest.history import read_diff
    from treeline.ingest.project import find_project
    from treeline.search.impact import change_of, parse_diff

    if change == "-":
        return parse_diff(sys.stdin.buffer.read().decode("utf-8", "replace"))
    if change.endswith(DIFF_FILES):
        if not Path(change).is_file():
            raise InputError(f"{change} is not there", "give a .diff file, REV..REV or a definition's name")
        return parse_diff(Path(change).read_text(encoding="utf-8", errors="replace"))
    if change and ".." not in change:
        return [change_of(choose_function(searcher, change, repo, ""))]
    if not is_project:
        raise InputError("without a project there is nothing to compare", "give a .diff file or a definition's name")
    root = find_project(Path.cwd(), searcher.settings.home_path).root
    return parse_diff(read_diff(root, change, is_staged=is_staged))


@click.command("context", cls=StrictCommand)
@click.argument("words", nargs=-1, metavar="[TASK]")
@click.option(
    "--tokens", default=4_000, show_default=True, type=click.IntRange(100, 50_000), help="Longest answer, in tokens."
)
@index_options
@click.option("--json", "as_json", is_flag=True, help="As JSON, and nothing else on stdout.")
def context(words: tuple[str, ...], tokens: int, engine: str | None, name: str, as_json: bool) -> int:
    """Gather what a task needs: treeline context --tokens 8000 < issue.md

    Places to edit, their tests, callers and callees, and commits about the same, with as much code as fits: 2.5
    characters are counted as a token. Exits with 0 if there is anything, 1 if not.
    """
    from treeline.corpus.analysis import terms
    from treeline.search.live import open_searcher
    from treeline.search.pack import gather
    from treeline.service.mcp.text import pack_items, render

    settings = target_settings(engine, name)
    task = " ".join(words) or piped_text(settings.max_query_length)
    read_history(settings)
    with closing(open_searcher(settings, once=True)) as searcher, searcher.searcher() as current:
        items, opening = pack_items(gather(current, task, tokens))
    page = render(items, tokens, opening=opening, words=frozenset(terms(task)), handles=False)
    if as_json:
        echo_json(page.data)
    else:
        echo(page.text or "treeline: nothing here is about that", err=not page.text)
    return int(not items)
