"""The language server: symbols by meaning, outlines, callers above functions, definitions and references.

Every request runs in a thread, so the editor's other requests are answered meanwhile. Choices (callers, similar
functions) use the protocol's own messages, so any client can show them without an extension.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

from lsprotocol import types
from pygls import uris
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from treeline.corpus.counting import counted
from treeline.corpus.errors import TreelineError
from treeline.search.settings import Settings
from treeline.service.lsp.workspace import Outline, Span, Workspace, word_at
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
RELATIONS = ("callers", "callees", "similar")
SHOW = "treeline.show"
CHOICES = 9  # per message: clients show them as buttons


class TreelineServer(LanguageServer):
    """The server and the project of the editor's open folder."""

    def __init__(self, settings: Settings) -> None:
        super().__init__("treeline", version("treeline-search"))
        self.settings = settings
        self.project = Workspace(settings, Path.cwd())

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
        if around is None or relation not in RELATIONS:
            return []
        spans: list[Span] = getattr(self.project, relation)(around.id)
        return spans

    def word(self, uri: str, at: types.Position) -> str:
        """The name at a position, whose column counts what the editor counts: UTF-8, 16 or 32."""
        document = self.workspace.get_text_document(uri)
        try:
            lines = document.lines
        except (OSError, ValueError):  # the file is gone, or not UTF-8
            return ""
        if at.line >= len(lines):
            return ""
        return word_at(lines[at.line], document.position_codec.position_from_client_units(lines, at).character)


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
        server.project.close()


def add_symbols(server: TreelineServer) -> None:
    @server.feature(types.WORKSPACE_SYMBOL)
    async def by_meaning(params: types.WorkspaceSymbolParams) -> list[types.WorkspaceSymbol]:
        spans = await server.answer(lambda: server.project.symbols(params.query))
        return [
            types.WorkspaceSymbol(location(one), one.name, kind_of(one.kind), container_name=relative(one))
            for one in spans
        ]

    def relative(one: Span) -> str:
        return str(one.path.relative_to(server.project.root))

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    async def outline(params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
        nodes = await server.answer(lambda: server.project.outline(path_of(params.text_document.uri)))
        return [document_symbol(one) for one in nodes]


def add_lenses(server: TreelineServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_CODE_LENS, types.CodeLensOptions(resolve_provider=True))
    async def lenses(params: types.CodeLensParams) -> list[types.CodeLens]:
        uri = params.text_document.uri
        hits = await server.answer(lambda: server.project.functions(path_of(uri)))
        return [
            types.CodeLens(span(first, first), data={"id": hit.id, "uri": uri, "line": first - 1})
            for hit in hits
            for first in [(hit.address.lines or (1, 1))[0]]
        ]

    @server.feature(types.CODE_LENS_RESOLVE)
    async def count(lens: types.CodeLens) -> types.CodeLens:
        data = lens.data if isinstance(lens.data, dict) else {}
        callers = await server.answer(lambda: server.project.callers(str(data.get("id", ""))))
        title = counted(len(callers), "caller") if callers else "no known callers"
        lens.command = types.Command(title, SHOW, arguments=["callers", data.get("uri"), data.get("line")])
        return lens

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION)
    def actions(params: types.CodeActionParams) -> list[types.Command]:
        at = [params.text_document.uri, params.range.start.line]
        return [types.Command(f"Treeline: {relation}", SHOW, arguments=[relation, *at]) for relation in RELATIONS]

    def add_list(relation: str) -> None:
        @server.command(f"treeline.{relation}")
        async def show_list(uri: str, line: int) -> list[types.SymbolInformation]:
            spans = await server.answer(lambda: server.neighbours(relation, uri, line))
            return [types.SymbolInformation(location(one), one.name, kind_of(one.kind)) for one in spans]

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
    titles = {f"{one.name} {one.path.relative_to(server.project.root)}:{one.first}": one for one in spans}
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
    where = location(target)
    await server.window_show_document_async(types.ShowDocumentParams(where.uri, take_focus=True, selection=where.range))
    return where.uri


def add_navigation(server: TreelineServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    async def definition(params: types.DefinitionParams) -> list[types.Location]:
        return await navigate(params, server.project.definitions)

    @server.feature(types.TEXT_DOCUMENT_REFERENCES)
    async def references(params: types.ReferenceParams) -> list[types.Location]:
        return await navigate(params, server.project.references)

    async def navigate(
        params: types.DefinitionParams | types.ReferenceParams, ask: Callable[[Path, int, str], list[Span]]
    ) -> list[types.Location]:
        uri, at = params.text_document.uri, params.position

        def spans() -> list[Span]:
            path, word = path_of(uri), server.word(uri, at)
            return ask(path, at.line + 1, word) if word else []

        return [location(one) for one in await server.answer(spans)]


def path_of(uri: str) -> Path:
    return local_path(uris.to_fs_path(uri) or uri)


def location(one: Span) -> types.Location:
    return types.Location(uris.from_fs_path(str(one.path)) or "", span(one.first, one.last))


def span(first: int, last: int) -> types.Range:
    """A range of whole lines, which count from 1."""
    return types.Range(types.Position(first - 1, 0), types.Position(last, 0))


def kind_of(kind: str) -> types.SymbolKind:
    return KINDS.get(kind, types.SymbolKind.Function)


def document_symbol(one: Outline) -> types.DocumentSymbol:
    first, last = one.unit.address.lines or (1, 1)
    return types.DocumentSymbol(
        one.unit.func_name.rpartition(".")[2] or one.unit.func_name,
        kind_of(one.unit.kind),
        span(first, last),
        span(first, first),
        children=[document_symbol(child) for child in one.children],
    )
