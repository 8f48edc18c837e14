"""`treeline wait`: come back when the engine answers, for start scripts."""

from __future__ import annotations

import time

import click

from treeline.corpus.errors import CredentialsRefused, EngineUnavailable
from treeline.search.settings import from_environment
from treeline.search.stores import open_store

PAUSE = 1.0


@click.command("wait")
@click.option("--seconds", type=click.FloatRange(0), default=None, help="How long at most; default: `start_wait`.")
def command(seconds: float | None) -> None:
    """Wait until the engine answers; fail when it does not in time."""
    settings = from_environment()
    store = open_store(settings)
    patience = settings.start_wait if seconds is None else seconds
    end = time.monotonic() + patience
    told = False
    while True:
        try:
            store.names()
            return
        except CredentialsRefused:
            raise
        except EngineUnavailable as error:
            reason = error.message
        if time.monotonic() >= end:
            raise EngineUnavailable(f"waited {patience:g} s: {reason}", "start the engine, or check the settings")
        if not told:
            click.echo(f"Waiting up to {patience:g} s: {reason}", err=True)
            told = True
        time.sleep(PAUSE)
