"""The commands `search`, `show` and `similar`."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from treeline.corpus.errors import InputError, TreelineError
from treeline.search.query import KEYS, Query, combine, commit_question, parse
from treeline.service.cli.lines import is_for_a_person, pager, pager_option
from treeline.service.cli.occurrences import Listing, is_exact, list_occurrences, occurrence_options, target_to_list
from treeline.service.cli.options import (
    HERE,
    Command,
    Place,
    StrictCommand,
    Target,
    complete_filter,
    echo,
    filter_options,
    folder_in,
    how_to_index,
    index_options,
    is_named,
    is_piped,
    lazy_progress,
    places_of,
    search_options,
    settings_for,
    target,
    target_settings,
    tests_option,
)

if TYPE_CHECKING:
    from treeline.corpus.function import Function
    from treeline.engine.protocol import IndexInfo
    from treeline.graph.corpus_clusters import CorpusClusters
    from treeline.graph.history import Commit
    from treeline.search.answer import Answer
    from treeline.search.live import LiveSearcher
    from treeline.search.settings import Settings
    from treeline.service.cli.files import IndexFiles

EXCLUSION = re.compile(rf"-(?:{'|'.join(KEYS)}):\S")
LAST_COMMITS = 5  # of a definition that is shown
NOTHING_FOUND, ERROR = 1, 2  # exit codes, like grep's
ABOUT_JSON = "JSON in the shape of the HTTP API, and nothing else on stdout."
json_option = click.option("--json", "as_json", is_flag=True, help=ABOUT_JSON)


class Search(StrictCommand):
    """The search command: its help lists the methods, and errors exit with 2, like grep's."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take `-path:docs/` for a word of the question, as no option looks so."""
        return super().parse_args(ctx, [f" {arg}" if EXCLUSION.match(arg) else arg for arg in args])

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except TreelineError as error:
            error.exit_code = ERROR
            raise

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from treeline.rerank.registry import DEFAULT as DEFAULT_RERANK
        from treeline.rerank.registry import DEFAULT_FUSION, FUSIONS, NAMES

        with formatter.section(f"Methods of --fusion (default: {DEFAULT_FUSION})"):
            formatter.write_dl(list(FUSIONS.items()))
        with formatter.section(f"Methods of --rerank (default: {DEFAULT_RERANK})"):
            formatter.write_dl(list(NAMES.items()))


@click.command("search", cls=Search)
@click.argument("words", nargs=-1, metavar="QUESTION", shell_complete=complete_filter)
@index_options
@click.option("--global", "everywhere", is_flag=True, help="Search every index; projects are refreshed first.")
@click.option(
    "--in",
    "folders",
    multiple=True,
    metavar="FOLDER",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Search this folder, not the one you are in; repeatable.",
)
@search_options
@occurrence_options
@pager_option
@click.option("--wait", is_flag=True, help="Wait for the whole index of a new project.")
@click.option("--full", is_flag=True, help="Show whole code instead of the first lines.")
@json_option
@tests_option
def search(
    words: tuple[str, ...],
    engine: str | None,
    name: str,
    everywhere: bool,
    folders: tuple[Path, ...],
    wait: bool,
    full: bool,
    as_json: bool,
    no_pager: bool,
    **switches: Any,
) -> int:
    """Find code by what it does: treeline how are cookies signed

    What is read by a program has a line for each match: path:line:column: text. Exact text and regular expressions are
    then listed wherever they occur, as with --all.

    Searches this folder's project, which is indexed the first time and refreshed when files change; --name searches
    another index. The question may contain filters (repo:, lang:, path:, file:, ext:, kind:, role:; -path:docs/ is
    everything else), -word to exclude, and exact text in quotes. A long text, such as an issue or a log, is read from
    standard input: treeline < issue.md. Exits with 0 if something was found, 1 if not, 2 after an error.
    """
    from treeline.ingest.source import readable

    choices = {"--global": everywhere, "--name": name, "--in": folders}
    if len(rivals := [option for option, value in choices.items() if value]) > 1:
        raise InputError(f"{' and '.join(rivals)} cannot be combined")
    listing = Listing.take(switches)
    settings = settings_for(engine, name)
    query = Query.of(readable(" ".join(words)) if words else piped_text(settings.max_query_length), switches, settings)
    question, filters = commit_question(query)
    if question and not (everywhere or folders):
        from treeline.service.cli.history import show_commits

        return show_commits(target(engine, name)[0], question, "", query.k, filters, as_json=as_json)
    explain = bool(switches["explain"])
    to_a_program = not (is_for_a_person() or as_json or explain or full or switches["k"])
    places = places_of(settings, folders) if folders else [HERE]

    def targets() -> list[Target]:
        return every_target(settings) if everywhere else [target(engine, name, place) for place in places]

    if listing or (to_a_program and is_exact(query.text)):
        narrow_to = combine(query.filters, parse(query.text).filters)
        where = targets() if everywhere else [target_to_list(engine, name, place, narrow_to) for place in places]
        with pager(wanted=not (no_pager or as_json)):
            return list_occurrences(query.text, query.filters, where, listing, as_json=as_json)
    from treeline.service.cli.files import IndexFiles

    if everywhere or len(places) > 1:
        answer, info = search_targets(query, targets())
        with pager(wanted=not (no_pager or as_json)):
            return show_found(answer, info, IndexFiles(), lambda: None, explain=explain, full=full, as_json=as_json)
    query = narrow(query, Target(settings, path=places[0].path))
    searcher, root = target_searcher(engine, name, places[0], None if wait else query)
    query = replace(query, folder="" if folders else folder_in(root))
    with closing(searcher):

        def clusters() -> CorpusClusters | None:
            from treeline.search.overview import clusters_of

            return clusters_of(searcher)

        answer, info = searcher.search(query), searcher.info
        if root and (answer.plan.route.location or not answer.results):
            from treeline.service.skips import say_skips

            answer = say_skips(answer, settings, root, searcher.engine)
        files = IndexFiles(root, lambda: searcher.texts)
        with pager(wanted=not (no_pager or as_json)):
            return show_found(answer, info, files, clusters, explain=explain, full=full, as_json=as_json)


def target_searcher(
    engine: str | None, name: str, place: Place, query: Query | None
) -> tuple[LiveSearcher, Path | None]:
    """A searcher of the index, and its project's folder; for a query about a large project without an index, a searcher
    of its best files."""
    from treeline.search.live import open_searcher

    settings = settings_for(engine, name)
    if query is not None and not is_named(settings, name):
        from treeline.service.projects import has_index

        if not has_index(settings, place.folder):
            from treeline.service.quick import look

            if quick := look(settings, place.folder, query, once=True):
                return quick, quick.root
    settings, root = target(engine, name, place)[:2]
    return open_searcher(settings, once=True), root


def piped_text(most: int) -> str:
    """The text on standard input; no more of it is read than shows that it is too long."""
    if not is_piped():
        raise click.UsageError("Missing argument 'QUESTION'.")
    return sys.stdin.buffer.read(4 * most + 4).decode("utf-8", "replace").strip()


def show_found(
    answer: Answer,
    info: IndexInfo,
    files: IndexFiles,
    clusters: Callable[[], CorpusClusters | None],
    *,
    explain: bool,
    full: bool,
    as_json: bool,
) -> int:
    """Print the answer; returns the exit code."""
    if as_json:
        from treeline.service.api.answers import SearchBody

        body = SearchBody.of(answer, info, explain=explain, code=True, clusters=clusters)
        click.echo(body.json_bytes(indent=True))
    else:
        from treeline.service.cli.text import show_answer

        show_answer(answer, info, files, explain=explain, full=full, clusters=clusters)
    return 0 if answer.results else NOTHING_FOUND


def narrow(query: Query, target: Target) -> Query:
    """The query, of the parts of a target alone."""
    if not target.path:
        return query
    target.narrow(combine(query.filters, parse(query.text).filters))
    return replace(query, filters=target.narrow(query.filters))


def every_target(settings: Settings) -> list[Target]:
    """Every index of the store, projects refreshed first."""
    from treeline.search.settings import open_store
    from treeline.service.projects import project_names, refresh_all

    names = open_store(settings).names()
    with lazy_progress() as progress:
        refresh = refresh_all(settings, names, progress)
    if line := str(refresh):
        echo(f"treeline: {line}", err=True)
    absent = {project.index for project in refresh.gone}
    names = [name for name in names if name not in absent]
    if not names:
        raise InputError("there is no index to ask", how_to_index(settings))
    roots = {name: project.root for name, project in project_names(settings).items()}
    return [Target(replace(settings, index=name), roots.get(name)) for name in names]


def search_targets(query: Query, targets: Sequence[Target]) -> tuple[Answer, IndexInfo]:
    """One answer of several indexes."""
    from treeline.search.live import open_searcher
    from treeline.service.indexes import Ask, search_several

    infos: dict[str, IndexInfo] = {}
    by_name = {one.settings.index: one for one in targets}

    @contextmanager
    def open_index(name: str) -> Iterator[Ask]:
        """An index for as long as it is asked: each keeps three dozen files open, and there may be a hundred."""
        with closing(open_searcher(by_name[name].settings, once=True)) as searcher:
            infos[name] = searcher.info
            yield lambda query, reorder: searcher.search(narrow(query, by_name[name]), reorder)

    answer = search_several(list(by_name), query, open_index)
    functions = sum(info.functions for info in infos.values())
    return answer, replace(infos[min(infos)], name="*", functions=functions)


def function_argument(command: Command) -> Command:
    """The argument FUNCTION, with `--repo`, `--path` and the options of an index to choose between definitions of one
    name, and `--json`."""
    command = json_option(command)
    command = index_options(command)
    command = filter_options(command, "repo", "path")
    return click.argument("function", metavar="FUNCTION")(command)


def choose_function(searcher: LiveSearcher, reference: str, repo: str, path: str) -> Function:
    """The one definition meant; several go to stderr with their places, to choose from."""
    from treeline.engine.protocol import Filters
    from treeline.search.resolve import Ambiguous, resolve

    filters = Filters(repo=repo, path=path)
    try:
        return resolve(searcher, reference, otherwise="treeline search finds it by what it does", filters=filters)
    except Ambiguous as several:
        from treeline.service.cli.text import headline

        for one in several.functions:
            echo(headline(one.address), err=True)
        hint = "give the place of one (path:line), its whole name (Class.name, module.name), or --repo and --path"
        raise InputError(several.message, hint) from None


@click.command("show", cls=StrictCommand)
@function_argument
@pager_option
def show(function: str, repo: str, path: str, engine: str | None, name: str, as_json: bool, no_pager: bool) -> None:
    """Show one definition whole, with its callers, callees and last commits; of a file, what it defines.

    FUNCTION is a name (`load`, `Session.request`, `json.loads`), a line (`path:12`), an id, or a file.
    """
    from treeline.search.live import open_searcher
    from treeline.service.cli.history import read_history

    settings, root = target(engine, name)[:2]
    if root and (file := file_called(function.partition(":")[0], root)):
        from treeline.service.skips import file_skip

        if why := file_skip(settings, root, file):
            echo(f"treeline: {why}", err=True)
    if file := file_called(function, root):
        from treeline.service.cli.project import show_outline

        with pager(wanted=not (no_pager or as_json)):
            return show_outline(file, as_json=as_json)
    read_history(settings)
    with closing(open_searcher(settings, once=True)) as searcher:
        unit = choose_function(searcher, function, repo, path)
        callers, callees = searcher.callers(unit.id), searcher.callees(unit.id)
        text_calls = searcher.unresolved_calls(unit)
        commits = last_commits(searcher, unit)
    if as_json:
        from treeline.service.api.function_answers import FunctionBody, ShowBody, calls

        function_fields = FunctionBody.of(unit).model_dump(exclude_unset=True)
        body = ShowBody.model_validate(
            function_fields | calls(callers, text_calls, callees) | {"commits": [one._asdict() for one in commits]}
        )
        click.echo(body.json_bytes(indent=True))
        return None
    from treeline.service.cli.text import show_function

    with pager(wanted=not no_pager):
        show_function(unit, callers, text_calls, callees, commits)
    return None


def last_commits(searcher: LiveSearcher, unit: Function) -> list[Commit]:
    """The last commits that touched a definition."""
    from treeline.graph.touched import commits_of

    with searcher.searcher() as current:
        history, lines = current.history, unit.address.lines
        return commits_of(history, unit.repo, unit.path, lines, LAST_COMMITS) if history and lines else []


def file_called(name: str, root: Path | None) -> Path | None:
    """The file of this path from here, or from the top of the project."""
    from treeline.service.projects import local_path

    files = (local_path(name, folder) for folder in (None, root) if "/" in name or "." in name)
    return next((file for file in files if file.is_file()), None)


@click.command("similar", cls=StrictCommand)
@function_argument
@click.option("-k", "k", default=10, show_default=True, type=click.IntRange(1), help="How many results.")
def similar(function: str, repo: str, path: str, engine: str | None, name: str, k: int, as_json: bool) -> None:
    """Show what is nearest in meaning to a definition.

    FUNCTION is a name (`load`, `Session.request`, `json.loads`), a line (`path:12`), or an id.
    """
    from treeline.search.live import open_searcher
    from treeline.search.overview import find_similar

    with closing(open_searcher(target_settings(engine, name), once=True)) as searcher:
        unit = choose_function(searcher, function, repo, path)
        like = find_similar(searcher, unit.id, k)
        if as_json:
            from treeline.service.api.function_answers import SimilarBody

            click.echo(SimilarBody.of(unit.id, like).json_bytes(indent=True))
        else:
            from treeline.service.cli.text import show_similar

            show_similar(unit, like, searcher.engine.fetch([hit.id for hit, _ in like.hits]))
