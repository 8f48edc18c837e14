"""The code view and the tree browser: `/files/REPO/PATH`, served from the texts that the index keeps."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from apiflask import APIBlueprint
from flask import Response, redirect, render_template, request
from markupsafe import Markup
from werkzeug.exceptions import NotFound
from werkzeug.wrappers import Response as BaseResponse

from treeline.corpus.errors import TreelineError
from treeline.corpus.frozen import frozen
from treeline.corpus.function import Address
from treeline.engine.hits import Hit
from treeline.ingest.decoding import decode
from treeline.ingest.state import ARTIFACT as STATE
from treeline.ingest.state import sources_in, totals
from treeline.search.answer import signature_of
from treeline.search.files import Files, FolderEntry, References, at_line, depths, lines_of
from treeline.search.relatives import Neighbour
from treeline.service import jobs
from treeline.service.http import guard
from treeline.service.http.context import context
from treeline.service.http.response import entity_tag, not_modified, quote_tag
from treeline.service.pages.results import PlaceView, place_view
from treeline.service.present.highlight import file_lines
from treeline.service.present.markdown import render_markdown
from treeline.service.present.text import code_markup, file_address, quoted_path, summary, visible, web_address
from treeline.service.skips import skip_counts

blueprint = APIBlueprint("files_page", __name__, url_prefix="/files", enable_openapi=False)

PART_BYTES = 60_000  # of HTML; a page shows one part, and a script loads the next
MOST_ENTRIES = 400  # of a folder
MOST_OUTLINE = 250  # of a file
MOST_REPOSITORIES = 500
MOST_CALLED = 10
MOST_NEIGHBOURS = 12
CACHED_FILES = 12
MOST_DIGITS = 12  # of a line number; Python refuses to read one of thousands
README = re.compile(r"readme(\.(md|markdown|rst|txt))?", re.IGNORECASE)
README_BYTES = 200_000
CACHE = "private, no-cache"


class Crumb(NamedTuple):
    label: str
    href: str


class IndexView(NamedTuple):
    """An index with its repositories, each with its URL and number of units; or why it cannot be opened."""

    name: str
    created: str
    repositories: list[tuple[str, str, int]]
    more: int
    problem: str
    skipped: dict[str, int]  # by reason, without the names of files


class OutlineRow(NamedTuple):
    """A row of a file's outline."""

    name: str
    kind: str
    line: int
    depth: int


class Part(NamedTuple):
    """Some lines of a file: their numbers and their code as HTML."""

    first: int
    last: int
    code: Markup


@frozen
class FileView:
    """A highlighted and linked file, made once for all its parts."""

    lines: list[str]
    encoding: str
    exact: bool  # whether every byte could be decoded
    units: list[Hit]


class _Cache:
    """Keeps the last few highlighted files, because the parts of a file are requested one after the other."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, FileView] = OrderedDict()
        self._lock = Lock()

    def get(self, key: str) -> FileView | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def store(self, key: str, view: FileView) -> None:
        with self._lock:
            self._kept[key] = view
            while len(self._kept) > CACHED_FILES:
                self._kept.popitem(last=False)


cache = _Cache()


@blueprint.get("/")
def repositories() -> Response:
    """The repositories of every served index; `index=` names some of them."""
    here, titles = context(), context().index_titles
    names = here.index_names if request.args.get("index") else titles
    views = [index_view(name, visible(titles[name])) for name in names]
    page = render_template("repositories.html", indexes=views, may_change=jobs.is_on(here.settings))
    return Response(page, headers={"Cache-Control": CACHE})


def index_view(name: str, title: str) -> IndexView:
    try:
        with context().indexes.open(name).searcher() as current:
            counts = list(Files(current).repositories().items())
            date = current.info.created
    except TreelineError as error:
        if len(context().indexes.names) == 1:
            raise
        return IndexView(title, "", [], 0, error.message, {})
    rows = [(visible(repo), file_address(repo), units) for repo, units in counts[:MOST_REPOSITORIES]]
    skipped = totals(skip_counts(context().settings, name))
    return IndexView(title, date, rows, max(0, len(counts) - MOST_REPOSITORIES), "", skipped)


@blueprint.get("/<path:where>")
def browse(where: str) -> BaseResponse:
    """A repository, a folder (ends in a slash), or a file: `raw=1` for its bytes, `from=` for the lines from there
    on, `at=` for the unit at a line."""
    with open_files() as files:
        split = files.split(where.rstrip("/"))
        if split is None:
            raise NotFound("There is no such repository in the index.")
        repo, path = split
        if where.endswith("/") or not path:
            if not where.endswith("/"):
                return redirect(file_address(repo))
            return folder_page(files, repo, f"{path}/" if path else "")
        content = files.read(repo, path)
        if content is None and files.folder(repo, f"{path}/"):
            return redirect(file_address(repo, f"{path}/"))
        if content is None:
            return page_without_text(files, repo, path)
        tag = entity_tag(context().searcher.info.identity, where, *sorted(request.args.items()), guard.is_local())
        if (same := not_modified(tag)) is not None:
            return same
        response = _file_response(files, repo, path, content)
        response.headers["ETag"] = quote_tag(tag)
        return response


def _file_response(files: Files, repo: str, path: str, content: bytes) -> Response:
    if request.args.get("raw") == "1":
        return raw(content)
    view = file_view(files, repo, path, content)
    if "at" in request.args:
        return unit_panel(files, view, number("at", len(view.lines)))
    start = number("from", len(view.lines)) if "from" in request.args else 1
    part = part_of(view, start)
    if request.args.get("part") == "1":
        page = render_template("file_part.html", part=part, next=next_address(repo, path, part, view))
        return Response(page, headers={"Cache-Control": CACHE})
    return file_page(files, repo, path, content, view, part)


def raw(content: bytes) -> Response:
    """The bytes as plain text, whatever they are; `nosniff` keeps a browser from running them."""
    return Response(content, mimetype="text/plain", headers={"Cache-Control": CACHE})


def file_page(files: Files, repo: str, path: str, content: bytes, view: FileView, part: Part) -> Response:
    entry = files.entry(repo, path)
    *_, name = path.split("/")
    page = render_template(
        "file.html",
        crumbs=crumbs(repo, path),
        name=visible(name),
        repo=visible(repo),
        path=visible(path),
        language=entry.language if entry else "",
        size=size(len(content)),
        total=len(view.lines),
        encoding="" if view.encoding in ("utf-8", "utf-8-sig") else view.encoding,
        exact=view.exact,
        part=part,
        address=file_address(repo, path),
        before=file_address(repo, path) + f"?from={max(1, part.first - 400)}" if part.first > 1 else "",
        next=next_address(repo, path, part, view),
        outline=outline(view.units)[:MOST_OUTLINE],
        more_units=max(0, len(view.units) - MOST_OUTLINE),
        source=source_address(view.units),
        editor=editor_address(files, repo, path),
    )
    return Response(page, headers={"Cache-Control": CACHE})


def page_without_text(files: Files, repo: str, path: str) -> Response:
    """The page of a file whose text is not kept: its units."""
    units = files.units(repo, path)
    if not units:
        raise NotFound(f"There is no file {path} of {repo} in the index.")
    page = render_template(
        "file_units.html",
        crumbs=crumbs(repo, path),
        name=visible(path.rpartition("/")[2]),
        units=[(place_view(unit.id, unit.address), depth) for unit, depth in zip(units, depths(units), strict=True)][
            :MOST_ENTRIES
        ],
        more=max(0, len(units) - MOST_ENTRIES),
        source=source_address(units),
    )
    return Response(page, headers={"Cache-Control": CACHE})


def folder_page(files: Files, repo: str, folder: str) -> Response:
    """The entries of a folder; of the one below it where there is nothing else."""
    at_top, entries = not folder, files.folder(repo, folder)
    while len(entries) == 1 and entries[0].is_folder:
        folder = f"{folder}{entries[0].name}/"
        entries = files.folder(repo, folder)
    if not entries:
        raise NotFound(f"There is no folder {folder} of {repo} in the index.")
    page = render_template(
        "folder.html",
        crumbs=crumbs(repo, folder.rstrip("/")),
        repo=visible(repo),
        folder=visible(folder),
        at_top=at_top,
        entries=[entry_row(repo, folder, entry) for entry in entries[:MOST_ENTRIES]],
        more=max(0, len(entries) - MOST_ENTRIES),
        readme=readme(files, repo, folder, entries),
        languages=shares(files.languages(repo)) if at_top else [],
        total=size(sum(entry.size for entry in entries)),
        files=sum(entry.files for entry in entries),
        lines=sum(entry.lines for entry in entries),
        units=files.repositories().get(repo, 0),
        most_called=[
            (place_view(hit.id, hit.address), count)
            for hit, count in (files.most_called(repo, MOST_CALLED) if at_top else [])
        ],
    )
    return Response(page, headers={"Cache-Control": CACHE})


def unit_panel(files: Files, view: FileView, line: int) -> Response:
    """The unit at a line for the page's script: signature, docstring, callers and callees."""
    unit = at_line(view.units, line)
    searcher = files.searcher
    record = searcher.function(unit.id) if unit is not None else None
    if unit is None or record is None:
        return Response(render_template("unit_panel.html", unit=None), headers={"Cache-Control": CACHE})
    callers, callees = searcher.relatives.callers(unit.id), searcher.relatives.callees(unit.id)
    page = render_template(
        "unit_panel.html",
        unit=place_view(unit.id, unit.address),
        kind=unit.address.kind,
        callable=bool(callers or callees) or unit.address.kind in ("function", "method", "class"),
        lines=lines_of(unit),
        signature=visible(signature_of(record)),
        about=code_markup(visible(summary(record.docstring))),
        callers=neighbours(callers),
        callees=neighbours(callees),
        more_callers=max(0, len(callers) - MOST_NEIGHBOURS),
        more_callees=max(0, len(callees) - MOST_NEIGHBOURS),
    )
    return Response(page, headers={"Cache-Control": CACHE})


def file_view(files: Files, repo: str, path: str, content: bytes) -> FileView:
    key = f"{files.searcher.info.identity}\0{repo}\0{path}"
    if (known := cache.get(key)) is not None:
        return known
    text, encoding, exact = decode(path, content)
    units = files.units(repo, path)
    entry = files.entry(repo, path)
    lines = file_lines(text, entry.language if entry else "", _Links(units, files.references(units)))
    if len(lines) > 1 and not lines[-1]:
        lines.pop()  # the empty line after the last line break
    view = FileView(lines, encoding, exact, units)
    cache.store(key, view)
    return view


class _Links:
    """The links of a file's identifiers: a definition links to its page, a reference to its definition."""

    def __init__(self, units: Sequence[Hit], references: References) -> None:
        self._references = references
        self._defined: dict[tuple[int, str], str] = {}
        for unit in reversed(units):  # the outermost last, so that it wins on its own line
            name = unit.address.func_name.rpartition(".")[2]
            first, last = lines_of(unit)
            for line in range(first, min(first + 4, last + 1)):  # decorators and modifiers may come first
                self._defined[line, name] = f"/functions/{unit.id}"

    def __call__(self, line: int, name: str) -> str:
        if address := self._defined.get((line, name)):
            return address
        target = self._references.at(line, name)
        return file_address(*target) if target else ""


def part_of(view: FileView, start: int) -> Part:
    """The lines from `start` on, as many as fit on a page."""
    last, room = start - 1, PART_BYTES
    while last < len(view.lines) and (room > 0 or last == start - 1):
        room -= len(view.lines[last]) + 40  # including its line number
        last += 1
    return Part(start, last, Markup("\n".join(view.lines[start - 1 : last])))  # noqa: S704 - `file_lines` escapes


def next_address(repo: str, path: str, part: Part, view: FileView) -> str:
    return f"{file_address(repo, path)}?from={part.last + 1}" if part.last < len(view.lines) else ""


def outline(units: Sequence[Hit]) -> list[OutlineRow]:
    return [
        OutlineRow(visible(unit.address.func_name.rpartition(".")[2]), unit.address.kind, lines_of(unit)[0], depth)
        for unit, depth in zip(units, depths(units), strict=True)
    ]


def readme(files: Files, repo: str, folder: str, entries: Sequence[FolderEntry]) -> tuple[str, Markup] | None:
    """The folder's README: its name and HTML. One that is not Markdown is shown as plain text."""
    file = next((entry for entry in entries if not entry.is_folder and README.fullmatch(entry.name)), None)
    content = files.read(repo, folder + file.name) if file is not None and file.size <= README_BYTES else None
    if file is None or content is None:
        return None
    text = content.decode("utf-8", "replace")
    if file.name.lower().endswith(("md", "markdown")):
        return visible(file.name), render_markdown(text, lambda path: file_address(repo, path), folder)
    return visible(file.name), Markup("<pre>{}</pre>").format(visible(text[: README_BYTES // 10]))


def entry_row(repo: str, folder: str, entry: FolderEntry) -> dict[str, object]:
    tail = "/" if entry.is_folder else ""
    return {
        "name": visible(entry.name) + tail,
        "href": file_address(repo, f"{folder}{entry.name}{tail}"),
        "is_folder": entry.is_folder,
        "kind": f"{entry.files:,} {'file' if entry.files == 1 else 'files'}" if entry.is_folder else entry.language,
        "size": size(entry.size) if entry.size else "",
        "lines": f"{entry.lines:,}" if entry.lines else "",
        "known": entry.files > 0,
    }


def shares(languages: dict[str, int]) -> list[tuple[str, str, float]]:
    """Each language with its size and its share in percent."""
    total = sum(languages.values()) or 1
    return [(name, size(count), round(100 * count / total, 1)) for name, count in list(languages.items())[:8]]


def neighbours(calls: Sequence[Neighbour]) -> list[PlaceView]:
    return [
        place_view(one.id, Address(one.repo, one.path, one.name, one.language, f"#L{one.line}"))
        for one in [one for one in calls if one.id][:MOST_NEIGHBOURS]
    ]


def crumbs(repo: str, path: str = "") -> list[Crumb]:
    """The breadcrumbs of a file or folder, each a link; the last is the current page."""
    trail = [Crumb("Files", "/files/"), Crumb(visible(repo), file_address(repo))]
    ancestor = ""
    for part in filter(None, path.split("/")):
        ancestor += f"{part}/"
        trail.append(Crumb(visible(part), file_address(repo, ancestor)))
    return trail


def source_address(units: Sequence[Hit]) -> str:
    """The file's URL on the web, at its commit."""
    return web_address(units[0].address.url.partition("#")[0]) if units else ""


def editor_address(files: Files, repo: str, path: str) -> str:
    """The URL that opens the file in an editor; only for a user on this machine, if the file still exists."""
    pattern = context().settings.editor
    if not pattern or not guard.is_local():
        return ""
    sources = sources_in(files.searcher.engine.artifact(STATE))
    for root in sources:
        file = Path(root) / path
        try:
            here = root.startswith("/") and file.resolve().is_relative_to(Path(root).resolve()) and file.is_file()
        except (OSError, ValueError):
            continue
        if here and (len(sources) == 1 or repo.rpartition("/")[2] in Path(root).parts):
            return pattern.replace("{path}", quoted_path(str(file))).replace("{line}", "1")
    return ""


def number(name: str, most: int) -> int:
    """A line number from the URL."""
    value = request.args.get(name, "")
    if len(value) > MOST_DIGITS or not value.isdecimal():
        raise NotFound(f"{name} must be a line number, not {value[:20]!r}.")
    if not 1 <= int(value) <= max(most, 1):
        raise NotFound(f"The file has {most:,} lines; there is no line {int(value):,}.")
    return int(value)


def size(count: int) -> str:
    """`1.2 kB`"""
    if count < 1_000:
        return f"{count} bytes"
    return f"{count / 1_000:.1f} kB" if count < 1_000_000 else f"{count / 1_000_000:.1f} MB"


@contextmanager
def open_files() -> Iterator[Files]:
    """The files of the current generation, which stays open inside the block."""
    with context().searcher.searcher() as current:
        yield Files(current)
