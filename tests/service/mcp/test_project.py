"""The agents' server in a project that nobody indexed: it is indexed, refreshed, outlined and read."""

import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from time import monotonic

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp_types import TextContent

from tests.ingest.loading import project
from tests.ingest.test_history import commit, git
from treeline.corpus.errors import InputError
from treeline.engine.embedded import EmbeddedStore
from treeline.ingest import history as histories
from treeline.ingest.project import projects
from treeline.search.settings import Settings
from treeline.service.mcp.protocol import Server
from treeline.service.mcp.server import create_server

FILES = {
    "shop/cart.go": "package shop\n\n// Total adds up what is in the cart.\n// It ignores gifts.\n"
    "func Total(items []int) int {\n\treturn add(items)\n}\n\nfunc add(items []int) int {\n\treturn len(items)\n}\n",
    "shop/mail.py": 'class Mailer:\n    def send_receipt(self, to):\n        """Send a receipt by mail."""\n',
}
Call = Callable[..., str]
AsyncCall = Callable[..., Awaitable[str]]
Converse = Callable[[Callable[[AsyncCall], Awaitable[None]]], None]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = project(tmp_path / "demo", FILES)
    (found / ".git").mkdir()
    monkeypatch.chdir(found)
    return found


@pytest.fixture
def server(root: Path, tmp_path: Path) -> Server:
    """A server that runs in the project."""
    return create_server(Settings(home=str(tmp_path / "home"), encoder="none"), follow=True)


@pytest.fixture
def call(server: Server) -> Call:
    """Call a tool of the server."""
    return lambda name, **arguments: server.call(name, arguments).text


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
    with pytest.raises(InputError, match="outside the allowed folders"):
        call("search_code", query="x", repo=str(root.parent))


def test_several_folders_as_repo_are_searched_together(server: Server, call: Call, root: Path) -> None:
    other = project(root / "vendor-zoo", {"zoo.py": 'def weigh_cart(zoo):\n    """Weigh the cart."""\n'})
    (other / ".git").mkdir()
    text, data = server.call("search_code", {"query": "what is in the cart", "repo": f"{root},{other}"})
    assert data and {"Total", "weigh_cart"} <= {row["name"] for row in data["results"]}
    handle = next(row["handle"] for row in data["results"] if row["repo"] == "vendor-zoo")
    assert f"[{handle}] vendor-zoo zoo.py:1-2 weigh_cart" in text
    assert "Weigh the cart." in call("get_function", function=handle)
    assert "send_receipt" in call("search_code", query="receipt")  # the first folder stays the current one


def test_kinds_exact_text_and_callees(call: Call) -> None:
    assert "Mailer" in call("search_code", query="mailer receipt", kind="class", code=False)
    assert "Total" in call("search_code", query='"adds up what is in the cart"', code=False)
    assert "add" in call("find_callees", function="Total")
    assert "Total (place to edit)" in call("context_for", task="gifts in the cart are added up")


def test_commits_are_found_by_what_they_are_about(
    call: Call, server: Server, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(histories, "update_behind", histories.update)
    assert "there is no history" in call("search_history", query="receipts")
    (root / ".git").rmdir()
    git(root, "init", "--quiet")
    commit(root, "Send receipts by mail", {})
    assert "Ada: Send receipts by mail\n    shop/cart.go, shop/mail.py" in call(
        "search_history", query="who mails a receipt"
    )
    assert "Send receipts by mail" in call("search_history", file="shop/cart.go")
    (row,) = (server.call("search_history", {"file": "shop/cart.go"}).data or {})["commits"]
    assert (row["author"], row["subject"]) == ("Ada", "Send receipts by mail")
    assert row["files"] == ["shop/cart.go", "shop/mail.py"]
    assert "commit " in (said := call("search_code", query="kind:commit receipts")) and "Ada, 20" in said
    assert " shop/mail.py: def send" in said
    assert call("search_history", query="zebra") == "No commit is about that."
    with pytest.raises(InputError, match="a query or a file"):
        call("search_history")


def test_a_change_of_the_working_tree_is_known_with_what_depends_on_it(
    call: Call, server: Server, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(histories, "update_behind", histories.update)
    (root / ".git").rmdir()
    git(root, "init", "--quiet")
    commit(root, "Sell", {})
    cart = root / "shop/cart.go"
    cart.write_text(cart.read_text().replace("return len(items)", "return 2 * len(items)"))
    answer = call("impact_of_change")
    assert "1 definition of 1 file changed\n  shop/cart.go:9  add" in answer
    assert "shop/cart.go:5  Total calls add" in answer
    data = server.call("impact_of_change", {}).data or {}
    assert [(one["path"], one["name"]) for one in data["definitions"]] == [("shop/cart.go", "add")]
    assert [(one["name"], one["via"], one["certain"]) for one in data["dependents"]] == [("Total", "add", True)]
    assert "Total calls add" in call("impact_of_change", function="add")
    assert "nothing is changed" in call("impact_of_change", change="HEAD..HEAD")


def test_a_docstring_outside_of_the_code_is_complete(call: Call) -> None:
    call("search_code", query="Total")
    assert "It ignores gifts." in call("get_function", function="Total")


def test_a_file_is_outlined_and_read_within_the_project(call: Call, root: Path) -> None:
    call("search_code", query="receipt")
    assert "    1 class Mailer\n    2   method " in call("outline", file="shop/mail.py").replace("function", "method")
    assert call("read_lines", file="shop/mail.py", first=2, last=2) == "    2     def send_receipt(self, to):"
    assert "has no line 99" in call("read_lines", file="shop/mail.py", first=99)
    (root.parent / "secret.txt").write_text("secret", encoding="utf-8")
    with pytest.raises(InputError, match="outside the allowed folders"):
        call("read_lines", file="../secret.txt")
    (root / "link.txt").symlink_to(root.parent / "secret.txt")
    with pytest.raises(InputError, match="outside the allowed folders"):
        call("read_lines", file="link.txt")


def test_what_is_left_out_is_said_where_an_agent_points_at_it(call: Call, root: Path) -> None:
    project(root, {"out/a.py": "def hidden(): 0\n", ".gitignore": "out/\n"})
    why = "out/ is left out: ignored folder (a line !out/ in .treelineignore brings it back)"
    assert why in call("search_code", query="hidden", path="out/a.py")
    assert call("read_lines", file="out/a.py") == f"    1 def hidden(): 0\n… {why}"
    with pytest.raises(InputError, match="out/ is left out: ignored"):
        call("get_function", function="out/a.py:1")


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


@pytest.fixture
def converse(root: Path, tmp_path: Path) -> Converse:
    """Talk to `treeline mcp` in the project, over its standard input and output."""
    environment = {**os.environ, "TREELINE_HOME": str(tmp_path / "home"), "TREELINE_ENCODER": "none"}
    environment.pop("TREELINE_INDEX", None)
    command = ["-m", "treeline.service.cli", "mcp"]
    server = StdioServerParameters(command=sys.executable, args=command, env=environment, cwd=str(root))

    def run(talk: Callable[[AsyncCall], Awaitable[None]]) -> None:
        async def session() -> None:
            async with Client(server, read_timeout_seconds=240) as client:

                async def call(name: str, **arguments: object) -> str:
                    result = await client.call_tool(name, arguments)
                    [content] = result.content
                    assert isinstance(content, TextContent)
                    return content.text

                await talk(call)

        anyio.run(session)

    return run


def test_over_stdio_the_first_call_indexes_and_an_edit_is_seen_at_once(converse: Converse, root: Path) -> None:
    async def talk(call: AsyncCall) -> None:
        assert "shop/cart.go:5-7 Total" in await call("search_code", query="what is in the cart")
        whole = await call("get_function", function="shop/cart.go:5")
        assert "> Total adds up what is in the cart.\n> It ignores gifts.\n5 func Total(" in whole
        (root / "shop" / "cart.go").write_text("package shop\n\n// Sum is in the cart.\nfunc Sum() {}\n")
        answer = await call("search_code", query="what is in the cart")
        assert "shop/cart.go:4-4 Sum" in answer and "Total" not in answer
        refused = await call("search_code", query="x", repo=str(root.parent))
        assert "outside the allowed folders" in refused and "\n" not in refused

    converse(talk)


def peak_memory() -> int:
    """The most memory that the server, this process's last child, has held, in bytes."""
    *_, child = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    status = Path(f"/proc/{child}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def test_lines_of_a_file_of_500_mb_are_read_without_holding_it(converse: Converse, root: Path) -> None:
    with (root / "dump.sql").open("wb") as file:
        for _ in range(5):
            file.write(b"INSERT\n" * 1_000)
            file.truncate(file.tell() + 100_000_000)  # a hole: one line of 100 MB
            file.seek(0, os.SEEK_END)
            file.write(b"\n")

    async def talk(call: AsyncCall) -> None:
        started = monotonic()
        assert await call("read_lines", file="dump.sql", first=1_002, last=1_003) == " 1002 INSERT\n 1003 INSERT"
        long = await call("read_lines", file="dump.sql", first=1_001, max_tokens=200)
        assert len(long) <= 500 and long.startswith(" 1001 [U+0000]") and "line 1001 goes on" in long
        assert await call("read_lines", file="dump.sql", first=9_999) == "dump.sql has no line 9999."
        assert monotonic() - started < 30
        assert peak_memory() < 400_000_000

    converse(talk)


def test_the_budget_holds_on_the_last_line_too(converse: Converse, root: Path) -> None:
    (root / "min.js").write_text("one();\n" + "x" * 1_000_000)

    async def talk(call: AsyncCall) -> None:
        both = await call("read_lines", file="min.js", max_tokens=100)
        assert len(both) <= 250 and "    1 one();\n… more: ask with first=2, or a larger max_tokens" in both
        assert "… min.js is left out: generated" in both
        last = await call("read_lines", file="min.js", first=2, last=2, max_tokens=100)
        assert len(last) <= 250 and last.endswith("x\n… line 2 goes on: a larger max_tokens shows more of it")

    converse(talk)


def test_files_with_secrets_are_not_read_to_an_agent(converse: Converse, root: Path) -> None:
    (root / "id_rsa").write_text("nothing\n")
    body = "MIIEowIBAAKCAQEAr7vLm0sZx4Qd9hTt2WfYkUe3NnPzJb6cGaXoRiVq8EuKyHwD"
    key = f"-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----\n"
    (root / "notes.txt").write_text(key)
    (root / "large.txt").write_text("x\n" * 1_100_000 + key)

    async def talk(call: AsyncCall) -> None:
        for name in ("id_rsa", "notes.txt", str(root / "id_rsa")):
            assert f"{name} holds a secret" in await call("read_lines", file=name)
        assert "large.txt holds a secret" in await call("read_lines", file="large.txt", first=1_100_002)
        assert "class Mailer" in await call("read_lines", file="shop/mail.py")
        assert "last must be 3 or more, not 1" in await call("read_lines", file="shop/mail.py", first=3, last=1)

    converse(talk)


def test_a_path_that_cannot_be_is_one_clear_error(converse: Converse, capfd: pytest.CaptureFixture[str]) -> None:
    tools = {"read_lines": "file", "outline": "file", "index_repository": "folder", "search_code": "repo"}

    async def talk(call: AsyncCall) -> None:
        for path in ("a\0b", "x" * 5_000, "/" + "x" * 5_000, "~nobody-of-this-name/src"):
            for tool, argument in tools.items():
                query = {"query": "x"} if tool == "search_code" else {}
                refused = await call(tool, **query, **{argument: path})
                assert "is not a local folder or file" in refused and "\n" not in refused and len(refused) < 300

    converse(talk)
    assert "Traceback" not in capfd.readouterr().err


def test_a_folder_is_indexed_into_the_index_of_its_project(converse: Converse, root: Path, tmp_path: Path) -> None:
    async def talk(call: AsyncCall) -> None:
        assert "demo: indexed 2 files" in await call("index_repository", folder=".")
        assert "demo: up to date (2 files)" in await call("index_repository", folder=str(root / "shop"))
        assert "demo: up to date (2 files)" in await call("index_repository", folder=str(root))

    converse(talk)
    home = tmp_path / "home"
    assert EmbeddedStore(home).names() == [one.index for one in projects(home)]
