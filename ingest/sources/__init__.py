"""Opens a SOURCE of the command line: a folder, an archive, a git URL, `python-env`, CodeSearchNet or JSON lines."""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path

from treeline.corpus.counting import counted
from treeline.corpus.errors import InputError
from treeline.corpus.function import Function
from treeline.ingest.source import ReadOptions, Source, UnitList, readable, without_user

log = logging.getLogger(__name__)

FORMS = (
    "a folder, its .zip, .whl or .tar.*, a source file, a git URL, python-env, codesearchnet:DIR-or-zip, "
    "or a .jsonl[.gz] file"
)
CODESEARCHNET = "codesearchnet:"


def open_source(spec: str, options: ReadOptions | None = None) -> Source:
    """Open a source; an `InputError` says what is wrong with it."""
    options, name = options or ReadOptions(), without_user(spec)
    try:
        source = _open(spec, options)
    except OSError as error:
        hint = "ask its owner for access" if isinstance(error, PermissionError) else f"a source is {FORMS}"
        raise InputError(f"{name!r} cannot be read: {error.strerror or error}", hint) from error
    except ValueError as error:
        raise InputError(f"{name!r} cannot be read: {error}", f"a source is {FORMS}") from error
    if source.name != readable(source.name):
        raise InputError(
            f"{readable(source.name)} has a name that is not valid text", "rename it, or give the folder above it"
        )
    return source


def functions_of(source: Source) -> Iterator[Function]:
    """Every function of a source, without an index. Records that cannot be read are counted and logged at the end."""
    left_out, first = 0, ""
    for unit in source.units():
        for chunk in unit.chunks():
            parsed = chunk.parse()
            yield from parsed.functions
            left_out += len(parsed.problems)
            first = first or "".join(map(str, parsed.problems[:1]))
    if left_out:
        log.warning("%s: %s left out; the first: %s", source.name, counted(left_out, "record"), first)


def _open(spec: str, options: ReadOptions) -> Source:
    from treeline.ingest.sources.archive import suffix_of_archive
    from treeline.ingest.sources.git import is_git_url, open_git

    if spec.startswith(CODESEARCHNET):
        from treeline.ingest.sources.codesearchnet import open_codesearchnet

        return open_codesearchnet(spec.removeprefix(CODESEARCHNET), options)
    if spec == "python-env":
        from treeline.ingest.sources.python_env import open_python_env

        return open_python_env(options)
    if is_git_url(spec):
        if suffix_of_archive(spec):
            message = f"{without_user(spec)} is an archive, and only git repositories are fetched"
            raise InputError(message, "download it first")
        return open_git(spec, options)
    path = Path(spec).expanduser()
    if not spec or not path.exists():
        is_host = spec.partition("/")[0] in options.git_hosts
        raise InputError(f"{spec!r} is not there", f"its URL is https://{spec}" if is_host else f"a source is {FORMS}")
    if options.ref:
        raise InputError(f"--ref is for git URLs, and {spec} is read as it stands", "check that commit out first")
    if path.is_dir():
        from treeline.ingest.sources.codesearchnet import is_codesearchnet, open_codesearchnet
        from treeline.ingest.sources.folder import open_folder

        return open_codesearchnet(spec, options) if is_codesearchnet(path) else open_folder(spec, options)
    if suffix_of_archive(path.name) and path.is_file():
        from treeline.ingest.sources.archive import open_archive
        from treeline.ingest.sources.codesearchnet import is_codesearchnet_zip, open_codesearchnet

        return open_codesearchnet(spec, options) if is_codesearchnet_zip(path) else open_archive(path, options)
    from treeline.ingest.parsers.registry import language_of
    from treeline.ingest.sources.shards import LINES, FileShard

    if not path.name.endswith(LINES) and language_of(path.name):
        from treeline.ingest.sources.folder import open_folder

        file = path.resolve()
        return open_folder(str(file.parent), options).alone(file.name)

    if not path.name.endswith(LINES):
        raise InputError(f"{spec} is not a kind of file that can be read", f"a source is {FORMS}")
    return UnitList(str(path.resolve()), (FileShard(path, path.name, options),))


def disambiguate(source: Source, others: Collection[str]) -> Source:
    """Add the parent folder (`shop/src`) to the name of a folder or archive when another in the index has the same."""
    from treeline.ingest.sources.folder import Folder

    others = [other for other in others if other != source.name and Path(other).is_absolute()]
    if not others:
        return source
    from treeline.ingest.sources.archive import Archive, name_of_content

    if isinstance(source, Folder) and source.name == str(source.root) and source.repo == source.root.name:
        parent = source.root.parent.name
    elif isinstance(source, Archive):
        parent = source.path.parent.name
    else:
        return source
    known = {name_of_content(Path(other).name) for other in others}
    return replace(source, repo=f"{parent}/{source.repo}") if source.repo in known else source


def check_overlap(source: Source, others: Collection[str]) -> None:
    """Refuse a folder inside an indexed one, or around one: its files would be indexed twice."""
    from treeline.ingest.sources.folder import Folder

    if not isinstance(source, Folder) or source.name != str(source.root):
        return
    for other in others:
        path = Path(other)
        if other == source.name or not path.is_absolute() or not path.is_dir():
            continue
        if source.root.is_relative_to(path):
            raise InputError(
                f"{source.name} lies in {other}, which the index already has",
                f"index {other} to bring it up to date, or choose another --name",
            )
        if path.is_relative_to(source.root):
            raise InputError(f"the index already has {other}, which lies in {source.name}", f"add --remove {other}")


def is_missing(name: str) -> bool:
    """Whether a source is a path on this machine that no longer exists."""
    path = Path(name.removeprefix(CODESEARCHNET))
    return path.is_absolute() and not os.path.lexists(path)
