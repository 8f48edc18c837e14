"""The code view and the tree browser: served from the index alone, safe whatever a file holds."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest
from apiflask import APIFlask
from flask.testing import FlaskClient

from tests.service.web.library import INDEX
from treeline.engine.embedded import EmbeddedStore
from treeline.ingest.pipeline import LoadOptions, load
from treeline.ingest.source import ReadOptions
from treeline.ingest.sources import open_source
from treeline.search.settings import Settings, open_store
from treeline.service.present.markdown import render_markdown
from treeline.service.present.text import file_address

README = """# Demo <script>alert(1)</script>

<div align="center"><img src="https://example.org/x.png"></div>

![a picture](https://example.org/y.png) [good](https://example.org) [bad](javascript:alert(1)) [code](app.py)
"""
FILES = {
    "README.md": README,
    "app.py": "from util import helper\n\n\ndef run(count):\n    '''Run it.'''\n    return helper(count)\n",
    "util.py": "def helper(count):\n    return count  # </code><script>alert(2)</script>\n",
    "deep/er/long.py": "".join(f"def number_{n}(first, second):\n    return first + {n}\n\n\n" for n in range(900)),
    "odd name#1.py": "def odd():\n    return 1\n",
}


@pytest.fixture(scope="module", params=["embedded", pytest.param("elasticsearch", marks=pytest.mark.elasticsearch)])
def demo(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, make_app: Callable[[Settings], APIFlask]
) -> Iterator[FlaskClient]:
    """A client over an index whose folder is gone, on each engine, so that every claim below holds on both."""
    folder = tmp_path_factory.mktemp("files")
    for path, text in FILES.items():
        (folder / "demo" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "demo" / path).write_text(text, encoding="utf-8")
    (folder / "demo" / "latin.py").write_bytes(
        "# -*- coding: latin-1 -*-\ndef café():\n    return 1\n".encode("latin-1")
    )
    (folder / "demo" / "broken.py").write_bytes(b"def broken():\n    return '\xff\xfe'\n")
    (folder / "demo" / "binary.py").write_bytes(b"\0\1\2" * 100)
    settings = Settings(home=str(folder / "home"), index=INDEX, feedback=False, lane_timeout=30)
    if request.param == "elasticsearch":
        urls = ",".join(request.getfixturevalue("elasticsearch_cluster").urls)
        settings = replace(settings, engine="elasticsearch", elasticsearch_url=urls, index=f"files-{uuid4().hex[:8]}")
    store = open_store(settings)
    source = open_source(str(folder / "demo"))
    load(store, settings.index, [source], LoadOptions(work=folder / "work", workers=0))
    shutil.rmtree(folder / "demo")
    app = make_app(settings)
    yield app.test_client()
    if request.param == "elasticsearch":
        app.extensions["treeline"].close()
        store.drop(settings.index)


def get(client: FlaskClient, address: str, status: int = 200) -> str:
    reply = client.get(address)
    assert reply.status_code == status, reply.text
    return reply.text


def test_a_file_has_numbers_anchors_colours_and_an_outline(demo: FlaskClient) -> None:
    page = get(demo, "/files/demo/app.py")
    assert '<a id="L4" href="#L4">4</a>' in page
    assert '<span class="k">def ' in page
    assert 'data-line="4"' in page


def test_a_definition_leads_to_its_page_and_a_call_to_its_definition(demo: FlaskClient) -> None:
    page = get(demo, "/files/demo/app.py")
    assert '<span class="f"><a href="/functions/' in page
    assert '<a href="/files/demo/util.py#L1">helper</a>' in page


def test_the_unit_at_a_line_is_described_with_its_calls(demo: FlaskClient) -> None:
    panel = get(demo, "/files/demo/app.py?at=6")
    assert "Run it." in panel
    assert "def run(count):" in panel
    assert "helper" in panel
    assert get(demo, "/files/demo/app.py?at=2").strip() == ""


def test_raw_is_the_file_as_plain_text(demo: FlaskClient) -> None:
    reply = demo.get("/files/demo/util.py?raw=1")
    assert reply.data == FILES["util.py"].encode()
    assert reply.mimetype == "text/plain"
    assert reply.headers["X-Content-Type-Options"] == "nosniff"


def test_a_long_file_comes_in_parts_of_less_than_100_kb(demo: FlaskClient) -> None:
    address, lines = "/files/demo/deep/er/long.py", 0
    total = FILES["deep/er/long.py"].count("\n")
    start, parts = 1, 0
    while start:
        page = get(demo, f"{address}?from={start}&part=1")
        assert len(page) < 100_000
        lines += page.count('<a id="L')
        parts += 1
        start = int(page.split("?from=")[1].split('"')[0]) if "?from=" in page else 0
    assert lines == total
    assert parts > 1
    assert len(get(demo, address)) < 100_000
    get(demo, f"{address}?from={total + 1}", 404)
    get(demo, f"{address}?from=x", 404)
    for digits in ("000000001" + "0" * 4_300, "9" * 5_000, "19999", "0", "-1"):
        for name in ("from", "at"):
            get(demo, f"{address}?{name}={digits}", 404)


def test_what_a_file_holds_is_escaped(demo: FlaskClient) -> None:
    assert "<script>alert" not in get(demo, "/files/demo/util.py")
    assert "<script>alert" not in get(demo, "/files/demo/")


def test_other_encodings_are_shown_and_said(demo: FlaskClient) -> None:
    assert "café" in get(demo, "/files/demo/latin.py")
    page = get(demo, "/files/demo/broken.py")
    assert "is not valid" in page
    page = get(demo, "/files/demo/binary.py")
    assert "is binary" in page
    assert "U+0000" not in page


@pytest.mark.parametrize("path", ["../../etc/passwd", "..%2f..%2fetc/passwd", "app.py/..", "nope.py", "app.py%00"])
def test_nothing_but_indexed_files_can_be_read(demo: FlaskClient, path: str) -> None:
    get(demo, f"/files/demo/{path}", 404)


def test_odd_names_are_linked_and_found(demo: FlaskClient) -> None:
    address = file_address("demo", "odd name#1.py")
    assert address in get(demo, "/files/demo/")
    assert "odd" in get(demo, address)


def test_a_folder_lists_its_entries_with_sizes_and_leads_up(demo: FlaskClient) -> None:
    page = get(demo, "/files/demo/")
    assert 'href="/files/demo/deep/"' in page
    assert "python" in page
    page = get(demo, "/files/demo/deep/er/")
    assert 'href="/files/demo/deep/"' in page
    assert "long.py" in page and "long.py" in get(demo, "/files/demo/deep/")  # which has nothing else
    assert demo.get("/files/demo/deep").headers["Location"] == "/files/demo/deep/"
    assert demo.get("/files/demo").headers["Location"] == "/files/demo/"


def test_a_repository_shows_languages_what_is_called_most_and_its_readme(demo: FlaskClient) -> None:
    page = get(demo, "/files/demo/")
    assert "Called most" in page
    assert "1 caller" in page
    assert "Languages" in page
    assert "<h3>Demo" in page


def test_a_readme_is_free_of_markup_images_and_bad_links() -> None:
    html = render_markdown(README, lambda path: f"/files/demo/{path}", "")
    assert "<img" not in html
    assert "<script" not in html
    assert "<div" not in html
    assert 'href="javascript:' not in html
    assert 'href="https://example.org"' in html
    assert 'href="/files/demo/app.py"' in html


def test_a_link_of_a_readme_never_leaves_the_repository() -> None:
    html = render_markdown("[up](../../../other/x.py)", lambda path: f"/files/demo/{path}", "docs/")
    assert 'href="/files/demo/other/x.py"' in html


def test_where_texts_are_not_kept_the_functions_are_listed(
    tmp_path: Path, make_app: Callable[[Settings], APIFlask]
) -> None:
    folder = tmp_path / "demo" / "src"
    folder.mkdir(parents=True)
    (folder / "app.py").write_text(FILES["app.py"])
    source = open_source(str(tmp_path / "demo"), ReadOptions(keep_texts=False))
    load(EmbeddedStore(tmp_path / "home"), INDEX, [source], LoadOptions(work=tmp_path / "work", workers=0))
    client = make_app(Settings(home=str(tmp_path / "home"), index=INDEX)).test_client()
    assert 'href="/files/demo/src/app.py"' in get(client, "/files/demo/")  # no click for the only folder
    page = get(client, "/files/demo/src/app.py")
    assert "is not kept" in page
    assert "run" in page


def test_results_and_functions_lead_into_the_file(client: FlaskClient) -> None:
    page = get(client, "/search?q=wrap a paragraph of text")
    assert 'class="path" href="/files/text/textwrap.py#L' in page
    function = page.split('href="/functions/')[1].split('"')[0].split("?")[0]
    assert 'href="/files/text/' in get(client, f"/functions/{function}")


def test_an_editor_is_offered_only_to_who_is_at_this_machine(library: Path, make_app: Callable[..., APIFlask]) -> None:
    here = make_app(Settings(home=str(library), index=INDEX, feedback=False)).test_client()
    address = "/files/text/textwrap.py"
    assert 'href="vscode://file//' in here.get(address, base_url="http://127.0.0.1/").text
    away = here.get(address, environ_base={"REMOTE_ADDR": "203.0.113.5"}).text
    assert "vscode:" not in away


def test_a_file_that_the_browser_has_is_not_sent_again(demo: FlaskClient) -> None:
    tag = demo.get("/files/demo/app.py").headers["ETag"]
    assert demo.get("/files/demo/app.py", headers={"If-None-Match": tag}).status_code == 304


def test_a_file_is_had_as_json_with_its_text_outline_and_definitions(demo: FlaskClient) -> None:
    reply = demo.get("/api/files/demo/app.py")
    body = reply.get_json()
    assert (body["repo"], body["path"], body["folder"], body["language"]) == ("demo", "app.py", False, "python")
    assert body["text"] == FILES["app.py"] and body["size"] == len(FILES["app.py"]) and body["encoding"] == "utf-8"
    [run] = [row for row in body["outline"] if row["name"] == "run"]
    assert run["lines"] == [4, 6] and (run["kind"], run["depth"]) == ("function", 0)
    assert demo.get(f"/api/functions/{run['id']}").get_json()["func_name"] == "run"
    assert {"name": "helper", "lines": [4, 6], "repo": "demo", "path": "util.py", "line": 1} in body["definitions"]
    again = demo.get("/api/files/demo/app.py", headers={"If-None-Match": reply.headers["ETag"]})
    assert again.status_code == 304


def test_folders_and_repositories_are_had_as_json(demo: FlaskClient) -> None:
    [repository] = demo.get("/api/files").get_json()["repositories"]
    assert repository["name"] == "demo" and repository["units"] > 900
    top = demo.get("/api/files/demo/").get_json()
    assert top["folder"] is True and demo.get("/api/files/demo").get_json() == top
    deep = next(row for row in top["entries"] if row["name"] == "deep")
    assert deep["folder"] is True and deep["files"] == 1 and deep["lines"] > 3_000
    assert [row["name"] for row in demo.get("/api/files/demo/deep/er/").get_json()["entries"]] == ["long.py"]


def test_what_is_no_text_or_not_there_is_said_in_json(demo: FlaskClient) -> None:
    binary = demo.get("/api/files/demo/binary.py").get_json()
    assert (binary["encoding"], binary["text"]) == ("binary", None)
    for address in ("/api/files/other/app.py", "/api/files/demo/none.py", "/api/files/demo/none/"):
        reply = demo.get(address)
        assert reply.status_code == 404 and reply.get_json()["error"]["code"] == "not_found"
