"""The first question in a large project: answered from a few files, while a process behind it indexes all of them."""

import errno
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner, Result

from tests.ingest.loading import enter_project, functions
from tests.waiting import until
from treeline.engine.embedded import EmbeddedStore
from treeline.ingest.project import find_project, is_under_way, progress_file, refresh, state_file
from treeline.ingest.quick import choose
from treeline.ingest.sources.folder import Folder
from treeline.ingest.stamps import lock, open_state
from treeline.search.settings import from_environment
from treeline.service import quick
from treeline.service.app import create_app
from treeline.service.cli import cli
from treeline.service.cli.serve import project_to_serve
from treeline.service.mcp.server import create_server
from treeline.service.projects import has_index

FILES = {
    "shop/cart.py": 'def total_price(items):\n    """Add up what is in the cart."""\n    return sum(items)\n',
    "shop/mail.py": 'def send_receipt(to):\n    """Send a receipt by mail."""\n',
    "zoo/lions.py": 'def feed(lions):\n    """Feed the lions."""\n',
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data folder, with this process in a project that counts as large, of which one file is looked at."""
    monkeypatch.setattr(quick, "SMALL_BYTES", 0)
    monkeypatch.setattr(quick, "MOST_FILES", 1)
    enter_project(tmp_path, FILES, monkeypatch)
    return tmp_path / "home"


def ask(*arguments: str) -> Result:
    answer = CliRunner().invoke(cli, list(arguments), standalone_mode=False)
    if answer.exception:
        raise answer.exception
    return answer


def coverage(*arguments: str) -> dict[str, Any] | None:
    part: dict[str, Any] | None = orjson.loads(ask("--json", *arguments).stdout)["coverage"]
    return part


def wait_for_index() -> None:
    """Until the index is there and its process has let go of the project."""
    settings = from_environment()
    project = find_project(Path.cwd(), settings.home_path)
    until(lambda: has_index(settings, Path.cwd()) and not is_under_way(project, settings.home_path))


def test_the_first_answer_comes_from_the_best_files_and_the_index_behind_it_is_whole(
    home: Path, tmp_path: Path
) -> None:
    answer = ask("send a receipt")
    assert "send_receipt" in answer.stdout and "total_price" not in answer.stdout
    assert "from 1 of 3 files; the rest is being read (0 %), ask again or wait with --wait" in answer.stderr
    assert not any((home / quick.LOOKS).iterdir())
    wait_for_index()
    whole = ask("add up the cart")
    assert "total_price" in whole.stdout and whole.stderr == ""
    found = find_project(Path.cwd(), home)
    refresh(found, EmbeddedStore(tmp_path / "at-once"), tmp_path / "at-once", encoders=("none",))
    assert functions(home, found.index) == functions(tmp_path / "at-once", found.index)


def test_json_says_how_much_was_read_and_wait_reads_everything(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quick, "index_behind", lambda settings, found, before: before)
    assert coverage("send a receipt") == {"state": "partial", "files": 1, "total": 3, "percent": 0, "problem": ""}
    assert coverage("--wait", "send a receipt") is None
    assert coverage("send a receipt") is None


def test_an_agent_is_told_the_state(home: Path) -> None:
    server = create_server(from_environment(), follow=True)
    text, data = server.call("search_code", {"query": "feed the lions"})
    assert "feed" in text and "state: partial, from 1 of 3 files" in text
    assert data and (data["state"]["state"], data["state"]["files"], data["state"]["total"]) == ("partial", 1, 3)
    wait_for_index()
    text, data = server.call("search_code", {"query": "feed the lions"})
    assert "partial" not in text and data and "state" not in data


def test_a_filter_on_the_path_limits_the_files_that_are_looked_at(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quick, "index_behind", lambda settings, found, before: before)
    assert "feed" in ask("send a receipt path:zoo/").stdout


@pytest.fixture
def held(home: Path) -> Iterator[None]:
    """Another process is indexing the project, and is at 12 percent."""
    found = find_project(Path.cwd(), home)
    with open_state(state_file(found.root, home), home) as database:
        assert lock(database, 0)
        progress_file(found, home).write_text("12", encoding="utf-8")
        yield


def test_two_questions_start_one_process(held: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("a second process"))
    assert coverage("send a receipt") == {"state": "partial", "files": 1, "total": 3, "percent": 12, "problem": ""}


def test_a_process_that_cannot_be_started_is_one_line(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "Popen", fail)
    answer = ask("send a receipt")
    assert "send_receipt" in answer.stdout
    assert "no process can be started to read the rest (Resource temporarily unavailable)" in answer.stderr


def test_an_index_that_fails_behind_an_answer_is_said_by_the_next(home: Path) -> None:
    found = find_project(Path.cwd(), home)
    home.mkdir()
    (home / found.index).write_text("in the way", encoding="utf-8")
    ask("send a receipt")
    until(progress_file(found, home).exists)
    assert "the rest could not be read: cannot write the index" in ask("send a receipt").stderr


def test_after_a_killed_process_the_next_question_starts_another(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    processes: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def start(*arguments: Any, **keywords: Any) -> subprocess.Popen[bytes]:
        processes.append(popen(*arguments, **keywords))
        return processes[-1]

    monkeypatch.setattr(subprocess, "Popen", start)
    ask("send a receipt")
    processes[0].kill()
    processes[0].wait()
    assert not has_index(from_environment(), Path.cwd())
    assert coverage("add up the cart") == {"state": "partial", "files": 1, "total": 3, "percent": 0, "problem": ""}
    wait_for_index()
    assert "total_price" in ask("add up the cart").stdout


def test_an_index_of_another_version_is_none(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ask("--wait", "send a receipt")
    for info in home.glob("demo.*/*/info.json"):
        info.write_bytes(orjson.dumps(orjson.loads(info.read_bytes()) | {"format": 1, "version": 1}))
    monkeypatch.setattr(quick, "index_behind", lambda settings, found, before: before)
    assert coverage("send a receipt") is not None


def test_a_file_that_goes_while_it_is_looked_at_is_left_out(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def choose_and_remove(*arguments: Any) -> Folder:
        few: Folder = choose(*arguments)
        for path in few.listing.files:
            (few.root / path).unlink()
        return few

    monkeypatch.setattr(quick, "index_behind", lambda settings, found, before: before)
    monkeypatch.setattr(quick, "choose", choose_and_remove)
    assert "nothing found" in ask("send a receipt").output


def test_the_page_answers_at_once_and_then_from_the_whole_index(home: Path, held: None) -> None:
    settings = project_to_serve(from_environment(), None, "")[0]
    client = create_app(settings).test_client()
    assert "This project is being read" in client.get("/").text
    page = client.get("/search?q=send+a+receipt").text
    assert "send_receipt" in page and "From 1 of 3 files; the rest is being read (12 %)" in page
    answer = client.get("/api/search?q=send+a+receipt").get_json()
    assert (answer["coverage"]["state"], answer["coverage"]["files"]) == ("partial", 1)
    assert client.get(f"/functions/{answer['results'][0]['id']}").status_code == 200
    assert client.get("/readyz").status_code == 503
    stranger = {"environ_base": {"REMOTE_ADDR": "203.0.113.9"}}
    assert client.get("/api/search?q=feed", **stranger).status_code == 503  # a look takes seconds


def test_the_page_that_waited_is_of_the_whole_index(home: Path) -> None:
    client = create_app(project_to_serve(from_environment(), None, "")[0]).test_client()
    wait_for_index()
    until(lambda: client.get("/readyz").status_code == 200)
    answer = client.get("/api/search?q=add+up+the+cart").get_json()
    assert answer["coverage"] is None and answer["results"][0]["func_name"] == "total_price"
    assert "This project is being read" not in client.get("/").text
