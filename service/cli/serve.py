"""`treeline serve`: the API and the pages, by gunicorn, after indexing something when there is nothing yet."""

from __future__ import annotations

import os
import socket
import sys

import click

from treeline.corpus.errors import CredentialsRefused, EngineUnavailable, InputError
from treeline.search.settings import PREFIX, Settings
from treeline.service.cli.options import how_to_index, settings_for, where
from treeline.service.http.keys import no_key_yet


@click.command("serve")
@where
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8080, show_default=True, type=click.IntRange(1, 65_535), help="Port to listen on.")
@click.option("--workers", type=click.IntRange(1), help="Server processes; default: the setting `workers`.")
@click.option("--first-index", metavar="SOURCE", help="Index this when there is no index yet.")
def command(engine: str | None, name: str, host: str, port: int, workers: int | None, first_index: str | None) -> None:
    """Serve the API and the pages."""
    settings = settings_for(engine, name)
    check_port(host, port)
    if first_index:
        from treeline.service.cli.first_index import make_first_index

        make_first_index(settings, (first_index,))
    elif not there(settings):
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
        environment.setdefault(f"{PREFIX}LOG_FORMAT", "text")  # a person is reading along
    server = [sys.executable, "-m", "gunicorn", "--config", "python:treeline.service.gunicorn_conf"]
    os.execve(sys.executable, server, environment)  # noqa: S606 - this process becomes the server


def there(settings: Settings) -> bool:
    """Whether there is such an index, as far as can be told: the pages say when the engine is away."""
    from treeline.search.stores import open_store

    try:
        return settings.index in open_store(settings).names()
    except CredentialsRefused:
        raise
    except EngineUnavailable:
        return True


def check_port(host: str, port: int) -> None:
    """Say at once, in one line, what would otherwise be gunicorn's fifth retry."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
        raise InputError(f"cannot listen on {host}:{port}: {reason}", "choose another --port or --host") from error
