"""The language server: symbols by meaning, outlines, callers above functions, definitions and references.

Every request runs in a thread, so the editor's other requests are answered meanwhile. Choices (callers, similar
functions) use the protocol's own messages, so any client can show them without an extension.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from lsprotocol import types
from pygls import uris
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

import treeline
from treeline.corpus.counting import counted
from treeline.corpus.errors import TreelineError
from treeline.search.settings import Settings
from treeline.service.lsp.workspace import RELATIONS, Outline, Page, Span, Workspace, word_at
from treeline.service.projects import local_path

Value = TypeVar("Value")
KINDS = {
    "function": types.SymbolKind.Function,
    "method": types.SymbolKind.Method,
    "class": types.SymbolKind.Class,
    "interface": types.SymbolKind.Interface,
    "type": types.SymbolKind.Struct,
    "enum": types.SymbolKind.Enum,
    "constant": types.SymbolKind.Constant,
    "file": types.SymbolKind.File,
    "section": types.SymbolKind.String,
    "config": types.SymbolKind.Key,
}
SEARCH, RELATED = "treeline/search", "treeline/related"  # requests of our own
NAME_LINES = 12  # of a unit, where its name is looked for: decorators come before it
SHOW = "treeline.show"
CHOICES = 9  # per message: clients show them as buttons


class TreelineServer(LanguageServer):
    """The server and the project of the editor's open folder."""

    def __init__(self, settings: Settings) -> None:
        super().__init__("treeline", treeline.__version__)
        self.settings = settings
        self.project = Workspace(settings, Path.cwd())
        self.is_shut_down = False

    async def answer(self, ask: Callable[[], list[Value]]) -> list[Value]:
        """Call `ask` in a thread. A `TreelineError` is shown to the user, and the request gets an empty answer."""
        try:
            return await asyncio.to_thread(ask)
        except TreelineError as error:
            self.warn(error)
            return []

    def warn(self, error: TreelineError) -> None:
        self.window_show_message(types.ShowMessageParams(types.MessageType.Warning, f"Treeline: {error}"))

    def open_folder(self, uri: str | None) -> None:
        try:
            self.project = Workspace(self.settings, path_of(uri) if uri else Path.cwd())
        except TreelineError as error:
            self.warn(error)

    async def refresh(self) -> None:
        has_news = any(await self.answer(lambda: [self.project.refresh()]))
        capabilities = self.client_capabilities.workspace
        if has_news and capabilities and capabilities.code_lens and capabilities.code_lens.refresh_support:
            self.workspace_code_lens_refresh(None)

    def neighbours(self, relation: str, uri: str, line: int) -> list[Span]:
        """The callers, callees or similar functions of the unit at a line (from 0)."""
        around = self.project.at(path_of(uri), line + 1)
        return self.project.relatives(relation, around.id) if around else []

    def lines(self, uri: str) -> list[str]:
        """The lines of a document, open or on disk; none if it is gone, or not UTF-8."""
        try:
            return list(self.workspace.get_text_document(uri).lines)
        except (OSError, ValueError):
            return []

    def range_of(self, one: Span) -> types.Range:
        """The name of a span in its document; where it is not, the begin of its first line."""
        lines = self.lines(uri_of(one))
        name = re.compile(rf"(?<!\w){re.escape(one.word or one.name)}(?!\w)")
        for number in range(one.first - 1, min(one.last, one.first - 1 + NAME_LINES, len(lines))):
            if match := name.search(lines[number]):
                return self.columns(lines, number, *match.span())
        return self.columns(lines, one.first - 1, 0, 0)

    def columns(self, lines: Sequence[str], number: int, begin: int, end: int) -> types.Range:
        """A part of a line, in the columns that the editor counts."""
        there = types.Range(types.Position(number, begin), types.Position(number, end))
        if number >= len(lines):
            return there
        return self.workspace.position_codec.range_to_client_units(list(lines), there)

    def location(self, one: Span) -> types.Location:
        return types.Location(uri_of(one), self.range_of(one))

    def relative(self, one: Span) -> str:
        return str(one.path.relative_to(self.project.root))

    def row(self, one: Span) -> dict[str, object]:
        """A result for an editor's list: where it is, and the lines that match, each with its parts that do."""
        where = self.range_of(one)
        lines = [{"line": line.number - 1, "text": line.text, "matches": line.spans} for line in one.lines]
        place = {"uri": uri_of(one), "path": self.relative(one), "line": where.start.line}
        column = where.start.character
        return {"name": one.name, "kind": one.kind, "note": one.note, **place, "column": column, "lines": lines}

    def word(self, uri: str, at: types.Position) -> str:
        """The name at a position, whose column counts what the editor counts: UTF-8, 16 or 32."""
        lines = self.lines(uri)
        if at.line >= len(lines):
            return ""
        return word_at(lines[at.line], self.workspace.position_codec.position_from_client_units(lines, at).character)


def create_server(settings: Settings) -> TreelineServer:
    """The server with its features."""
    server = TreelineServer(settings)
    add_lifetime(server)
    add_symbols(server)
    add_lenses(server)
    add_navigation(server)
    return server


def add_lifetime(server: TreelineServer) -> None:
    @server.feature(types.INITIALIZED)
    async def begin(_params: types.InitializedParams) -> None:
        folders = list(server.workspace.folders.values())
        root = folders[0].uri if folders else server.workspace.root_uri
        server.open_folder(root)  # before the next request is looked at
        await server.refresh()

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def after_save(_params: types.DidSaveTextDocumentParams) -> None:
        await server.refresh()

    @server.feature(types.SHUTDOWN)
    def shutdown(_params: None) -> None:
        server.is_shut_down = True
        server.project.close()

    @server.feature(types.EXIT)
    def leave(_params: None) -> None:
        """End at once; pygls would end with a traceback, threads that still index would have to end first."""
        os._exit(0 if server.is_shut_down else 1)


def add_symbols(server: TreelineServer) -> None:
    @server.feature(types.WORKSPACE_SYMBOL)
    async def by_meaning(params: types.WorkspaceSymbolParams) -> list[types.WorkspaceSymbol]:
        spans = await server.answer(lambda: server.project.symbols(params.query))
        return [
            types.WorkspaceSymbol(
                server.location(one), one.name, kind_of(one.kind), container_name=server.relative(one)
            )
            for one in spans
        ]

    @server.feature(SEARCH)
    async def search(params: Any) -> dict[str, object]:
        """Results of a question (`query`), with notices and lines. Editors hide workspace symbols whose names are
        unlike the question, so an extension asks here."""
        pages = await server.answer(lambda: [server.project.search(str(params.query))])
        page = pages[0] if pages else Page((), 0, ())
        return {"notices": page.notices, "total": page.total, "results": [server.row(one) for one in page.spans]}

    @server.feature(RELATED)
    async def relatives(params: Any) -> dict[str, object]:
        """The same for the `relation` of the unit at a `line` (from 0) of a document (`uri`)."""
        relation, uri, line = str(params.relation), str(params.uri), int(params.line)
        spans = await server.answer(lambda: server.neighbours(relation, uri, line))
        notices = [] if spans else [f"no {relation} known"]
        return {"notices": notices, "total": len(spans), "results": [server.row(one) for one in spans]}

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    async def outline(params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
        uri = params.text_document.uri
        nodes = await server.answer(lambda: server.project.outline(path_of(uri)))
        return [symbol(one, path_of(uri)) for one in nodes]

    def symbol(one: Outline, path: Path) -> types.DocumentSymbol:
        first, last = one.unit.address.lines or (1, 1)
        name = one.unit.func_name.rpartition(".")[2] or one.unit.func_name
        where = server.range_of(Span(one.unit.func_name, one.unit.kind, path, first, last, name))
        whole = types.Range(types.Position(first - 1, 0), types.Position(last, 0))
        inner = [symbol(child, path) for child in one.children]
        return types.DocumentSymbol(name, kind_of(one.unit.kind), whole, where, children=inner)


def add_lenses(server: TreelineServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_CODE_LENS)
    async def lenses(params: types.CodeLensParams) -> list[types.CodeLens]:
        """The number of callers above each function that has some; others may call one that has none."""
        uri = params.text_document.uri
        callers = await server.answer(lambda: server.project.callers_in(path_of(uri)))
        return [
            types.CodeLens(
                types.Range(types.Position(first - 1, 0), types.Position(first - 1, 0)),
                types.Command(counted(count, "caller"), SHOW, arguments=["callers", uri, first - 1]),
            )
            for first, count in callers
        ]

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION)
    def actions(params: types.CodeActionParams) -> list[types.Command]:
        at = [params.text_document.uri, params.range.start.line]
        return [types.Command(f"Treeline: {relation}", SHOW, arguments=[relation, *at]) for relation in RELATIONS]

    def add_list(relation: str) -> None:
        @server.command(f"treeline.{relation}")
        async def show_list(uri: str, line: int) -> list[types.SymbolInformation]:
            spans = await server.answer(lambda: server.neighbours(relation, uri, line))
            return [types.SymbolInformation(server.location(one), one.name, kind_of(one.kind)) for one in spans]

    for relation in RELATIONS:
        add_list(relation)

    @server.command(SHOW)
    async def show(relation: str, uri: str, line: int) -> str:
        """Let the user choose one of the spans, and open it; returns its URI."""
        spans = await server.answer(lambda: server.neighbours(relation, uri, line))
        if not spans:
            server.window_show_message(
                types.ShowMessageParams(types.MessageType.Info, f"Treeline: no {relation} known")
            )
            return ""
        return await open_one(server, relation, spans)


async def open_one(server: TreelineServer, relation: str, spans: Sequence[Span]) -> str:
    """Ask the user which span to open. An editor that cannot ask or open gets the list in a message."""
    titles = {f"{one.name} {server.relative(one)}:{one.first}": one for one in spans}
    try:
        return await _ask_and_open(server, relation, titles)
    except JsonRpcException:
        choices = ", ".join(list(titles)[:CHOICES])
        server.window_show_message(types.ShowMessageParams(types.MessageType.Info, f"Treeline: {relation}: {choices}"))
        return ""


async def _ask_and_open(server: TreelineServer, relation: str, titles: Mapping[str, Span]) -> str:
    target = next(iter(titles.values()))
    if len(titles) > 1:
        more = f", the first {CHOICES}" if len(titles) > CHOICES else ""
        question = types.ShowMessageRequestParams(
            types.MessageType.Info,
            f"{len(titles)} {relation}{more}",
            actions=[types.MessageActionItem(title) for title in list(titles)[:CHOICES]],
        )
        answer = await server.window_show_message_request_async(question)
        if answer is None:
            return ""
        target = titles[answer.title]
    where = server.location(target)
    await server.window_show_document_async(types.ShowDocumentParams(where.uri, take_focus=True, selection=where.range))
    return where.uri


def add_navigation(server: TreelineServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    async def definition(params: types.DefinitionParams) -> list[types.Location]:
        return await navigate(params, server.project.definitions)

    @server.feature(types.TEXT_DOCUMENT_REFERENCES)
    async def references(params: types.ReferenceParams) -> list[types.Location]:
        declaration = params.context.include_declaration
        return await navigate(params, partial(server.project.references, with_declaration=declaration))

    async def navigate(
        params: types.DefinitionParams | types.ReferenceParams, ask: Callable[[Path, int, str], list[Span]]
    ) -> list[types.Location]:
        uri, at = params.text_document.uri, params.position

        def spans() -> list[Span]:
            path, word = path_of(uri), server.word(uri, at)
            return ask(path, at.line + 1, word) if word else []

        return [server.location(one) for one in await server.answer(spans)]


def path_of(uri: str) -> Path:
    return local_path(uris.to_fs_path(uri) or uri)


def uri_of(one: Span) -> str:
    return uris.from_fs_path(str(one.path)) or ""


def kind_of(kind: str) -> types.SymbolKind:
    return KINDS.get(kind, types.SymbolKind.Function)
