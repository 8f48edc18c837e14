"""`treeline first-index`: an index to serve, made where there is none or this version cannot search it."""

from __future__ import annotations

import click

from treeline.corpus.errors import EncoderMismatch, IndexOutdated
from treeline.encoder.loading import check_shipped, is_shipped
from treeline.encoder.protocol import DEFAULT_ENCODER
from treeline.engine.protocol import Store
from treeline.ingest.manifest import ARTIFACT, sources_in
from treeline.ingest.source import ReadOptions
from treeline.search.settings import Settings
from treeline.search.stores import open_store
from treeline.service.cli.index import allowed_hosts, end_in_order, goes_on, index_sources, progress_bar
from treeline.service.cli.options import settings_for, where
from treeline.service.cli.summary_text import show


@click.command("first-index")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE…")
@where
def command(sources: tuple[str, ...], engine: str | None, name: str) -> None:
    """Make an index to serve, unless there is one.

    For start scripts: one that another version of Treeline made, or its encoder, is made anew from its own sources.
    """
    end_in_order()
    with goes_on():
        make_first_index(settings_for(engine, name), sources)


def make_first_index(settings: Settings, sources: tuple[str, ...]) -> None:
    """Index the sources where there is no index; one of another version is made anew from its own sources."""
    store = open_store(settings)
    encoders: tuple[str, ...] = ()
    outdated = False
    if settings.index in store.names():
        try:
            encoders = _encoders(store, settings.index)
            check_shipped(encoders)
            return
        except (IndexOutdated, EncoderMismatch) as error:
            click.echo(error.message)
            outdated, sources = True, tuple(sources_in(store.artifact(settings.index, ARTIFACT) or b"")) or sources
    click.echo(f"{'indexing' if outdated else f'no index {settings.index!r} yet: indexing'} {' '.join(sources)}")
    with progress_bar() as progress:
        reading = ReadOptions(git_hosts=allowed_hosts(settings), cache=settings.cache_path, progress=progress)
        anew = tuple(DEFAULT_ENCODER if is_shipped(name) else name for name in encoders)
        summary = index_sources(settings, sources, reading, progress, encoders=anew, fresh=outdated)
    show(summary)


def _encoders(store: Store, index: str) -> tuple[str, ...]:
    engine = store.open(index)
    try:
        return tuple(spec.name for spec in engine.info.encoders)
    finally:
        engine.close()
