"""Sources are added, updated and removed through the service: only what is allowed, only by those who may."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from apiflask import APIFlask
from flask.testing import FlaskClient

from tests.ingest.loading import project
from treeline.corpus.errors import InputError
from treeline.search.settings import Settings
from treeline.service import jobs
from treeline.service.http.keys import KeyRing

PATIENCE = 120  # seconds; an idle machine needs three
ADDRESS = "192.0.2.7"  # of a visitor


@pytest.fixture
def code(tmp_path: Path) -> Path:
    return project(tmp_path / "code" / "zoo", {"feed.py": "def feed_lions(zoo):\n    return zoo\n"})


@pytest.fixture
def settings(tmp_path: Path, code: Path) -> Settings:
    return Settings(home=str(tmp_path / "home"), index="pets", write_roots=str(code.parent), feedback=False)


@pytest.fixture
def client(settings: Settings, make_app: Callable[[Settings], APIFlask]) -> FlaskClient:
    return make_app(settings).test_client()


def change(client: FlaskClient, action: str, source: object, status: int = 202, **more: Any) -> dict[str, Any]:
    reply = client.post("/api/sources", json={"action": action, "source": str(source)}, **more)
    assert reply.status_code == status, reply.text
    body: dict[str, Any] = reply.get_json()
    return body


def job(client: FlaskClient, until: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The job as soon as it is so."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found: dict[str, Any] = client.get("/api/sources/job").get_json()["job"]
        if until(found):
            return found
        time.sleep(0.1)
    raise AssertionError(found)


def ended(found: dict[str, Any]) -> bool:
    return bool(found["state"] != "running")


def names(client: FlaskClient) -> set[str]:
    found = client.get("/api/search?q=feed+the+lions").get_json()["results"]
    return {row["func_name"] for row in found}


def test_a_folder_is_added_searched_updated_and_removed(client: FlaskClient, code: Path) -> None:
    assert client.get("/api/search?q=lions").status_code == 503  # there is no index yet
    started = change(client, "add", code)["job"]
    assert (started["action"], started["source"], started["index"]) == ("add", str(code), "pets")
    done = job(client, ended)
    assert (done["state"], done["id"]) == ("done", started["id"]), done
    assert "'pets' now holds" in done["message"] and done["ended"] >= done["started"]
    assert client.get("/api/sources").get_json() == {
        "index": "pets",
        "sources": [{"name": str(code), "updatable": True}],
    }
    job(client, lambda _: client.get("/readyz").status_code == 200)  # an index that was missing is looked for again
    assert "feed_lions" in names(client)
    (code / "wash.py").write_text("def wash_lions(zoo):\n    return zoo\n", encoding="utf-8")
    change(client, "update", code)
    assert job(client, ended)["state"] == "done"
    assert jobs.sources_of(client.application.extensions["treeline"].settings, "pets") == [str(code)]
    client.application.extensions["treeline"].searcher.refresh()
    assert {"feed_lions", "wash_lions"} <= names(client)
    change(client, "remove", code)
    assert job(client, ended)["state"] == "done"
    assert client.get("/api/sources").get_json()["sources"] == []


@pytest.fixture
def silent_host() -> Iterator[int]:
    """A port that takes connections and never answers."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield listening.getsockname()[1]


def test_one_change_runs_at_a_time_and_can_be_stopped(
    settings: Settings, code: Path, silent_host: int, make_app: Callable[[Settings], APIFlask]
) -> None:
    open_to_git = replace(settings, write_git=True, git_hosts="127.0.0.1")
    client = make_app(open_to_git).test_client()
    change(client, "add", f"https://127.0.0.1:{silent_host}/owner/name")
    refused = change(client, "add", code, 409)
    assert refused["error"]["code"] == "job_running"
    job(client, lambda found: found["stage"] != "starting")  # it listens to the signal by now
    assert client.post("/api/sources/stop", json={}).status_code == 200
    assert job(client, ended)["state"] == "stopped"
    change(client, "add", code)
    assert job(client, ended)["state"] == "done"


def test_a_job_stopped_at_once_is_stopped(settings: Settings, code: Path) -> None:
    """Before it has imported what listens to the signal."""
    jobs.start(settings, "add", str(code), "pets")
    jobs.stop(settings)
    end = time.monotonic() + PATIENCE
    while (found := jobs.current(settings)) and found.state == "running" and time.monotonic() < end:
        time.sleep(0.1)
    assert found is not None and (found.state, found.message) == ("stopped", jobs.STOP_MESSAGE)


def test_a_folder_swapped_for_a_link_after_the_request_is_not_read(
    settings: Settings, code: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = project(tmp_path / "outside", {"private.py": "def private(): pass\n"})
    started = subprocess.Popen

    def swap(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        code.rename(tmp_path / "moved")
        code.symlink_to(outside)
        return started(*arguments, **options)

    monkeypatch.setattr(subprocess, "Popen", swap)
    jobs.start(settings, "add", str(code), "pets")
    monkeypatch.undo()
    end = time.monotonic() + PATIENCE
    while (found := jobs.current(settings)) and found.state == "running" and time.monotonic() < end:
        time.sleep(0.1)
    assert found is not None and found.state == "failed"
    assert "outside the folders that may be indexed" in found.message
    assert jobs.sources_of(settings, "pets") == []


def test_a_job_that_was_killed_counts_as_failed(settings: Settings) -> None:
    folder = settings.home_path / ".run"
    folder.mkdir(parents=True)
    dead = jobs.Job("1", "add", "/x", "pets", "running", process=1)
    (folder / "job.json").write_bytes(jobs.JOB.dump_json(dead))
    found = jobs.current(settings)
    assert found is not None and (found.state, found.message) == ("failed", "it was killed")
    (folder / "job.json").write_bytes(b"{")
    assert jobs.current(settings) is None


@pytest.mark.parametrize(
    "source",
    [
        "/etc",
        "/",
        "relative/folder",
        "~/code",
        "{root}/../../etc",
        "{root}/none",
        "{root}/zoo/feed.py",
        "{root}/out",
        "python-env",
        "codesearchnet:python",
        "file:///etc",
        "https://github.com/owner/name",
        "git@github.com:owner/name",
        "--help",
        "x" * 5_000,
        "a\0b",
    ],
)
def test_what_the_settings_do_not_allow_is_refused(settings: Settings, code: Path, source: str) -> None:
    (code.parent / "out").symlink_to("/etc")
    with pytest.raises(InputError):
        jobs.check_source(source.format(root=code.parent), settings)


@pytest.mark.parametrize("url", ["http://github.com/o/n", "https://evil.example/o/n", "ssh://github.com/o/n"])
def test_only_https_of_the_allowed_hosts_is_cloned(url: str) -> None:
    settings = Settings(write_git=True)
    assert jobs.check_source("https://github.com/o/n", settings) == "https://github.com/o/n"
    with pytest.raises(InputError):
        jobs.check_source(url, settings)


def test_without_the_settings_nothing_is_changed(
    settings: Settings, code: Path, make_app: Callable[[Settings], APIFlask]
) -> None:
    client = make_app(replace(settings, write_roots="")).test_client()
    for action in ("add", "update", "remove"):
        assert change(client, action, code, 403)["error"]["code"] == "indexing_off"
    assert client.post("/api/sources/stop", json={}).status_code == 403
    assert "does not change its indexes" in client.get("/sources").text
    assert "/sources" not in client.get("/search").text


def test_a_visitor_needs_a_key_that_may_write(settings: Settings, client: FlaskClient, code: Path) -> None:
    visitor: dict[str, Any] = {"environ_base": {"REMOTE_ADDR": ADDRESS}}
    assert change(client, "add", code, 401, **visitor)["error"]["code"] == "key_required"
    assert client.get("/api/sources", **visitor).status_code == 401
    assert client.get("/api/sources/job", **visitor).status_code == 401
    reader = KeyRing(settings.key_path).create("reader", ["read"])
    assert change(client, "add", code, 403, headers={"X-API-Key": reader}, **visitor)
    writer = KeyRing(settings.key_path).create("writer", ["write"])
    assert client.get("/api/sources", headers={"X-API-Key": writer}, **visitor).status_code == 200
    page = client.get("/sources", **visitor).text
    assert "API key" in page and str(code.parent) not in page


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Host": "rebound.example"},
        {"X-Forwarded-For": ADDRESS},
    ],
)
def test_a_page_of_another_site_changes_nothing(client: FlaskClient, code: Path, headers: dict[str, str]) -> None:
    change(client, "add", code, 401, headers=headers)


def test_a_form_of_another_site_changes_nothing(client: FlaskClient, code: Path) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded"):
        body = f'{{"action": "add", "source": "{code}"}}'
        assert client.post("/api/sources", data=body, content_type=kind).status_code == 415
    assert client.get("/api/sources/job").get_json()["job"] is None


def test_only_a_source_of_the_index_is_updated_or_removed(client: FlaskClient, code: Path) -> None:
    for action in ("update", "remove"):
        assert "has no source" in change(client, action, code, 400)["error"]["message"]
    assert change(client, "add", "/etc", 400)["error"]["code"] == "bad_input"
    wrong = client.post("/api/sources", json={"action": "add", "source": str(code), "index": "other"})
    assert wrong.status_code == 400 and "no index 'other'" in wrong.get_json()["error"]["message"]
