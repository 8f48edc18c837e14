"""GET /api/files and /api/files/REPO/PATH: repositories, folders, and files with their outline and definitions."""

from __future__ import annotations

from apiflask import APIBlueprint
from flask import Response
from werkzeug.exceptions import NotFound

from treeline.ingest.decoding import BINARY, decode
from treeline.search.files import Files, depths, lines_of
from treeline.service.api.file_answers import (
    DefinitionBody,
    EntryBody,
    FileBody,
    OutlineBody,
    RepositoriesBody,
    RepositoryBody,
)
from treeline.service.api.parameters import MISSING, NOT_MODIFIED, PROBLEMS, FilePath, IndexParameters, refuse_repeats
from treeline.service.http.context import context
from treeline.service.http.response import REVALIDATE, entity_tag, json_reply, not_modified

blueprint = APIBlueprint("files", __name__, url_prefix="/api/files", tag="Files")
blueprint.before_request(refuse_repeats)


@blueprint.get("")
@blueprint.input(IndexParameters, location="query", arg_name="parameters")
@blueprint.output(RepositoriesBody)
@blueprint.doc(operation_id="repositories", responses=PROBLEMS)
def repositories(parameters: IndexParameters) -> Response:
    """The repositories of an index."""
    with context().searcher.searcher() as current:
        counts = Files(current).repositories()
    rows = [RepositoryBody(name=name, units=units) for name, units in counts.items()]
    return json_reply(RepositoriesBody(repositories=rows).json_bytes(), cache="private, max-age=10")


@blueprint.get("/<path:where>")
@blueprint.input(FilePath, location="path", arg_name="path")
@blueprint.input(IndexParameters, location="query", arg_name="parameters")
@blueprint.output(FileBody)
@blueprint.doc(operation_id="file", responses=MISSING | NOT_MODIFIED)
def file(where: str, path: FilePath, parameters: IndexParameters) -> Response:
    """A file with its text, outline and definitions; or what is in a folder.

    The text is as it was indexed. `definitions` has the names that the call graph could resolve to one place.
    """
    tag = entity_tag("file", context().searcher.info.identity, where)
    if (same := not_modified(tag)) is not None:
        return same
    with context().searcher.searcher() as current:
        files = Files(current)
        split = files.split(where.rstrip("/"))
        if split is None:
            raise NotFound("There is no such repository in the index.")
        repo, inner = split
        if where.endswith("/") or not inner:
            body = folder_body(files, repo, f"{inner}/" if inner else "")
        else:
            body = file_body(files, repo, inner)
    return json_reply(body.json_bytes(), tag=tag, cache=REVALIDATE)


def folder_body(files: Files, repo: str, folder: str) -> FileBody:
    rows = files.folder(repo, folder)
    if not rows:
        raise NotFound(f"There is no folder {folder} of {repo} in the index.")
    entries = [
        EntryBody(
            name=row.name, folder=row.is_folder, language=row.language, files=row.files, lines=row.lines, size=row.size
        )
        for row in rows
    ]
    return FileBody(repo=repo, path=folder, folder=True, entries=entries)


def file_body(files: Files, repo: str, path: str) -> FileBody:
    content, units = files.read(repo, path), files.units(repo, path)
    if content is None and not units:
        raise NotFound(f"There is no file {path} of {repo} in the index.")
    text, encoding, _ = decode(path, content) if content is not None else (None, "", False)
    entry = files.entry(repo, path)
    outline = [
        OutlineBody(
            id=unit.id,
            name=unit.address.func_name,
            kind=unit.address.kind,
            lines=list(lines_of(unit)),
            depth=depth,
        )
        for unit, depth in zip(units, depths(units), strict=True)
    ]
    definitions = [
        DefinitionBody(name=name, lines=[first, last], repo=target.repo, path=target.path, line=target.line)
        for first, last, names in sorted(files.references(units).inside, key=lambda row: row[:2])
        for name, target in sorted(names.items())
    ]
    return FileBody(
        repo=repo,
        path=path,
        folder=False,
        language=entry.language if entry else units[0].address.language if units else "",
        size=entry.size if entry else 0,
        lines=entry.lines if entry else 0,
        encoding=encoding,
        text=None if encoding == BINARY else text,
        outline=outline,
        definitions=definitions,
    )
