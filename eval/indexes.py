"""Small indexes for one evaluation, made by the usual pipeline from records in a file."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import orjson

from treeline.corpus.errors import EncoderMismatch, IndexOutdated, InputError
from treeline.corpus.function import Function
from treeline.ingest.pipeline import LoadOptions, load
from treeline.ingest.source import Progress, ReadOptions, Source, no_progress
from treeline.ingest.sources import functions_of, open_source
from treeline.search.live import LiveSearcher, open_searcher
from treeline.search.settings import Settings, open_store

ENGINE = "embedded"  # the engine of every pool: it needs no server, and is removed with its folder
FIELDS = ("repo", "path", "func_name", "original_string", "language", "docstring", "sha", "partition", "url")


def read_functions(folder: Path, partitions: Iterable[str] = ()) -> Iterator[Function]:
    """The functions of a CodeSearchNet folder; no partitions means all."""
    return functions_of(open_source(f"codesearchnet:{folder}", ReadOptions(partitions=frozenset(partitions))))


def eval_settings(settings: Settings) -> Settings:
    """The same settings with a home of their own, so that evaluations never touch the user's indexes."""
    if settings.engine != ENGINE:
        raise InputError(
            "evaluation pools are made on the embedded engine",
            "use --engine embedded, or --full to search the index itself",
        )
    return replace(settings, home=str(settings.home_path / ".eval"))


def records_searcher(
    name: str, functions: Iterable[Function], settings: Settings, progress: Progress = no_progress
) -> LiveSearcher:
    """An index over exactly these functions, reused if unchanged."""
    own = eval_settings(settings)
    own.home_path.mkdir(parents=True, exist_ok=True)
    records = own.home_path / f"{name}.jsonl.gz"
    # No time stamp in the file, so the same records make the same bytes and the pipeline sees no change.
    with records.open("wb") as file, gzip.GzipFile(fileobj=file, mode="wb", mtime=0, compresslevel=1) as archive:
        for function in functions:
            archive.write(orjson.dumps({field: getattr(function, field) for field in FIELDS}) + b"\n")
    return source_searcher(name, str(records), settings, progress)


def source_searcher(
    name: str,
    source: str,
    settings: Settings,
    progress: Progress = no_progress,
    options: ReadOptions | None = None,
) -> LiveSearcher:
    """An up-to-date index over one source."""
    eval_settings(settings)  # refuses another engine before the source is read
    return sources_searcher(name, [open_source(source, options or ReadOptions())], settings, progress)


def sources_searcher(
    name: str,
    sources: Sequence[Source],
    settings: Settings,
    progress: Progress = no_progress,
    *,
    fresh: bool = False,
    version: str = "",
    lazy: bool = False,
) -> LiveSearcher:
    """An up-to-date index over these sources, rebuilt if `version` has changed; with `lazy`, its tree, call graph and
    clusters are made when a search needs them."""
    own = eval_settings(settings)
    work = own.home_path / "work"
    made_by = own.home_path / f"{name}.version"
    fresh = fresh or bool(version and (not made_by.exists() or made_by.read_text(encoding="utf-8") != version))
    how = LoadOptions(work=work, encoders=(settings.encoder,), fresh=fresh, lazy_artifacts=lazy)
    store = open_store(own)
    try:
        load(store, name, sources, how, progress)
    except (EncoderMismatch, IndexOutdated):  # the encoder or the format has changed since: rebuild the pool
        load(store, name, sources, replace(how, fresh=True), progress)
    if version:
        made_by.write_text(version, encoding="utf-8")
    return open_searcher(own, name)
