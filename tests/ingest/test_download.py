"""Downloading an archive: progress, going on after a break, checks; against a real server that breaks off."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
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
    says_length: bool = True
    status: int = 0
    promise_more: int = 0
    files: dict[str, bytes] = field(default_factory=dict)
    """By path; of those that are not here it has `content`."""
    refuse: tuple[str, ...] = ()
    """Paths with one of these in them are answered with 403."""
    paths: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    address: str = ""


@pytest.fixture
def server() -> Iterator[Server]:
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers.get("Range", "")
            state.asked.append(wanted)
            path = self.path.partition("?")[0]
            state.paths.append(path)
            if state.status or any(part in self.path for part in state.refuse):
                self.send_error(state.status or 403)
                return
            content = state.files.get(path, state.content)
            found = re.match(r"bytes=(\d+)-", wanted) if state.ranges else None
            start = int(found[1]) if found else 0
            if start >= len(content) > 0:
                self.send_response(416)
                if state.says_size:
                    self.send_header("Content-Range", f"bytes */{len(content)}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            body = content[start:]
            self.send_response(206 if found else 200)
            if found:
                self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
            if state.says_length:
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

    return ReadOptions(download_base=server.address, cache=cache, progress=watch)


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


def test_a_server_that_does_not_say_how_much_comes_is_read_to_the_end(server: Server, tmp_path: Path) -> None:
    server.says_length = False
    assert len(read("codesearchnet:python", options(server, tmp_path)).functions) == 1
    assert download.archive_path("python", options(server, tmp_path)).read_bytes() == server.content


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


def test_only_web_addresses_are_fetched(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="only http"):
        read("codesearchnet:python", ReadOptions(download_base="file:///etc", cache=tmp_path))


@pytest.fixture
def known(server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    """The server stands for all known places: the bucket, Zenodo, the repository."""
    base = server.address.removesuffix("/v2")
    monkeypatch.setattr(download, "ATTEMPTS", 2)
    monkeypatch.setattr(download, "LANGUAGES", dict.fromkeys(download.LANGUAGES, len(server.content)))
    for place in ("OFFICIAL", "ZENODO", "REPOSITORY"):
        monkeypatch.setattr(download, place, f"{base}/{place.lower()}")
    checksum = f"md5:{hashlib.md5(server.content).hexdigest()}"
    links = {"self": f"{base}/zenodo/api/records/{download.ZENODO_RECORD}/files/python.zip/content"}
    archive = {"key": "python.zip", "size": len(server.content), "checksum": checksum, "links": links}
    record = {"id": int(download.ZENODO_RECORD), "files": [{"key": "java.zip", "size": 1, "links": {}}, archive]}
    server.files[f"/zenodo/api/records/{download.ZENODO_RECORD}"] = json.dumps(record).encode()
    return server


def asked_for_archives(server: Server) -> list[str]:
    return [path.split("/")[1] for path in server.paths if path.removesuffix("/content").endswith(".zip")]


@pytest.mark.parametrize(("refuse", "places"), [((), ["official"]), (("/official",), ["official", "zenodo"])])
def test_places_that_refuse_are_passed_over(
    known: Server, tmp_path: Path, refuse: tuple[str, ...], places: list[str]
) -> None:
    known.refuse = refuse
    assert len(read("codesearchnet:python", ReadOptions(cache=tmp_path)).functions) == 1
    assert asked_for_archives(known) == places


@pytest.mark.parametrize("answer", [b"<html>", b"[]", b'{"files": [{"key": "java.zip"}]}', b'{"files": 1}'])
def test_a_list_without_the_archive_is_one_line(known: Server, tmp_path: Path, answer: bytes) -> None:
    known.refuse = ("/official",)
    known.files[f"/zenodo/api/records/{download.ZENODO_RECORD}"] = answer
    with pytest.raises(TreelineError, match=r"does not list python\.zip"):
        read("codesearchnet:python", ReadOptions(cache=tmp_path))


def test_when_no_place_answers_one_line_says_what_to_do(known: Server, tmp_path: Path) -> None:
    known.status = 403
    with pytest.raises(TreelineError) as failed:
        read("codesearchnet:python", ReadOptions(cache=tmp_path))
    said = str(failed.value)
    assert said.count("403 Forbidden") == 2
    assert "\n" not in said
    assert f"records/{download.ZENODO_RECORD}" in said
    assert "codesearchnet:PATH" in said


def test_a_place_that_lies_about_the_size_is_passed_over(known: Server, tmp_path: Path) -> None:
    known.files["/official/python.zip"] = known.content + b"more"
    assert len(read("codesearchnet:python", ReadOptions(cache=tmp_path)).functions) == 1
    assert asked_for_archives(known) == ["official", "zenodo"]


def test_a_place_that_always_breaks_off_is_passed_over_and_its_part_is_not_continued_elsewhere(
    known: Server, tmp_path: Path
) -> None:
    known.break_after = [1_000, 0, 0]
    assert len(read("codesearchnet:python", ReadOptions(cache=tmp_path)).functions) == 1
    assert asked_for_archives(known) == ["official"] * 3 + ["zenodo"]
    assert known.asked[-1] == "", "the whole is asked for"
    assert not list(tmp_path.rglob("*.part*"))


def test_an_archive_with_another_hash_is_refused(known: Server, tmp_path: Path) -> None:
    known.refuse = ("/official",)
    flipped = bytearray(known.content)
    flipped[-30_000] ^= 1
    known.content = bytes(flipped)
    with pytest.raises(TreelineError, match="has another md5 hash than published"):
        read("codesearchnet:python", ReadOptions(cache=tmp_path))
    assert not list(tmp_path.rglob("*.zip*"))


def test_a_folder_of_ones_own_is_used_as_it_is(known: Server, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "python.zip").write_bytes(known.content)
    options = ReadOptions(cache=tmp_path / "cache", download_base=str(own))
    assert len(read("codesearchnet:python", options).functions) == 1
    with pytest.raises(InputError, match=r"neither ruby\.zip nor"):
        read("codesearchnet:ruby", options)
    with pytest.raises(InputError, match=r"queries\.csv"):
        download.fetch_queries(options)
    assert known.paths == []


def test_the_queries_come_from_the_repository(known: Server, tmp_path: Path) -> None:
    known.files["/repository/queries.csv"] = b"query\nconvert int to string\n"
    known.files["/repository/annotationStore.csv"] = b"Language,Query,GitHubUrl,Relevance,Notes\n"
    folder = download.fetch_queries(ReadOptions(cache=tmp_path))
    assert sorted(file.name for file in folder.iterdir()) == ["annotationStore.csv", "queries.csv"]
    download.fetch_queries(ReadOptions(cache=tmp_path))
    assert len(known.paths) == 2


def test_a_page_in_place_of_the_queries_is_refused(known: Server, tmp_path: Path) -> None:
    known.files["/repository/queries.csv"] = b"<html>"
    with pytest.raises(TreelineError, match=r"is not queries\.csv .*put it into"):
        download.fetch_queries(ReadOptions(cache=tmp_path))


def test_an_unknown_language_is_said_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="go, java, javascript, php, python, ruby"):
        read("codesearchnet:klingon", ReadOptions(cache=tmp_path))
