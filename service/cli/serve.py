"""The commands `serve` (HTTP), `mcp` (coding agents) and `lsp` (editors)."""

from __future__ import annotations

import os
import socket
import sys
from dataclasses import replace

import click

from treeline.corpus.errors import CredentialsError, EngineUnavailable, InputError, require_extra
from treeline.search.settings import PREFIX, Settings, from_environment
from treeline.service.cli.options import how_to_index, index_options, settings_for


@click.command("serve")
@index_options
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8080, show_default=True, type=click.IntRange(1, 65_535), help="Port to listen on.")
@click.option("--workers", type=click.IntRange(1), help="Server processes; default: the setting `workers`.")
@click.option("--first-index", metavar="SOURCE", help="Index this if there is no index yet.")
def serve(engine: str | None, name: str, host: str, port: int, workers: int | None, first_index: str | None) -> None:
    """Serve the API and the pages."""
    require_extra("serve")
    from treeline.service.http.keys import no_key_yet

    settings = settings_for(engine, name)
    check_port(host, port)
    if first_index:
        from treeline.service.cli.index import make_first_index

        make_first_index(settings, (first_index,))
    elif not index_exists(settings):
        click.echo(f"there is no index {settings.index!r} yet; make it with: {how_to_index(settings)}")
    if missing := no_key_yet(settings):
        click.echo(missing)
    shown = f"[{host}]" if ":" in host else host
    click.echo(f"Treeline serves index {settings.index!r} at http://{shown}:{port} (Ctrl-C ends it)")
    sys.stdout.flush()
    environment = os.environ | {
        f"{PREFIX}ENGINE": settings.engine,
        f"{PREFIX}INDEX": settings.index,
        f"{PREFIX}WORKERS": str(workers or settings.workers),
        "GUNICORN_BIND": f"{shown}:{port}",
    }
    if sys.stderr.isatty():
        environment.setdefault(f"{PREFIX}LOG_FORMAT", "text")  # readable in a terminal
    server = [sys.executable, "-m", "gunicorn", "--config", "python:treeline.service.gunicorn_conf"]
    os.execve(sys.executable, server, environment)  # noqa: S606 - this process becomes the server


def index_exists(settings: Settings) -> bool:
    """Whether the index exists; True if the engine cannot be reached, because the pages then say so."""
    from treeline.search.settings import open_store

    try:
        return settings.index in open_store(settings).names()
    except CredentialsError:
        raise
    except EngineUnavailable:
        return True


def check_port(host: str, port: int) -> None:
    """Fail at once with one line if the port is taken, instead of after gunicorn's retries."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
        raise InputError(f"cannot listen on {host}:{port}: {reason}", "choose another --port or --host") from error


@click.command("mcp")
@index_options
@click.option(
    "--root", "roots", multiple=True, help="Folder that may be indexed; the first is the default. Repeatable."
)
def mcp(engine: str | None, name: str, roots: tuple[str, ...]) -> None:
    """Serve search to a coding agent (Model Context Protocol, stdio): the project of this folder, or an index."""
    from treeline.service.http import logs
    from treeline.service.mcp.server import clean_standard_input, create_server

    settings = settings_for(engine, name)
    settings = replace(
        settings,
        mcp_roots=os.pathsep.join(roots) or settings.mcp_roots,
        log_level="warning",
    )
    logs.configure(settings)
    follow = not name and settings.engine == "embedded" and f"{PREFIX}INDEX" not in os.environ
    server = create_server(settings, follow=follow)
    clean_standard_input()
    server.run("stdio")


@click.command("lsp")
def lsp() -> None:
    """Serve search to an editor (Language Server Protocol, stdio): the project that the editor has open."""
    from treeline.service.http import logs
    from treeline.service.lsp.server import create_server

    settings = replace(from_environment(), log_level="warning")
    logs.configure(settings)
    create_server(settings).start_io()
