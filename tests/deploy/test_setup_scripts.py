"""The one-shot containers' scripts against a stand-in for the server: what they send, and what they do when refused."""

import base64
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

DEPLOY = Path(__file__).parents[2] / "deploy"
PASSWORD = 'pa"ss\\wo rd$1'  # all that quoting can get wrong
pytestmark = pytest.mark.skipif(not shutil.which("curl"), reason="the scripts use curl, which is not installed")


@dataclass
class Asked:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class StandIn:
    url: str
    status: int = 200
    answer: bytes = b'{"success":true}'
    allocation: bytes = b""
    asked: list[Asked] = field(default_factory=list)


@pytest.fixture
def server() -> Iterator[StandIn]:
    stand_in = StandIn("")

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            stand_in.asked.append(Asked(self.command, self.path, headers, body))
            self.send_response(stand_in.status)
            self.send_header("Content-Length", str(len(stand_in.answer)))
            self.end_headers()
            self.wfile.write(stand_in.answer)

        def do_PUT(self) -> None:
            self.do_POST()

        def do_GET(self) -> None:
            stand_in.status, stand_in.answer = 200, stand_in.allocation
            self.do_POST()

        def log_message(self, *_arguments: object) -> None:
            """Silent."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    stand_in.url = f"http://127.0.0.1:{http.server_address[1]}"
    thread = threading.Thread(target=http.serve_forever, daemon=True)
    thread.start()
    yield stand_in
    http.shutdown()
    http.server_close()
    thread.join()


def run(script: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    whole = {**os.environ, "ELASTIC_PASSWORD": PASSWORD, **environment}
    return subprocess.run(["bash", str(DEPLOY / script)], env=whole, capture_output=True, text=True, timeout=240)


def users(server: StandIn) -> subprocess.CompletedProcess[str]:
    passwords = {"KIBANA_PASSWORD": f"kibana {PASSWORD}", "TREELINE_ELASTICSEARCH_PASSWORD": f"service {PASSWORD}"}
    return run(
        "elasticsearch/users.sh", {"ELASTICSEARCH_URL": server.url, "ELASTICSEARCH_CA": "/dev/null", **passwords}
    )


def credentials(asked: Asked) -> str:
    return base64.b64decode(asked.headers["authorization"].removeprefix("Basic ")).decode()


def test_users_sends_a_password_a_role_and_a_user_as_the_superuser(server: StandIn) -> None:
    done = users(server)
    assert done.returncode == 0, done.stderr
    assert [(each.method, each.path) for each in server.asked] == [
        ("POST", "/_security/user/kibana_system/_password"),
        ("PUT", "/_security/role/treeline"),
        ("PUT", "/_security/user/treeline"),
    ]
    assert {credentials(each) for each in server.asked} == {f"elastic:{PASSWORD}"}
    password, role, user = (json.loads(each.body) for each in server.asked)
    assert password == {"password": f"kibana {PASSWORD}"}
    assert role == json.loads((DEPLOY / "elasticsearch" / "role.json").read_text(encoding="utf-8"))
    assert user == {"password": f"service {PASSWORD}", "roles": ["treeline"]}


def test_users_stops_at_the_first_refusal_with_the_servers_words(server: StandIn) -> None:
    server.status, server.answer = 403, b'{"error":"not allowed"}'
    done = users(server)
    assert done.returncode != 0
    assert "not allowed" in done.stderr
    assert [one.method for one in server.asked] == ["POST", "GET"]  # the second looks for full disks
    assert PASSWORD not in done.stderr + done.stdout


def test_users_says_that_a_disk_is_too_full_for_an_index(server: StandIn) -> None:
    server.status, server.answer = 503, b'{"error":"timed out"}'
    server.allocation = b"91 node1\n40 node2\n   UNASSIGNED\n"
    done = users(server)
    assert done.returncode != 0
    assert "timed out" in done.stderr and "the disk of node1 is 91 % full" in done.stderr
    assert "node2" not in done.stderr


def test_the_role_is_for_our_indexes_alone() -> None:
    role = json.loads((DEPLOY / "elasticsearch" / "role.json").read_text(encoding="utf-8"))
    assert role["cluster"] == ["monitor"]
    assert [each["names"] for each in role["indices"]] == [["treeline-*"]]
    assert "all" not in role["indices"][0]["privileges"]


def test_import_sends_every_file_to_be_written_over(server: StandIn) -> None:
    done = run("kibana/import.sh", {"KIBANA_URL": server.url})
    assert done.returncode == 0, done.stderr
    [asked] = server.asked
    assert asked.path == "/api/saved_objects/_import?overwrite=true"
    assert asked.headers["kbn-xsrf"]
    assert asked.headers["content-type"].startswith("multipart/form-data")
    assert (DEPLOY / "kibana" / "treeline.ndjson").read_bytes() in asked.body


@pytest.mark.parametrize(("status", "answer"), [(200, b'{"success":false,"errors":[{"id":"x"}]}'), (500, b"broken")])
def test_import_fails_when_an_object_was_not_taken(server: StandIn, status: int, answer: bytes) -> None:
    server.status, server.answer = status, answer
    assert run("kibana/import.sh", {"KIBANA_URL": server.url}).returncode != 0
