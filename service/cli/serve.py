"""The commands `serve` (HTTP), `mcp` (coding agents) and `lsp` (editors)."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import click

from treeline.corpus.errors import CredentialsError, EngineUnavailable, InputError, require_extra
from treeline.search.settings import PREFIX, Settings, from_environment
from treeline.service.cli.options import how_to_index, index_options, is_named, settings_for, target


@click.command("serve")
@index_options
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8080, show_default=True, type=click.IntRange(1, 65_535), help="Port to listen on.")
@click.option("--first-index", metavar="SOURCE", help="Index this if there is no index yet.")
def serve(engine: str | None, name: str, host: str, port: int, first_index: str | None) -> None:
    """Serve the API and the pages: of the index named, of the default one, or else of this folder's project.

    A project is indexed or refreshed first, a large one behind the first answers; `treeline watch` keeps it fresh.
    """
    require_extra("serve")
    from treeline.service.http.keys import no_key_yet
    from treeline.service.server import listen, run

    settings = settings_for(engine, name)
    address, title = f"[{host}]" if ":" in host else host, f"index {settings.index!r}"
    listen(f"{address}:{port}").close()  # fail before an index is made
    if first_index:
        from treeline.service.cli.index import make_first_index

        make_first_index(settings, (first_index,))
    elif not index_exists(settings) and not is_named(settings, name) and is_project(settings, Path.cwd()):
        settings, root = project_to_serve(settings, engine, name)
        title = f"the project {root}"
    elif not index_exists(settings):
        click.echo(f"there is no index {settings.index!r} yet; make it with: {how_to_index(settings)}")
    if missing := no_key_yet(settings):
        click.echo(missing)
    click.echo(f"Treeline serves {title} at http://{address}:{port} (Ctrl-C ends it)")
    sys.stdout.flush()
    if sys.stderr.isatty() and f"{PREFIX}LOG_FORMAT" not in os.environ:
        settings = replace(settings, log_format="text")
    run(replace(settings, bind=f"{address}:{port}"))


def project_to_serve(settings: Settings, engine: str | None, name: str) -> tuple[Settings, Path | None]:
    """The settings of this folder's project and its root: a large one is indexed behind the first answers."""
    from treeline.ingest.project import find_project
    from treeline.search.answer import Coverage
    from treeline.service.projects import settings_of
    from treeline.service.quick import index_behind, unread

    if not unread(settings, Path.cwd()):
        return target(engine, name)[:2]
    project = find_project(Path.cwd(), settings.home_path)
    index_behind(settings, project, Coverage(0, 0, 0))
    return settings_of(settings, project), project.root


def is_project(settings: Settings, folder: Path) -> bool:
    """Whether a folder lies in a repository, or in a project that has an index."""
    from treeline.ingest.project import find_project
    from treeline.service.projects import has_index

    try:
        return (find_project(folder, settings.home_path).root / ".git").exists() or has_index(settings, folder)
    except InputError:  # a home folder is none
        return False


def index_exists(settings: Settings) -> bool:
    """Whether the index exists; True if the engine cannot be reached, because the pages then say so."""
    from treeline.search.settings import open_store

    try:
        return settings.index in open_store(settings).names()
    except CredentialsError:
        raise
    except EngineUnavailable:
        return True


@click.command("mcp")
@index_options
@click.option(
    "--root", "roots", multiple=True, help="Folder that may be indexed; the first is the default. Repeatable."
)
def mcp(engine: str | None, name: str, roots: tuple[str, ...]) -> None:
    """Serve search to a coding agent (Model Context Protocol, stdio): the project of this folder, or an index."""
    from treeline.service.http import logs
    from treeline.service.mcp.protocol import serve_standard_streams
    from treeline.service.mcp.server import create_server

    settings = settings_for(engine, name)
    settings = replace(
        settings,
        mcp_roots=os.pathsep.join(roots) or settings.mcp_roots,
        log_level="warning",
    )
    logs.configure(settings)
    follow = not name and settings.engine == "embedded" and f"{PREFIX}INDEX" not in os.environ
    serve_standard_streams(create_server(settings, follow=follow))


@click.command("lsp")
def lsp() -> None:
    """Serve search to an editor (Language Server Protocol, stdio): the project that the editor has open."""
    from treeline.service.http import logs
    from treeline.service.lsp.server import create_server

    settings = replace(from_environment(), log_level="warning")
    logs.configure(settings)
    create_server(settings).start_io()
