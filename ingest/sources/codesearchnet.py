"""CodeSearchNet in all its forms: folders of shards, the per-language zip, parquet, and the evaluation pool."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from treeline.corpus.errors import InputError
from treeline.ingest.download import LANGUAGES, fetch_language
from treeline.ingest.source import ReadOptions, Unit, UnitList, Unreadable, readable
from treeline.ingest.sources.pool import POOL, pool_chunks
from treeline.ingest.sources.shards import (
    DAMAGE,
    LINES,
    PARQUET,
    PARTITIONS,
    FileShard,
    ParquetShard,
    partition_of,
    zip_entries,
)

SHARDS = "final/jsonl"
HINT = f"give the folder that holds LANGUAGE/{SHARDS}, a LANGUAGE.zip, a {PARQUET} or a {POOL} file"


def open_codesearchnet(where: str, options: ReadOptions) -> UnitList:
    """`where` is a folder, a file, or the name of a language, which is downloaded unless it is cached."""
    root = Path(where).expanduser()
    if where in LANGUAGES and not root.exists():
        root = fetch_language(where, options)
    if not root.exists() and re.fullmatch(r"[\w#+]+", where):
        raise InputError(f"CodeSearchNet has no archive {where!r}", f"choose one of: {', '.join(LANGUAGES)}; or {HINT}")
    if not root.exists():
        raise InputError(f"{where} does not exist", HINT)
    units = tuple(_units(root, options))
    if not units:
        raise InputError(f"no CodeSearchNet shards in {root}", HINT)
    return UnitList(f"codesearchnet:{root.resolve()}", units)


def is_codesearchnet(folder: Path) -> bool:
    """Whether a folder is laid out like the data set, so it is not read as a folder of source files."""
    return any((folder / language / SHARDS).is_dir() for language in ("", *LANGUAGES))


def is_codesearchnet_zip(path: Path) -> bool:
    """Whether an archive is laid out like the data set."""
    try:
        with zipfile.ZipFile(path) as archive:
            return any(f"/{SHARDS}/" in f"/{name}" for name in archive.namelist())
    except DAMAGE:
        return False


def _units(root: Path, options: ReadOptions) -> Iterator[Unit]:
    if root.is_file():
        yield from _of_file(root, root.name, options, is_explicit=True)
        return
    inside = root.resolve()
    for path in sorted(root.rglob("*")):
        if path.is_file() and path.resolve().is_relative_to(inside):
            yield from _of_file(path, readable(path.relative_to(root).as_posix()), options, is_explicit=False)


def _of_file(path: Path, key: str, options: ReadOptions, *, is_explicit: bool) -> Iterator[Unit]:
    """The units of one file. With `named`, the user gave the file itself, so its partition does not matter."""
    if path.name.endswith(LINES):
        if is_explicit or _in_partitions(str(path), options):
            yield FileShard(path, key, options)
    elif path.name.endswith(PARQUET):
        if is_explicit or _in_partitions(str(path), options):
            yield ParquetShard(path, key, options)
    elif path.name.endswith(".pkl") if is_explicit else path.name.endswith(POOL):
        if is_explicit or "pool" in options.partitions:
            yield FileShard(path, key, options, pool_chunks)
    elif path.suffix == ".zip":
        yield from _of_zip(path, "" if is_explicit else f"{key}/", options)
    elif is_explicit:
        raise InputError(f"{path} is not a form of CodeSearchNet that can be read", HINT)


def _of_zip(path: Path, inside: str, options: ReadOptions) -> Iterator[Unit]:
    for entry in zip_entries(path, inside, options):
        if isinstance(entry, Unreadable) or (entry.member.endswith(LINES) and _in_partitions(entry.member, options)):
            yield entry
        elif entry.member.endswith(POOL) and "pool" in options.partitions:
            yield replace(entry, cut=pool_chunks)


def _in_partitions(path: str, options: ReadOptions) -> bool:
    return partition_of(path) in (options.partitions or PARTITIONS)
