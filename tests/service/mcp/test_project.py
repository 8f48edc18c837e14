"""The agents' server in a project that nobody indexed: it is indexed, refreshed, outlined and read."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, TextContent

from tests.ingest.loading import project
from treeline.search.settings import Settings
from treeline.service.mcp.server import create_server

FILES = {
    "shop/cart.go": "package shop\n\n// Total adds up what is in the cart.\n// It ignores gifts.\n"
    "func Total(items []int) int {\n\treturn add(items)\n}\n\nfunc add(items []int) int {\n\treturn len(items)\n}\n",
    "shop/mail.py": 'class Mailer:\n    def send_receipt(self, to):\n        """Send a receipt by mail."""\n',
}
Call = Callable[..., str]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = project(tmp_path / "demo", FILES)
    (found / ".git").mkdir()
    monkeypatch.chdir(found)
    return found


@pytest.fixture
def call(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Call a tool of a server that runs in the project."""
    server = create_server(Settings(home=str(tmp_path / "home"), encoder="none"), follow=True)

    def called(name: str, **arguments: object) -> str:
        async def ask() -> str:
            result = await server.call_tool(name, arguments)
            assert isinstance(result, CallToolResult)
            return "\n".join(block.text for block in result.content if isinstance(block, TextContent))

        return anyio.run(ask)

    return called


def test_a_question_indexes_and_refreshes_the_project(call: Call, root: Path) -> None:
    assert "send_receipt" in call("search_code", query="send a receipt by mail")
    (root / "shop" / "mail.py").write_text(
        'def post_letter(to):\n    """Send a receipt by mail."""\n', encoding="utf-8"
    )
    answer = call("search_code", query="send a receipt by mail")
    assert "post_letter" in answer and "send_receipt" not in answer


def test_a_folder_as_repo_is_another_project(call: Call, root: Path) -> None:
    other = project(root / "vendor-zoo", {"zoo.py": 'def feed_lions(zoo):\n    """Feed the lions."""\n'})
    (other / ".git").mkdir()
    assert "feed_lions" in call("search_code", query="feed the lions", repo=str(other))
    with pytest.raises(ToolError, match="outside the allowed folders"):
        call("search_code", query="x", repo=str(root.parent))


def test_kinds_exact_text_and_callees(call: Call) -> None:
    assert "Mailer" in call("search_code", query="mailer receipt", kind="class", code=False)
    assert "Total" in call("search_code", query='"adds up what is in the cart"', code=False)
    assert "add" in call("find_callees", function="Total")


def test_a_docstring_outside_of_the_code_is_complete(call: Call) -> None:
    call("search_code", query="Total")
    assert "It ignores gifts." in call("get_function", function="Total")


def test_a_file_is_outlined_and_read_within_the_project(call: Call, root: Path) -> None:
    call("search_code", query="receipt")
    assert "    1 class Mailer\n    2   method " in call("outline", file="shop/mail.py").replace("function", "method")
    assert call("read_lines", file="shop/mail.py", first=2, last=2) == "    2     def send_receipt(self, to):"
    assert "has no line 99" in call("read_lines", file="shop/mail.py", first=99)
    (root.parent / "secret.txt").write_text("secret", encoding="utf-8")
    with pytest.raises(ToolError, match="outside the allowed folders"):
        call("read_lines", file="../secret.txt")
    (root / "link.txt").symlink_to(root.parent / "secret.txt")
    with pytest.raises(ToolError, match="outside the allowed folders"):
        call("read_lines", file="link.txt")


def test_results_of_a_project_are_places_that_the_other_tools_take(call: Call) -> None:
    answer = call("search_code", query="adds up what is in the cart", k=1)
    place, _, rest = answer.partition(" ")
    assert place == "shop/cart.go:5-7" and rest.startswith("Total: Total adds up what is in the cart.\n5 func Total(")
    assert "> It ignores gifts." in call("get_function", function=place)
    assert "shop/cart.go:9-11 add" in call("find_callees", function=place)


def test_the_next_results_are_offered_and_given(call: Call) -> None:
    first = call("search_code", query="receipt", k=1, code=False)
    assert first.endswith("\n… more with offset=1")
    assert call("search_code", query="receipt", k=1, code=False, offset=1).split()[0] != first.split()[0]


def test_over_stdio_the_first_call_indexes_and_an_edit_is_seen_at_once(root: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "TREELINE_HOME": str(tmp_path / "home"), "TREELINE_ENCODER": "none"}
    environment.pop("TREELINE_INDEX", None)
    command = ["-m", "treeline.service.cli", "mcp"]
    server = StdioServerParameters(command=sys.executable, args=command, env=environment, cwd=str(root))

    async def talk() -> None:
        async with Client(server, read_timeout_seconds=240) as client:

            async def call(name: str, **arguments: object) -> str:
                result = await client.call_tool(name, arguments)
                [content] = result.content
                assert isinstance(content, TextContent)
                return content.text

            assert "shop/cart.go:5-7 Total" in await call("search_code", query="what is in the cart")
            whole = await call("get_function", function="shop/cart.go:5")
            assert "> Total adds up what is in the cart.\n> It ignores gifts.\n5 func Total(" in whole
            (root / "shop" / "cart.go").write_text("package shop\n\n// Sum is in the cart.\nfunc Sum() {}\n")
            answer = await call("search_code", query="what is in the cart")
            assert "shop/cart.go:4-4 Sum" in answer and "Total" not in answer
            refused = await call("search_code", query="x", repo=str(root.parent))
            assert "outside the allowed folders" in refused and "\n" not in refused

    anyio.run(talk)
