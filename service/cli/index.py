"""The commands `index`, `download` and, for start scripts, `first-index` and `wait`."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

# BLAS's threads take a sixth of a load's processor time, most of it waiting, from the workers beside them.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from treeline.corpus.errors import (
    CredentialsError,
    EncoderMismatch,
    EngineUnavailable,
    IndexOutdated,
    InputError,
    TreelineError,
)
from treeline.corpus.function import KINDS
from treeline.encoder.protocol import DEEP_ENCODER, DEFAULT_ENCODER, NO_ENCODER
from treeline.encoder.registry import check_shipped, is_shipped, without_version
from treeline.engine.protocol import Store
from treeline.ingest.state import ARTIFACT, sources_in
from treeline.search.settings import Settings, from_environment, open_store
from treeline.service.cli.options import (
    OutputPath,
    echo,
    echo_json,
    index_options,
    is_named,
    progress_bar,
    settings_for,
)
from treeline.service.cli.text import show_summary
from treeline.service.projects import reading_of

if TYPE_CHECKING:
    from treeline.ingest.pipeline import Summary
    from treeline.ingest.source import Progress, ReadOptions

ENCODERS = (DEFAULT_ENCODER, DEEP_ENCODER, NO_ENCODER)  # those with names of their own
PARTITIONS = ("train", "valid", "test", "pool")
LANGUAGES = ("python", "java", "go", "javascript", "typescript", "php", "ruby")


@click.command("index")
@click.argument("sources", nargs=-1, metavar="SOURCE…")
@index_options
@click.option(
    "--encoder",
    "encoders",
    multiple=True,
    metavar="NAME",
    shell_complete=lambda _context, _option, start: [name for name in ENCODERS if name.startswith(start)],
    help="static, deep, none, the folder of an encoder, or a model; repeatable.",
)
@click.option("--fresh", is_flag=True, help="Rebuild the index instead of updating it.")
@click.option("--strict", is_flag=True, help="Stop at the first record that cannot be read.")
@click.option("--remove", multiple=True, metavar="SOURCE", help="Remove a source from the index; repeatable.")
@click.option("--download", is_flag=True, hidden=True, expose_value=False, help="As it is without.")
@click.option(
    "--language", "languages", multiple=True, type=click.Choice(LANGUAGES), help="Only this language; repeatable."
)
@click.option("--kind", "kinds", multiple=True, type=click.Choice(KINDS), help="Only units of this kind; repeatable.")
@click.option(
    "--partition", "partitions", multiple=True, type=click.Choice(PARTITIONS), help="Only this part; repeatable."
)
@click.option(
    "--include-tests/--no-tests",
    default=None,
    help="Test, vendored and generated files: read all, or none. Default: those that people wrote.",
)
@click.option("--package", "packages", multiple=True, metavar="NAME", help="python-env: also this package; * for all.")
@click.option("--ref", default="", metavar="REF", help="Git: branch, tag or commit.")
@click.option("--rejects", type=OutputPath(), metavar="FILE", help="List rejected records in this file.")
@click.option("--workers", type=click.IntRange(0), help="Worker processes; default: one per core.")
@click.option("--json", "as_json", is_flag=True, help="The summary as JSON, and nothing else on stdout.")
def index(
    sources: tuple[str, ...],
    engine: str | None,
    name: str,
    encoders: tuple[str, ...],
    fresh: bool,
    strict: bool,
    remove: tuple[str, ...],
    languages: tuple[str, ...],
    kinds: tuple[str, ...],
    partitions: tuple[str, ...],
    include_tests: bool | None,
    packages: tuple[str, ...],
    ref: str,
    rejects: Path | None,
    workers: int | None,
    as_json: bool,
) -> None:
    """Load code into an index, or update it.

    A SOURCE is a folder, an archive of one (.zip, .whl, .tar.gz …), a source file, a git URL, python-env (the standard
    library and installed packages), codesearchnet:LANGUAGE (downloaded), codesearchnet:DIR-or-zip, or a .jsonl[.gz]
    file of records. Unchanged files are not read again; an interrupted load continues when the same command
    is given again. Without --name, the project you are in has an index of its own: `treeline index .` updates that.
    """
    if not sources and not remove:
        raise click.UsageError("Missing argument 'SOURCE…'", click.get_current_context())
    settings = settings_for(engine, name)
    handle_sigterm()
    if is_own_project(settings, name, sources):
        index_project(settings, encoders, fresh, as_json)
        return
    with resumable(), progress_bar() as progress:
        reading = reading_of(
            settings,
            languages=frozenset(languages),
            kinds=frozenset(kinds),
            partitions=frozenset(partitions),
            include_tests=include_tests,
            packages=frozenset(packages),
            ref=ref,
            progress=progress,
        )
        summary = index_sources(
            settings,
            sources,
            reading,
            progress,
            encoders=encoders,
            fresh=fresh,
            strict=strict,
            remove=remove,
            rejects=rejects,
            workers=workers,
        )
    if as_json:
        echo_json(summary.as_dict())
    else:
        show_summary(summary)


# The options of `index` that the index of a project takes; the others would be undone by the next question.
PROJECT_OPTIONS = frozenset({"sources", "engine", "encoders", "fresh", "as_json"})


def is_own_project(settings: Settings, name: str, sources: tuple[str, ...]) -> bool:
    """Whether the source is the project around the current folder, and no index is named."""
    from treeline.ingest.project import find_project

    here = Path.cwd()
    folders = [Path(source).resolve() for source in sources]
    if is_named(settings, name) or len(folders) != 1 or folders[0] not in (here, *here.parents):
        return False
    return folders[0] in (here, find_project(here, settings.home_path).root)


def index_project(settings: Settings, encoders: tuple[str, ...], fresh: bool, as_json: bool) -> None:
    """Index the project around the current folder, or update its index."""
    from treeline.encoder.registry import full_name
    from treeline.service.projects import refresh_project

    context = click.get_current_context()
    for option in context.params:
        if option not in PROJECT_OPTIONS and context.get_parameter_source(option) is ParameterSource.COMMANDLINE:
            flag = next(one for one in context.command.params if one.name == option).opts[0]
            raise InputError(f"{flag} does not apply to a project's own index", "add --name for another index")
    with resumable(), progress_bar() as progress:
        names = tuple(map(full_name, encoders))
        refresh = refresh_project(settings, Path.cwd(), progress, encoders=names, fresh=fresh)
    if refresh.problem:
        raise refresh.problem
    if as_json:
        counts = {name: getattr(refresh, name) for name in ("files", "added", "changed", "removed", "functions")}
        echo_json({"index": refresh.project.index, "root": str(refresh.project.root), **counts})
    else:
        echo(f"{refresh}; the project's own index, `--name default` loads into the one that is served")


@contextmanager
def resumable() -> Iterator[None]:
    """Tell a user who interrupts a load that it can be resumed."""
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt("the same command continues from here") from None


def handle_sigterm() -> None:
    """Treat SIGTERM like Ctrl-C: what is done so far is kept, and the workers are stopped."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, stop)


def index_sources(
    settings: Settings,
    specs: tuple[str, ...],
    reading: ReadOptions,
    progress: Progress,
    *,
    encoders: tuple[str, ...] = (),
    fresh: bool = False,
    strict: bool = False,
    remove: tuple[str, ...] = (),
    rejects: Path | None = None,
    workers: int | None = None,
) -> Summary:
    """Load the sources into the index of the settings."""
    from treeline.encoder.registry import full_name
    from treeline.ingest.history import update_sources
    from treeline.ingest.pipeline import LoadOptions, load
    from treeline.ingest.sources import CODESEARCHNET, open_source

    store = open_store(settings)
    exists = settings.index in store.names()
    if not encoders and (fresh or not exists):
        encoders = (settings.encoder,)
    options = LoadOptions(
        work=settings.home_path / ".loading",
        encoders=tuple(map(full_name, encoders)),
        strict=strict,
        fresh=fresh,
        remove=remove,
        reading=fingerprint(reading),
        rejects=rejects,
        workers=workers,
    )
    sources = [open_source(spec, reading) for spec in specs]
    if rejects and str(rejects.resolve()) in {source.name.removeprefix(CODESEARCHNET) for source in sources}:
        raise InputError(f"{rejects} is a source, and --rejects would overwrite it", "name another file")
    summary = load(store, settings.index, sources, options, progress)
    if reading.history:
        try:
            update_sources(settings.home_path, settings.index, sources)
        except TreelineError as error:  # the index is complete without it
            echo(f"treeline: {error.message}", err=True)
    return summary


def fingerprint(reading: ReadOptions) -> str:
    """A digest of the options that decide which units are read from the sources."""
    sets = (reading.languages, reading.kinds, reading.partitions, reading.packages)
    return repr([*(sorted(values) for values in sets), reading.include_tests, reading.index_secrets, reading.ref])


@click.command("download")
@click.argument("data_set", type=click.Choice(["codesearchnet"]), metavar="codesearchnet")
@click.argument("parts", nargs=-1, metavar="[LANGUAGE…|queries]")
def download(data_set: str, parts: tuple[str, ...]) -> None:
    """Download CodeSearchNet: archives of languages (go, java, javascript, php, python, ruby), or `queries`.

    Without a part it is Python's archive (0.9 GB) and the queries. Known places are tried in order, and a download
    that broke off is resumed. TREELINE_CODESEARCHNET names your own folder or URL instead.
    """
    from treeline.ingest.download import LANGUAGES, fetch_language, fetch_queries

    if unknown := set(parts) - {*LANGUAGES, "queries"}:
        raise InputError(f"CodeSearchNet has no {min(unknown)!r}", f"choose of: {', '.join(LANGUAGES)}, queries")
    settings = from_environment()
    for part in dict.fromkeys(parts or ("python", "queries")):
        with resumable(), progress_bar() as progress:
            reading = reading_of(settings, progress=progress)
            where = fetch_queries(reading) if part == "queries" else fetch_language(part, reading)
        echo(f"{part}: {where}")


@click.command("first-index")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE…")
@index_options
def first_index(sources: tuple[str, ...], engine: str | None, name: str) -> None:
    """Make an index to serve if there is none.

    For start scripts. An index of another version of Treeline or its encoder is rebuilt from its own sources.
    """
    handle_sigterm()
    with resumable():
        make_first_index(settings_for(engine, name), sources)


def make_first_index(settings: Settings, sources: tuple[str, ...]) -> None:
    """Index the sources if there is no index; rebuild one of another version from its own sources."""
    store = open_store(settings)
    encoders: tuple[str, ...] = ()
    is_outdated = False
    if settings.index in store.names():
        try:
            encoders = _encoders(store, settings.index)
            check_shipped(encoders)
            return
        except (IndexOutdated, EncoderMismatch) as error:
            echo(error.message)
            is_outdated, sources = True, tuple(sources_in(store.artifact(settings.index, ARTIFACT) or b"")) or sources
    echo(f"{'indexing' if is_outdated else f'no index {settings.index!r} yet: indexing'} {' '.join(sources)}")
    with progress_bar() as progress:
        reading = reading_of(settings, progress=progress)
        current = tuple(without_version(name) if is_shipped(name) else name for name in encoders)
        summary = index_sources(settings, sources, reading, progress, encoders=current, fresh=is_outdated)
    show_summary(summary)


def _encoders(store: Store, index: str) -> tuple[str, ...]:
    engine = store.open(index)
    try:
        return tuple(spec.name for spec in engine.info.encoders)
    finally:
        engine.close()


PAUSE = 1.0


@click.command("wait")
@click.option("--seconds", type=click.FloatRange(0), default=None, help="Longest wait; default: `start_wait`.")
def wait(seconds: float | None) -> None:
    """Wait until the engine answers; fails if it does not in time."""
    settings = from_environment()
    store = open_store(settings)
    patience = settings.start_wait if seconds is None else seconds
    end = time.monotonic() + patience
    has_spoken = False
    while True:
        try:
            store.names()
            return
        except CredentialsError:
            raise
        except EngineUnavailable as error:
            reason = error.message
        if time.monotonic() >= end:
            raise EngineUnavailable(f"waited {patience:g} s: {reason}", "start the engine, or check the settings")
        if not has_spoken:
            echo(f"Waiting up to {patience:g} s: {reason}", err=True)
            has_spoken = True
        time.sleep(PAUSE)
