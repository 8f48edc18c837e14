"""An editor's client, over standard input and output, in a project that nobody indexed."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol

import pytest
from lsprotocol import types
from pygls.lsp.client import LanguageClient

from tests.ingest.loading import project

FILES = {
    "shop/cart.py": "from shop.mail import send_receipt\n\n\nclass Cart:\n    def pay(self, to):\n"
    '        """Charge the customer for the whole cart."""\n        return send_receipt(to)\n\n\n'
    "def refund(to):\n    return send_receipt(to)\n",
    "shop/mail.py": 'def send_receipt(to):\n    """Send a receipt by mail."""\n    return to\n',
}
TIMEOUT_S = 120


class Editor:
    """A client that keeps what the server shows, and chooses the last of what it offers."""

    def __init__(self, root: Path, *, can_ask: bool = True) -> None:
        self.root = root
        self.client = LanguageClient("test", "1")
        self.offered: list[list[str]] = []
        self.opened: list[types.ShowDocumentParams] = []
        self.said: list[str] = []
        self.lenses_refreshed = asyncio.Event()

        def choose(params: types.ShowMessageRequestParams) -> types.MessageActionItem:
            self.offered.append([action.title for action in params.actions or ()])
            assert params.actions
            return params.actions[-1]

        if can_ask:
            self.client.feature(types.WINDOW_SHOW_MESSAGE_REQUEST)(choose)

        @self.client.feature(types.WINDOW_SHOW_DOCUMENT)  # type: ignore[untyped-decorator]
        def show(params: types.ShowDocumentParams) -> types.ShowDocumentResult:
            self.opened.append(params)
            return types.ShowDocumentResult(success=True)

        @self.client.feature(types.WINDOW_SHOW_MESSAGE)  # type: ignore[untyped-decorator]
        def said(params: types.ShowMessageParams) -> None:
            self.said.append(params.message)

        @self.client.feature(types.WORKSPACE_CODE_LENS_REFRESH)  # type: ignore[untyped-decorator]
        def refreshed(_params: None) -> None:
            self.lenses_refreshed.set()

    def uri(self, name: str) -> str:
        return (self.root / name).as_uri()

    def document(self, name: str) -> types.TextDocumentIdentifier:
        return types.TextDocumentIdentifier(self.uri(name))

    async def command(self, name: str, *arguments: object) -> object:
        return await self.client.workspace_execute_command_async(types.ExecuteCommandParams(name, list(arguments)))

    async def symbols(self, query: str) -> list[str]:
        found = await self.client.workspace_symbol_async(types.WorkspaceSymbolParams(query))
        return [one.name for one in found or ()]


Talk = Callable[[Editor], Awaitable[None]]


class Converse(Protocol):
    def __call__(self, talk: Talk, introduction: dict[str, Any] | None = None, *, can_ask: bool = True) -> None: ...


@pytest.fixture
def converse(tmp_path: Path) -> Converse:
    """Talk to `treeline lsp` as an editor would, which may introduce itself in its own way."""
    root = project(tmp_path / "demo", FILES)
    (root / ".git").mkdir()
    environment = {**os.environ, "TREELINE_HOME": str(tmp_path / "home")}
    environment.pop("TREELINE_INDEX", None)

    async def session(talk: Talk, introduction: dict[str, Any], can_ask: bool) -> None:
        editor = Editor(root, can_ask=can_ask)
        await editor.client.start_io(sys.executable, "-m", "treeline.service.cli", "lsp", env=environment)
        capabilities = types.ClientCapabilities(
            workspace=types.WorkspaceClientCapabilities(
                code_lens=types.CodeLensWorkspaceClientCapabilities(refresh_support=True)
            )
        )
        folder = types.WorkspaceFolder(root.as_uri(), "demo")
        usual: dict[str, Any] = {"capabilities": capabilities, "workspace_folders": [folder], "root_uri": root.as_uri()}
        await editor.client.initialize_async(types.InitializeParams(**usual | introduction))
        editor.client.initialized(types.InitializedParams())
        await talk(editor)
        await editor.client.shutdown_async(None)
        editor.client.exit(None)
        await editor.client.stop()  # type: ignore[no-untyped-call]

    def run(talk: Talk, introduction: dict[str, Any] | None = None, *, can_ask: bool = True) -> None:
        asyncio.run(asyncio.wait_for(session(talk, introduction or {}, can_ask), TIMEOUT_S))

    return run


def test_symbols_are_found_by_what_they_do_and_outlined_by_file(converse: Converse) -> None:
    async def talk(editor: Editor) -> None:
        assert "send_receipt" in (await editor.symbols("post an invoice to somebody by mail"))[:2]
        assert await editor.symbols("") == []
        outline = await editor.client.text_document_document_symbol_async(
            types.DocumentSymbolParams(editor.document("shop/cart.py"))
        )
        assert outline is not None
        shape = [
            (one.name, one.kind, [inner.name for inner in getattr(one, "children", None) or ()]) for one in outline
        ]
        assert shape == [("Cart", types.SymbolKind.Class, ["pay"]), ("refund", types.SymbolKind.Function, [])]

    converse(talk)


def test_a_lens_counts_the_callers_and_its_command_shows_them(converse: Converse) -> None:
    async def talk(editor: Editor) -> None:
        lenses = await editor.client.text_document_code_lens_async(
            types.CodeLensParams(editor.document("shop/mail.py"))
        )
        assert lenses is not None
        [lens] = lenses  # none above what nothing here calls: others may call it
        assert lens.command is not None and lens.command.title == "2 callers"
        opened = await editor.command(lens.command.command, *(lens.command.arguments or ()))
        assert sorted(editor.offered[0]) == ["Cart.pay shop/cart.py:5", "refund shop/cart.py:10"]
        assert opened == editor.uri("shop/cart.py") == editor.opened[0].uri
        listed = await editor.command("treeline.callees", editor.uri("shop/cart.py"), 9)
        assert [one["name"] for one in listed] == ["send_receipt"]  # type: ignore[attr-defined]
        similar = await editor.command("treeline.similar", editor.uri("shop/cart.py"), 9)
        assert "Cart.pay" in [one["name"] for one in similar]  # type: ignore[attr-defined]
        assert await editor.command("treeline.show", "callers", editor.uri("shop/cart.py"), 9) == ""
        assert editor.said == ["Treeline: no callers known"]

    converse(talk)


def test_definition_and_references_follow_the_call_graph(converse: Converse) -> None:
    async def talk(editor: Editor) -> None:
        call = types.Position(6, 18)  # return send_|receipt(to)
        found = await editor.client.text_document_definition_async(
            types.DefinitionParams(editor.document("shop/cart.py"), call)
        )
        assert isinstance(found, list)
        [place] = found
        assert isinstance(place, types.Location)
        name = types.Range(types.Position(0, 4), types.Position(0, 16))
        assert place.uri == editor.uri("shop/mail.py") and place.range == name

        async def references(declaration: bool) -> list[tuple[int, int]]:
            document, at = editor.document("shop/mail.py"), types.Position(0, 6)
            params = types.ReferenceParams(types.ReferenceContext(declaration), document, at)
            places = await editor.client.text_document_references_async(params)
            return sorted((one.range.start.line, one.range.start.character) for one in places or ())

        assert await references(False) == [(6, 15), (10, 11)]
        assert await references(True) == [(0, 4), (6, 15), (10, 11)]

    converse(talk)


def test_an_extension_asks_questions_and_gets_the_lines_that_match(converse: Converse) -> None:
    async def talk(editor: Editor) -> None:
        ask = editor.client.protocol.send_request_async
        page = await ask("treeline/search", {"query": "what calls send_receipt"})
        assert page.notices[0].startswith("2 functions are known to call the send_receipt")
        [pay] = [one for one in page.results if one.name == "Cart.pay"]
        assert (pay.path, pay.line, pay.column, pay.note) == ("shop/cart.py", 4, 8, "calls")
        [line] = pay.lines
        assert (line.line, line.text) == (6, "        return send_receipt(to)")
        assert [line.text[begin:end] for begin, end in line.matches] == ["send_receipt("]
        callers = {"relation": "callers", "uri": editor.uri("shop/mail.py"), "line": 0}
        rows = (await ask("treeline/related", callers)).results
        assert sorted((one.name, one.lines[0].line) for one in rows) == [("Cart.pay", 6), ("refund", 10)]
        alone = await ask("treeline/related", callers | {"uri": editor.uri("shop/cart.py"), "line": 9})
        assert (alone.notices, alone.results) == (["no callers known"], [])
        nothing = await ask("treeline/search", {"query": '"nowhere to be seen"'})
        assert nothing.results == [] and nothing.notices

    converse(talk)


@pytest.mark.parametrize(("farewell", "code"), [("shutdown", 0), ("", 1)])
def test_the_server_ends_when_it_is_told_to(tmp_path: Path, farewell: str, code: int) -> None:
    messages = [{"id": 1, "method": "initialize", "params": {"capabilities": {}}}]
    messages += [{"id": 2, "method": farewell}] if farewell else []
    messages += [{"method": "exit"}]
    bodies = [json.dumps({"jsonrpc": "2.0", **message}) for message in messages]
    text = "".join(f"Content-Length: {len(body)}\r\n\r\n{body}" for body in bodies)
    command = [sys.executable, "-m", "treeline.service.cli", "lsp"]
    environment = {**os.environ, "TREELINE_HOME": str(tmp_path)}
    done = subprocess.run(
        command, input=text, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S
    )
    assert (done.returncode, done.stderr) == (code, "")


def counting(*encodings: str) -> types.ClientCapabilities:
    kinds = [types.PositionEncodingKind(one) for one in encodings]
    return types.ClientCapabilities(general=types.GeneralClientCapabilities(position_encodings=kinds))


# How the editors of docs/how-to/editors.md introduce themselves: what they count columns in, how they name the folder.
EDITORS: dict[str, tuple[dict[str, Any], int]] = {
    "VS Code": ({"capabilities": counting("utf-16")}, 2),
    "Neovim": ({"capabilities": counting("utf-8", "utf-16", "utf-32")}, 4),
    "Helix": ({"capabilities": counting("utf-8", "utf-32", "utf-16")}, 4),
    "Emacs": ({"capabilities": types.ClientCapabilities(), "workspace_folders": None}, 2),
}


@pytest.mark.parametrize("name", EDITORS)
def test_each_editor_is_served_as_it_introduces_itself(converse: Converse, name: str) -> None:
    introduction, width = EDITORS[name]

    async def talk(editor: Editor) -> None:
        assert "send_receipt" in await editor.symbols("post an invoice by mail")
        before = "    return '\N{WRAPPED PRESENT}' * 9, "
        text = f"from shop.mail import send_receipt\n\n\ndef gift(to):\n{before}send_receipt(to)\n"
        editor.client.text_document_did_open(
            types.DidOpenTextDocumentParams(types.TextDocumentItem(editor.uri("shop/gift.py"), "python", 1, text))
        )
        for column, expected in ((0, 1), (len("send_receipt"), 1), (len("send_receipt(to"), 0)):
            at = types.Position(4, len(before) - 1 + width + column)  # the present counts as one letter in `before`
            found = await editor.client.text_document_definition_async(
                types.DefinitionParams(editor.document("shop/gift.py"), at)
            )
            assert isinstance(found, list) and len(found) == expected, (name, column, found)

    converse(talk, introduction)


def test_an_editor_that_cannot_ask_is_told_the_places(converse: Converse) -> None:
    async def talk(editor: Editor) -> None:
        assert await editor.command("treeline.show", "callers", editor.uri("shop/mail.py"), 0) == ""
        [said] = editor.said
        assert said.startswith("Treeline: callers: ") and "Cart.pay shop/cart.py:5" in said and "refund" in said

    converse(talk, can_ask=False)


def test_a_saved_file_is_read_again(converse: Converse) -> None:
    async def talk(editor: Editor) -> None:
        assert "feed_lions" not in await editor.symbols("feed the lions")
        (editor.root / "shop" / "zoo.py").write_text(
            'def feed_lions(zoo):\n    """Feed the lions."""\n    return zoo\n'
        )
        editor.lenses_refreshed.clear()
        editor.client.text_document_did_save(types.DidSaveTextDocumentParams(editor.document("shop/zoo.py")))
        await editor.lenses_refreshed.wait()
        assert "feed_lions" in await editor.symbols("feed the lions")

    converse(talk)


@pytest.mark.parametrize("path", ["/a%00b", "/" + "x" * 5_000])
def test_a_path_that_cannot_be_is_one_clear_message(
    converse: Converse, path: str, capfd: pytest.CaptureFixture[str]
) -> None:
    document = types.TextDocumentIdentifier(f"file://{path}")

    async def talk(editor: Editor) -> None:
        client, at = editor.client, types.Position(0, 0)
        answers = [
            await client.text_document_document_symbol_async(types.DocumentSymbolParams(document)),
            await client.text_document_code_lens_async(types.CodeLensParams(document)),
            await client.text_document_definition_async(types.DefinitionParams(document, at)),
            await editor.command("treeline.callers", document.uri, 0),
        ]
        assert not any(answers)
        assert len(editor.said) == 4 and all("is not a local folder or file" in said for said in editor.said)
        assert (
            await client.text_document_definition_async(types.DefinitionParams(editor.document("shop/gone.py"), at))
            == []
        )

    converse(talk)
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("treeline.service.lsp.server", ("torch", "sklearn", "scipy", "flask")),
        ("treeline.service.mcp.server", ("torch", "sklearn", "scipy", "flask", "mcp", "pydantic", "rich", "asyncio")),
    ],
)
def test_a_server_of_an_editor_or_an_agent_imports_nothing_heavy(module: str, heavy: tuple[str, ...]) -> None:
    check = f"import sys, {module}; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
