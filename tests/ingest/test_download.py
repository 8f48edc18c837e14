"""Downloading an archive: progress, going on after a break, checks; against a real server that breaks off."""

from __future__ import annotations

import gzip
import io
import re
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random

import pytest

from tests.ingest.reading import read
from tests.ingest.sources.test_codesearchnet import line
from treeline.corpus.errors import InputError, TreelineError
from treeline.ingest import download
from treeline.ingest.source import ReadOptions


def zipped() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("python/final/jsonl/train/python_train_0.jsonl.gz", gzip.compress(line()))
        archive.writestr("padding", Random(1).randbytes(300_000))
    return buffer.getvalue()


@dataclass
class Server:
    """What the server has, how it misbehaves, and what it was asked."""

    content: bytes = field(default_factory=zipped)
    break_after: list[int] = field(default_factory=list)
    ranges: bool = True
    says_size: bool = True
    status: int = 0
    promise_more: int = 0
    asked: list[str] = field(default_factory=list)
    address: str = ""


@pytest.fixture
def server() -> Iterator[Server]:
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers.get("Range", "")
            state.asked.append(wanted)
            if state.status:
                self.send_error(state.status)
                return
            found = re.match(r"bytes=(\d+)-", wanted) if state.ranges else None
            start = int(found[1]) if found else 0
            if start >= len(state.content) > 0:
                self.send_response(416)
                if state.says_size:
                    self.send_header("Content-Range", f"bytes */{len(state.content)}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            body = state.content[start:]
            self.send_response(206 if found else 200)
            if found:
                self.send_header("Content-Range", f"bytes {start}-{len(state.content) - 1}/{len(state.content)}")
            self.send_header("Content-Length", str(len(body) + state.promise_more))
            self.end_headers()
            self.wfile.write(body[: state.break_after.pop(0)] if state.break_after else body)

        def log_message(self, format: str, *args: object) -> None:
            """Silence."""

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.address = f"http://127.0.0.1:{listening.server_port}/v2"
    thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield state
    listening.shutdown()
    listening.server_close()
    thread.join()


def options(server: Server, cache: Path, seen: list[tuple[str, int, int]] | None = None) -> ReadOptions:
    def watch(what: str, done: int, total: int) -> None:
        if seen is not None:
            seen.append((what, done, total))

    return ReadOptions(download=True, download_base=server.address, cache=cache, progress=watch)


def test_the_archive_is_fetched_with_progress_read_and_kept(server: Server, tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    wanted = options(server, tmp_path, seen)
    assert len(read("codesearchnet:python", wanted).functions) == 1
    assert seen[-1] == ("downloading python.zip", len(server.content), len(server.content))
    assert len(read("codesearchnet:python", wanted).functions) == 1
    assert len(server.asked) == 1
    assert not list(tmp_path.rglob("*.part"))


def test_a_download_that_breaks_off_goes_on_where_it_stopped(server: Server, tmp_path: Path) -> None:
    server.break_after = [100_000, 50_000]
    assert len(read("codesearchnet:python", options(server, tmp_path)).functions) == 1
    assert server.asked == ["", "bytes=100000-", "bytes=150000-"]
    assert download.archive_path("python", options(server, tmp_path)).read_bytes() == server.content


def test_after_giving_up_the_next_run_goes_on_where_it_stopped(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "ATTEMPTS", 1)
    server.break_after = [100_000, 0]
    with pytest.raises(TreelineError, match="goes on where it stopped"):
        read("codesearchnet:python", options(server, tmp_path))
    assert len(read("codesearchnet:python", options(server, tmp_path)).functions) == 1
    assert server.asked[-1] == "bytes=100000-"


def test_a_server_without_ranges_is_asked_for_the_whole_again(server: Server, tmp_path: Path) -> None:
    server.ranges, server.break_after = False, [100_000]
    assert len(read("codesearchnet:python", options(server, tmp_path)).functions) == 1


@pytest.mark.parametrize("says_size", [True, False])
def test_what_had_come_whole_before_is_taken_or_fetched_anew(server: Server, tmp_path: Path, says_size: bool) -> None:
    server.says_size = says_size
    whole = download.archive_path("python", options(server, tmp_path))
    whole.parent.mkdir(parents=True)
    whole.with_name("python.zip.part").write_bytes(server.content)
    assert len(read("codesearchnet:python", options(server, tmp_path)).functions) == 1
    assert server.asked == [f"bytes={len(server.content)}-"] + [""] * (not says_size)


def test_a_server_that_answers_with_nothing_is_not_asked_without_end(server: Server, tmp_path: Path) -> None:
    server.content = b""
    with pytest.raises(TreelineError, match="an empty answer came"):
        read("codesearchnet:python", options(server, tmp_path))
    assert len(server.asked) == download.ATTEMPTS


def test_an_archive_of_another_size_than_published_is_refused(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "OFFICIAL", server.address)
    with pytest.raises(TreelineError, match=r"not the published 940,909,997"):
        read("codesearchnet:python", options(server, tmp_path))


def test_what_is_no_archive_is_refused(server: Server, tmp_path: Path) -> None:
    server.content = b"<html>Please log in</html>"
    with pytest.raises(TreelineError, match="not a zip archive"):
        read("codesearchnet:python", options(server, tmp_path))
    assert not list(tmp_path.rglob("*.zip*"))


def test_an_error_of_the_server_is_said_in_one_line(server: Server, tmp_path: Path) -> None:
    server.status = 404
    with pytest.raises(TreelineError, match="404"):
        read("codesearchnet:python", options(server, tmp_path))


def test_without_download_the_archive_is_asked_for_in_words(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--download"):
        read("codesearchnet:ruby", ReadOptions(cache=tmp_path))


def test_only_web_addresses_are_fetched(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="only http"):
        read("codesearchnet:python", ReadOptions(download=True, download_base="file:///etc", cache=tmp_path))
