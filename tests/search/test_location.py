"""Files, paths and lines as queries: what is there comes first."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.search.small_index import FILES, NAME, parsed, publish, shipped
from treeline.engine.embedded import EmbeddedStore
from treeline.search.answer import Answer
from treeline.search.plan import route
from treeline.search.query import Query
from treeline.search.searcher import Searcher
from treeline.search.structure import Location, parse_path, parse_place

MORE = {
    "web/v2/client.py": "def ping():\n    return 1\n\n\ndef pong():\n    return 2\n",
    "tools/run.sh.py": "def run():\n    return 'client.py'\n",
}


@pytest.fixture(scope="module")
def searcher(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Searcher]:
    store = EmbeddedStore(tmp_path_factory.mktemp("home"))
    functions, facts = parsed(FILES | MORE)
    ping = next(one for one in functions if one.func_name == "ping")
    url = f"{ping.url.partition('#')[0]}#L1-L6"
    file = replace(ping, func_name="client.py", code="def ping()\ndef pong()", url=url, kind="file")
    publish(store, [*functions, file], facts)
    made = Searcher(store.open(NAME), {shipped().name: shipped()})
    yield made
    made.close()


def names(answer: Answer) -> list[str]:
    return [result.function.func_name for result in answer.results]


@pytest.mark.parametrize(
    ("text", "location"),
    [
        ("sessions.py", Location("sessions.py")),
        ("./src/requests/sessions.py", Location("src/requests/sessions.py")),
        ("src/requests/", Location("src/requests")),
        ("sessions.py:512", Location("sessions.py", 512)),
        ("src/app.go:12:5", Location("src/app.go", 12)),
        ("https://example.org/a/b.py#L3-L9", Location("https://example.org/a/b.py", 3)),
        ("Makefile", Location("Makefile")),
        ("parse url", None),
        ("read a file.txt", None),
        ("see line in a file.py:3", None),
        ("parse_url", None),
    ],
)
def test_a_query_may_be_a_path_or_a_line(text: str, location: Location | None) -> None:
    assert parse_path(text) == location


@pytest.mark.parametrize(
    ("text", "location"),
    [
        ('File "/usr/lib/python3/site-packages/web/url.py", line 4, in parse_url', Location("web/url.py", 4)),
        ('File "a.py", line 1, in f\n    g()\nFile "b.py", line 2, in g\nValueError: no', Location("b.py", 2)),
        ("at org.web.Pool.take(Pool.java:70)\nat org.web.App.main(App.java:3)", Location("Pool.java", 70)),
        ("at connect (/app/node_modules/web/url.js:4:11)", Location("/app/node_modules/web/url.js", 4)),
        ("/gems/web-7.0/lib/web/url.rb:4:in `parse'", Location("/gems/web-7.0/lib/web/url.rb", 4)),
        ("src/url.c:4:9: error: expected ';'", Location("src/url.c", 4)),
        ("connect to localhost:8080 or example.com:443", None),
        ("how is url.py tested", None),
    ],
)
def test_a_stack_trace_names_a_line(text: str, location: Location | None) -> None:
    assert parse_place(text) == location


def test_the_function_at_the_line_of_a_stack_trace_comes_first(searcher: Searcher) -> None:
    answer = searcher.search(Query('File "/opt/site-packages/web/url.py", line 8, in <module>\nValueError: bad host'))
    assert names(answer)[0] == "join_url"
    assert not answer.no_match


def test_a_file_name_finds_what_is_in_the_file_first(searcher: Searcher) -> None:
    found = names(searcher.search(Query("url.py")))
    assert set(found[:3]) == {"parse_url", "join_url", "normalise"}
    assert names(searcher.search(Query("v2/client.py")))[0] == "client.py"


def test_a_path_tells_files_of_one_name_apart(searcher: Searcher) -> None:
    assert set(names(searcher.search(Query("v2/client.py")))[:3]) == {"client.py", "ping", "pong"}
    both = set(names(searcher.search(Query("client.py")))[:6])
    assert both == {"client.py", "ping", "pong", "Client.send", "Client.open", "fetch_page"}


def test_a_folder_finds_what_is_in_it(searcher: Searcher) -> None:
    assert set(names(searcher.search(Query("web/v2/")))[:3]) == {"client.py", "ping", "pong"}


def test_a_line_finds_the_function_there_first(searcher: Searcher) -> None:
    assert names(searcher.search(Query("v2/client.py:6")))[:2] == ["pong", "client.py"]
    assert names(searcher.search(Query("web/v2/client.py:1")))[0] == "ping"


def test_a_path_that_is_not_there_is_words(searcher: Searcher) -> None:
    assert searcher.search(Query("nowhere/parse_url.py")).results


def test_words_with_a_slash_are_still_understood() -> None:
    assert route("tcp/ip").kind == "conceptual" and "dense" in route("tcp/ip").lanes()
    assert route("src/app.py").kind == "identifier"


@pytest.mark.parametrize("text", ["json.loads", "either/or", "tcp/ip"])
def test_what_only_looks_like_a_path_is_answered_as_before(searcher: Searcher, text: str) -> None:
    assert not searcher.search(Query(text)).degraded
