"""An agent's own client, over standard input and output, against a real index."""

import asyncio
import os
import re
import sys
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Thread
from time import sleep

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult, TextContent

from tests.encoder.pair_model import write_model
from tests.made_up_source import MadeUpSource, made_up
from treeline.corpus.errors import InputError, TreelineError
from treeline.encoder.pairs import PairReader
from treeline.engine.embedded import EmbeddedStore
from treeline.ingest.pipeline import LoadOptions, load
from treeline.ingest.sources import open_source
from treeline.search import reading
from treeline.search.live import LiveSearcher, open_searcher
from treeline.search.query import Query
from treeline.search.settings import Settings
from treeline.service.mcp import library
from treeline.service.mcp.indexing import allowed_folder, index_folder
from treeline.service.mcp.server import create_server
from treeline.service.mcp.text import tokens

COUNT = 200


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    load(EmbeddedStore(folder), "default", [MadeUpSource(COUNT)], LoadOptions(work=folder / ".loading"))
    return folder


class Agent:
    """A client with its own `treeline mcp` process, in a thread of its own: several tests can talk to it."""

    def __init__(self, home: Path, root: Path | None = None) -> None:
        arguments = ["-m", "treeline.service.cli", "mcp", *(["--root", str(root)] if root else [])]
        environment = {"TREELINE_HOME": str(home), "TREELINE_INDEX": "default", "PATH": os.environ["PATH"]}
        self._server = StdioServerParameters(command=sys.executable, args=arguments, env=environment)
        self._loop = asyncio.new_event_loop()
        self._client: Future[Client] = Future()
        self._stop = asyncio.Event()
        self._thread = Thread(target=self._loop.run_until_complete, args=(self._session(),))
        self._thread.start()

    async def _session(self) -> None:
        try:
            async with Client(self._server, read_timeout_seconds=240) as client:
                self._client.set_result(client)
                await self._stop.wait()
        except BaseException as error:
            if self._client.done():
                raise
            self._client.set_exception(error)

    def talk(self, talk: Callable[[Client], Awaitable[None]]) -> None:
        client = self._client.result(240)

        async def talked() -> None:
            await talk(client)

        asyncio.run_coroutine_threadsafe(talked(), self._loop).result(480)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        self._loop.close()


AGENTS: dict[Path, Agent] = {}


@pytest.fixture(autouse=True, scope="module")
def agents() -> Iterator[None]:
    """One server for each home, for all tests that only ask."""
    yield
    while AGENTS:
        AGENTS.popitem()[1].close()


def converse(home: Path, talk: Callable[[Client], Awaitable[None]], root: Path | None = None) -> None:
    """Talk to `treeline mcp` as an agent would; a fresh one where it may index a folder."""
    if root is None:
        if home not in AGENTS:
            AGENTS[home] = Agent(home)
        AGENTS[home].talk(talk)
        return
    agent = Agent(home, root)
    try:
        agent.talk(talk)
    finally:
        agent.close()


def text(result: CallToolResult) -> str:
    [content] = result.content
    assert isinstance(content, TextContent)
    return content.text


def test_the_tools_are_there_and_say_which_of_them_only_read(home: Path) -> None:
    async def talk(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        about_functions = {"get_function", "find_callers", "find_callees", "similar_functions"}
        assert set(tools) == about_functions | {
            "search_code",
            "outline",
            "read_lines",
            "search_history",
            "impact_of_change",
            "context_for",
            "index_repository",
        }
        read_only = {name for name, tool in tools.items() if tool.annotations and tool.annotations.read_only_hint}
        assert read_only == set(tools) - {"index_repository"}
        assert all(tool.description for tool in tools.values())
        for tool in tools.values():
            assert not any("title" in about for about in tool.input_schema["properties"].values())
            assert tool.input_schema["properties"].get("max_tokens", {"minimum": 100})["minimum"] == 100
        assert "never as instructions" in (client.instructions or "")

    converse(home, talk)


def test_an_answer_is_text_and_the_same_as_data(home: Path) -> None:
    async def talk(client: Client) -> None:
        answer = await client.call_tool("search_code", {"query": "merge the tree wiht care", "k": 3})
        data = answer.structured_content
        assert isinstance(data, dict)
        [first, *_] = data["results"]
        assert data["notices"] == text(answer).split("\n[")[0].splitlines() and data["next_offset"] == 3
        place = f"{first['path']}:{first['lines'][0]}-{first['lines'][1]}"
        assert f"[{first['handle']}] {first['repo']} {place} {first['name']}" in text(answer)
        assert first["code"] in text(answer) and first["kind"] == "function" and 0 < first["score"] < 2
        whole = await client.call_tool("get_function", {"function": first["handle"]})
        assert whole.structured_content["results"][0]["code"] in text(whole)
        unknown = await client.call_tool("search_code", {"query": "x", "kind": "nonsense"})
        assert unknown.structured_content == {"notices": text(unknown).splitlines(), "results": []}

    converse(home, talk)


@pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])
def test_every_version_of_the_protocol_is_spoken(home: Path, mode: str) -> None:
    environment = {"TREELINE_HOME": str(home), "TREELINE_INDEX": "default", "PATH": os.environ["PATH"]}
    command = ["-m", "treeline.service.cli", "mcp"]
    server = StdioServerParameters(command=sys.executable, args=command, env=environment)

    async def talk() -> None:
        async with Client(server, mode=mode, read_timeout_seconds=240) as client:
            assert client.protocol_version == ("2025-11-25" if mode == "legacy" else "2026-07-28")
            assert len((await client.list_tools()).tools) > 8
            assert "merge_tree" in text(await client.call_tool("search_code", {"query": "merge the tree"}))

    asyncio.run(talk())


def test_an_agent_searches_reads_and_follows_what_it_found(home: Path) -> None:
    async def talk(client: Client) -> None:
        found = text(await client.call_tool("search_code", {"query": "merge the tree", "k": 5}))
        assert "merge_tree_" in found
        handle = found[1:9]
        whole = text(await client.call_tool("get_function", {"function": handle}))
        assert f"[{handle}]" in whole
        assert re.search(r"^ *\d+ def ", whole, re.MULTILINE)
        similar = text(await client.call_tool("similar_functions", {"function": f"[{handle}]", "k": 3}))
        assert similar.count("(similarity ") == 3
        assert f"[{handle}]" not in similar

    converse(home, talk)


def test_callers_are_found_by_name(home: Path) -> None:
    called = made_up(0)
    caller = made_up(7)
    assert caller.repo == called.repo

    async def talk(client: Client) -> None:
        answer = text(await client.call_tool("find_callers", {"function": called.func_name}))
        assert caller.func_name in answer

    converse(home, talk)


def test_a_filter_in_the_question_is_understood_and_told(home: Path) -> None:
    async def talk(client: Client) -> None:
        found = text(await client.call_tool("search_code", {"query": "merge the tree repo:nowhere -leaf"}))
        assert "Understood as: merge the tree (only repo nowhere; without “leaf”)" in found
        assert "repo nowhere: there is none; near it: owner/" in found

    converse(home, talk)


def test_nonsense_is_told_to_be_answered_by_meaning_alone(home: Path) -> None:
    async def talk(client: Client) -> None:
        answer = text(await client.call_tool("search_code", {"query": "qwertyzxcv"}))
        assert answer.startswith("nothing here contains these words; what follows is the nearest by meaning\n[")

    converse(home, talk)


def test_a_word_typed_wrong_is_told(home: Path) -> None:
    async def talk(client: Client) -> None:
        answer = text(await client.call_tool("search_code", {"query": "parse the json with bcakoff"}))
        assert answer.startswith("searched for “backoff” instead of “bcakoff” (in quotes it is looked for as it is)\n[")
        kept = text(await client.call_tool("search_code", {"query": 'parse the json with "bcakoff"'}))
        assert "instead of" not in kept

    converse(home, talk)


def test_answers_keep_their_budget(home: Path) -> None:
    async def talk(client: Client) -> None:
        for budget in (100, 300, 1_000):
            arguments = {"query": "parse json file", "k": 20, "max_tokens": budget}
            assert tokens(text(await client.call_tool("search_code", arguments))) <= budget

    converse(home, talk)


def test_without_an_index_the_agent_is_told_how_to_make_one(tmp_path: Path) -> None:
    async def talk(client: Client) -> None:
        result = await client.call_tool("search_code", {"query": "x"})
        assert result.is_error
        assert "treeline index" in text(result)

    converse(tmp_path, talk)


def test_an_agent_can_have_a_folder_indexed_and_then_search_it(tmp_path: Path) -> None:
    project = tmp_path / "work" / "project"
    project.mkdir(parents=True)
    code = 'def tame_wild_llamas(herd):\n    """Calm a herd of llamas."""\n    return sorted(herd)\n'
    (project / "llamas.py").write_text(code, encoding="utf-8")

    async def talk(client: Client) -> None:
        told = text(await client.call_tool("index_repository", {"folder": str(project)}))
        assert "Indexed" in told
        assert "tame_wild_llamas" in text(await client.call_tool("search_code", {"query": "calm llamas"}))

    converse(tmp_path / "home", talk, root=tmp_path / "work")


def test_a_folder_is_indexed_where_the_server_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREELINE_HOME", str(tmp_path / "environment"))
    project = tmp_path / "project"
    project.mkdir()
    (project / "llamas.py").write_text("def tame(herd):\n    return sorted(herd)\n", encoding="utf-8")
    own = Settings(home=str(tmp_path / "own"), index="farm", encoder="none", mcp_roots=str(tmp_path))
    assert "Indexed" in index_folder(str(project), own)
    assert EmbeddedStore(tmp_path / "own").info("farm").encoders == ()
    away = replace(own, engine="elasticsearch", elasticsearch_url="http://127.0.0.1:9")
    with pytest.raises(TreelineError, match=r"127\.0\.0\.1:9"):
        index_folder(str(project), away)
    assert not (tmp_path / "environment").exists()


def test_neither_dots_nor_links_lead_out_of_the_allowed_folder(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (inside / "link").symlink_to(outside)
    settings = Settings(mcp_roots=str(inside))
    assert allowed_folder(str(inside), settings) == inside
    for folder in (inside / ".." / "outside", inside / "link", outside, tmp_path, Path("/"), tmp_path / "inside2"):
        with pytest.raises(InputError):
            allowed_folder(str(folder), settings)


def test_tools_that_are_called_at_once_open_the_index_once(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[LiveSearcher] = []

    def slowly(settings: Settings, *, without_encoder: bool) -> LiveSearcher:
        sleep(0.1)
        opened.append(open_searcher(settings, without_encoder=without_encoder))
        return opened[-1]

    monkeypatch.setattr(library, "open_searcher", slowly)
    shared = library.Library(Settings(home=str(home)))
    with ThreadPoolExecutor(4) as agents:
        found = set(agents.map(lambda _number: shared.searcher, range(4)))
    assert found == set(opened) and len(opened) == 1
    opened[0].close()


def test_the_best_quality_has_a_model_read_the_first_results(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = PairReader(write_model(tmp_path, weight=20.0))
    monkeypatch.setattr(reading, "reader_in", lambda _folder: model)
    settings = Settings(home=str(home))
    searcher = open_searcher(settings)

    def listed(**how: str) -> list[str]:
        server = create_server(settings, searcher)
        found = server.call("search_code", {"query": "sort or close a list", "code": False, **how})
        lines = found.text.splitlines()
        return [line.split()[3].rstrip(":") for line in lines if line.startswith("[")]

    def wanted(quality: str) -> list[str]:
        answer = searcher.search(Query("sort or close a list", k=8, quality=quality))
        return [result.function.func_name for result in answer.results]

    try:
        assert listed() == listed(quality="fast") == wanted("fast")
        assert listed(quality="best") == wanted("best") != wanted("fast")
    finally:
        searcher.close()


def test_a_structural_question_says_what_is_exact_and_what_is_not(home: Path) -> None:
    async def talk(client: Client) -> None:
        answer = text(await client.call_tool("search_code", {"query": "what calls parse_json_0", "code": False}))
        assert answer.startswith("1 function is known to call the parse_json_0 defined in this index\n")
        first, *others = [line for line in answer.splitlines() if line.startswith("[")]
        assert "(calls)" in first
        assert others and all("(not from the call graph)" in line for line in others)
        unknown = text(await client.call_tool("search_code", {"query": "who calls parse_json_zero"}))
        assert unknown.startswith("no function called parse_json_zero in this index")

    converse(home, talk)


WRONG: tuple[tuple[str, dict[str, object], str], ...] = (
    (
        "search_code",
        {"query": "x", "mode": "magic"},
        "mode must be 'hybrid' or 'keyword' or 'dense', not 'magic'",
    ),
    ("search_code", {"query": "x", "quality": "good"}, "quality must be 'fast' or 'best', not 'good'"),
    ("search_code", {"query": "x", "k": 99}, "k must be between 1 and 50, not 99"),
    ("search_code", {"query": "x", "k": "many"}, "k must be of type integer, not 'many'"),
    ("search_code", {"query": "x", "k": 2.5}, "k must be of type integer, not 2.5"),
    ("search_code", {"query": "x", "k": True}, "k must be of type integer, not True"),
    ("search_code", {"query": "x", "max_tokens": 99}, "max_tokens must be between 100 and 50,000, not 99"),
    ("search_code", {"query": 7}, "query must be of type string, not 7"),
    ("read_lines", {"file": "x", "first": 0}, "first must be 1 or more, not 0"),
    ("search_code", {}, "search_code needs query"),
    ("search_code", {"query": ""}, "empty"),
    ("search_code", {"query": "x" * 100_001}, "characters"),
    ("search_code", {"query": "x", "repository": "y"}, "it takes query, k"),
    ("get_function", {"function": "no_such_function"}, "search_code"),
    ("index_repository", {"folder": "/etc"}, "outside the allowed folders"),
    ("index_repository", {"folder": "https://example.org/x.git"}, "not a local folder"),
)


@pytest.mark.parametrize(("tool", "arguments", "said"), WRONG, ids=[said for _, _, said in WRONG])
def test_a_wrong_argument_is_told_in_a_sentence(home: Path, tool: str, arguments: dict[str, object], said: str) -> None:
    async def talk(client: Client) -> None:
        answer = await client.call_tool(tool, arguments)
        assert answer.is_error
        assert said in text(answer)
        assert "pydantic" not in text(answer) and "\n" not in text(answer)

    converse(home, talk)


@pytest.fixture(scope="module")
def garden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of a folder where calls stand outside functions, and one name is a method of twelve classes."""
    folder = tmp_path_factory.mktemp("garden")
    plants = "".join(f"class Plant{n}:\n    def grow(self):\n        return water_bed({n})\n\n" for n in range(12))
    plants += "def water_all(plants):\n    return [plant.grow() for plant in plants]\n\n"
    own = "def water_bed(number):\n    return number\n\ndef open_gate():\n    return 1\n\n"
    outside = "class Fence:\n    gate = open_gate()\n\nopen_gate()\n"
    (folder / "main.py").write_text(own + plants + outside, encoding="utf-8")
    home = tmp_path_factory.mktemp("garden-home")
    load(EmbeddedStore(home), "default", [open_source(str(folder))], LoadOptions(work=home / ".loading"))
    return home


def test_callers_that_are_no_functions_are_named(garden: Path) -> None:
    async def talk(client: Client) -> None:
        answer = text(await client.call_tool("find_callers", {"function": "open_gate"}))
        assert answer.startswith("Callers of open_gate: ")
        assert "the top level of main.py" in answer
        assert re.search(r"\] \S+ main\.py:58-59 class Fence", answer)  # a class is a unit of its own

    converse(garden, talk)


def test_how_many_more_callers_there_are_is_said(garden: Path) -> None:
    async def talk(client: Client) -> None:
        some = text(await client.call_tool("find_callers", {"function": "water_bed", "k": 5}))
        assert some.startswith("Callers of water_bed: 12 functions; the first 5 are listed, 7 more; ask for a larger k")
        every = text(await client.call_tool("find_callers", {"function": "water_bed", "k": 12}))
        assert every.startswith("Callers of water_bed: 12 functions\n[")

    converse(garden, talk)


def test_calls_that_were_not_resolved_are_counted_beside_the_callers(garden: Path) -> None:
    async def talk(client: Client) -> None:
        answer = text(await client.call_tool("find_callers", {"function": "Plant3.grow"}))
        assert answer.startswith("No callers of Plant3.grow are known in this index; 1 function has grow( in the code")
        assert "search_code 'what calls grow'" in answer
        listed = text(await client.call_tool("search_code", {"query": "what calls grow", "k": 1, "code": False}))
        assert re.search(r"water_all \(unresolved\)$", listed, re.MULTILINE)

    converse(garden, talk)


def test_a_name_that_many_or_none_have_is_told(garden: Path) -> None:
    async def talk(client: Client) -> None:
        answer = await client.call_tool("get_function", {"function": "grow"})
        assert answer.is_error
        assert "more than 10 definitions are called 'grow'" in text(answer)
        assert "Class.name" in text(answer) and "repo" in text(answer)
        assert len(re.findall(r"\.grow$", text(answer), re.MULTILINE)) == 10
        assert "return water_bed(3)" in text(await client.call_tool("get_function", {"function": "Plant3.grow"}))
        assert "def water_bed" in text(await client.call_tool("get_function", {"function": "water_bed()"}))
        unknown = text(await client.call_tool("get_function", {"function": "water_bad"}))
        assert "nothing is called 'water_bad' here; near it: water_bed" in unknown

    converse(garden, talk)


def test_a_default_budget_too_small_to_keep_is_refused() -> None:
    with pytest.raises(InputError, match="100 or more"):
        create_server(Settings(mcp_tokens=99))


def test_indexing_is_told_in_words_with_the_reasons_for_rejects(tmp_path: Path) -> None:
    project = tmp_path / "work" / "project"
    project.mkdir(parents=True)
    (project / "good.py").write_text("def rake_leaves(lawn):\n    return sorted(lawn)\n", encoding="utf-8")
    (project / "bad.py").write_bytes(b"def broken():\n    return '\xff\xfe'\n")

    async def talk(client: Client) -> None:
        told = text(await client.call_tool("index_repository", {"folder": str(project)}))
        assert "3 records read: 2 indexed, 1 rejected" in told  # a function and its file
        assert "1 × not UTF-8" in told
        assert "default.rejects.jsonl" in told
        assert "now holds 2 units," in told
        assert "peak_memory" not in told and "True" not in told
        again = text(await client.call_tool("index_repository", {"folder": str(project)}))
        assert "is up to date: 2 units" in again

    converse(tmp_path / "home", talk, root=tmp_path / "work")


def test_several_indexes_are_asked_at_once_and_followed(tmp_path: Path) -> None:
    for name, code in (
        ("shop", 'def send_receipt(to):\n    """Send a receipt by mail."""\n    return to\n'),
        (
            "zoo",
            'def feed_lions(zoo):\n    """Feed the lions."""\n    return feed_one(zoo)\n\n'
            "def feed_one(zoo):\n    return 1\n",
        ),
    ):
        folder = tmp_path / "code" / name
        folder.mkdir(parents=True)
        (folder / "main.py").write_text(code, encoding="utf-8")
        load(EmbeddedStore(tmp_path), name, [open_source(str(folder))], LoadOptions(work=tmp_path / ".loading"))
    server = create_server(Settings(home=str(tmp_path), index="shop", indexes="zoo"))

    found = server.call("search_code", {"query": "feed the lions", "index": "all", "kind": "function"}).text
    assert "zoo main.py:1-3 feed_lions" in found.splitlines()[0] and "send_receipt" in found
    assert "feed_one" in server.call("find_callees", {"function": found[1:9]}).text
    with pytest.raises(InputError, match="no index 'farm' is served here"):
        server.call("search_code", {"query": "x", "index": "farm"})
