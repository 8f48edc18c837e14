"""Safe and light by default: security headers everywhere, CORS only by setting, gzip, caching."""

import gzip
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

from apiflask import APIFlask
from flask.testing import FlaskClient
from pytest import mark
from werkzeug.test import TestResponse

from tests.service.web.library import INDEX
from treeline.search.settings import Settings

PAGES = [
    "/",
    "/search",
    "/search?q=parse+url",
    "/eval",
    "/docs",
    "/files/text/",
    "/files/text/textwrap.py",
    "/compare?q=x",
    "/nowhere",
    "/api/search?q=x",
    "/api/search",
    "/healthz",
]


class Names(HTMLParser):
    """The names of a page's tags and attributes, as a browser reads them: a function may be called ` onerror=`."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found |= {tag, *(name for name, _ in attrs)}


@mark.parametrize("address", PAGES)
def test_every_answer_carries_a_strict_policy(client: FlaskClient, address: str) -> None:
    headers = client.get(address, headers={"Accept": "text/html"}).headers
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "script-src 'self';" in policy and "frame-ancestors 'none'" in policy
    assert "unsafe-eval" not in policy
    assert "http:" not in policy and "https:" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff" and headers["Referrer-Policy"] == "same-origin"


@mark.parametrize("address", PAGES[:9])
def test_no_page_needs_inline_scripts_styles_or_another_host(client: FlaskClient, address: str) -> None:
    page = client.get(address, headers={"Accept": "text/html"}).get_data(as_text=True)
    assert not re.search(r"<script(?![^>]*\bsrc=)(?![^>]*application/json)", page)
    names = Names()
    names.feed(page)
    assert not [name for name in names.found if name.startswith("on") or name == "style"]
    # A link may lead elsewhere; nothing is fetched from there.
    assert not re.search(r"""<(?!a\s)[^>]*\s(src|href|action)=["'](https?:)?//""", page)


def test_only_where_plotly_draws_may_styles_be_inline(client: FlaskClient) -> None:
    assert "unsafe-inline" not in client.get("/search?q=x").headers["Content-Security-Policy"]
    assert "style-src 'self' 'unsafe-inline'" in client.get("/eval").headers["Content-Security-Policy"]


def test_other_sites_pages_may_read_only_when_the_setting_names_them(
    library: Path, client: FlaskClient, make_app: Callable[[Settings], APIFlask]
) -> None:
    origin = {"Origin": "https://friend.example"}
    assert "Access-Control-Allow-Origin" not in client.get("/api/search?q=x", headers=origin).headers
    open_to = Settings(home=str(library), index=INDEX, feedback=False, cors_origins="https://friend.example")
    friendly = make_app(open_to).test_client()
    assert friendly.get("/api/search?q=x", headers=origin).headers["Access-Control-Allow-Origin"] == origin["Origin"]
    stranger = friendly.get("/api/search?q=x", headers={"Origin": "https://evil.example"})
    assert "Access-Control-Allow-Origin" not in stranger.headers
    assert {"Origin", "Accept-Encoding"} == set(stranger.headers["Vary"].split(", "))
    assert "Access-Control-Allow-Origin" not in friendly.get("/search?q=x", headers=origin).headers


@mark.parametrize(("address", "method"), [("/api/search?q=x", "GET"), ("/api/feedback", "POST")])
def test_a_browser_may_ask_without_a_key_whether_it_may_send_one(
    library: Path, make_app: Callable[[Settings], APIFlask], address: str, method: str
) -> None:
    origin = "https://friend.example"
    settings = Settings(home=str(library), index=INDEX, feedback=False, keys_required="all", cors_origins=origin)
    headers = {"Origin": origin, "Access-Control-Request-Method": method}
    asked = make_app(settings).test_client().options(address, headers=headers)
    assert asked.status_code == 200  # a browser goes on after no other
    assert method in asked.headers["Access-Control-Allow-Methods"]
    assert {"Authorization", "X-API-Key"} <= set(asked.headers["Access-Control-Allow-Headers"].split(", "))


def test_large_answers_are_compressed_for_those_who_can_read_them(client: FlaskClient) -> None:
    plain = client.get("/search?q=parse+url")
    packed = client.get("/search?q=parse+url", headers={"Accept-Encoding": "gzip"})
    assert "Content-Encoding" not in plain.headers and packed.headers["Content-Encoding"] == "gzip"
    assert len(packed.data) < len(plain.data) / 3
    assert b"parse" in gzip.decompress(packed.data)
    assert plain.headers["Vary"] == packed.headers["Vary"] == "Accept-Encoding"
    assert "Content-Encoding" not in client.get("/search?q=parse+url", headers={"Accept-Encoding": "gzip;q=0"}).headers
    assert "Content-Encoding" not in client.get("/healthz", headers={"Accept-Encoding": "gzip"}).headers


def test_files_of_the_pages_are_kept_for_good(client: FlaskClient) -> None:
    page = client.get("/search?q=parse+url").get_data(as_text=True)
    addresses = re.findall(r'(?:src|href|data-map-script|data-plotly)="(/(?:static|assets)/[^"]+)"', page)
    assert len(addresses) >= 5
    for address in addresses:
        with client.get(address, headers={"Accept-Encoding": "gzip"}) as answer:
            assert answer.status_code == 200 and "immutable" in answer.headers["Cache-Control"], address


def test_files_of_the_pages_are_compressed_too(client: FlaskClient) -> None:
    def get(**headers: str) -> TestResponse:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return client.get("/static/treeline.css", headers=named, buffered=True)

    plain, packed = get(), get(Accept_Encoding="gzip")
    assert gzip.decompress(packed.data) == plain.data and len(packed.data) < len(plain.data) / 3
    assert get(Accept_Encoding="gzip", If_None_Match=packed.headers["ETag"]).status_code == 304
    assert get(Accept_Encoding="gzip", Range="bytes=0-9").data == plain.data[:10]


def test_a_page_of_results_is_small(client: FlaskClient) -> None:
    for question in ("parse", "open a file", "read the next token from the stream"):
        assert len(client.get(f"/search?q={question}").data) < 100_000


def test_stage_times_are_shown_to_the_browser(client: FlaskClient) -> None:
    assert "keyword;dur=" in client.get("/search?q=a+question+of+its+own").headers["Server-Timing"]
