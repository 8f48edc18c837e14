"""Names as queries: found in another style of casing or with a slip, classes and constants first, then their uses."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.search.small_index import NAME, parsed, publish, shipped
from treeline.corpus.function import Function
from treeline.engine.embedded import EmbeddedStore
from treeline.search.answer import Answer
from treeline.search.lanes.graph import is_slip, styles
from treeline.search.query import Query
from treeline.search.searcher import Searcher

FILES = {
    "net/retry.py": '''
def get_backoff_time(attempt):
    """How long to wait before the next attempt."""
    return MAX_WAIT

def http_backoff(url):
    """Retry a request, each time after a longer wait."""
    return get_backoff_time(1)

def wait_for(url):
    """Wait with getBackoffTime, the backoff time of http, MAX_WAIT at most."""
    return http_backoff(url)
''',
    "net/session.py": '''
class Session:
    def __init__(self):
        self.session = Session

    def send(self, session):
        """Send a session in a session of the session."""
        return session.session(Session())

def open_session():
    """Open a session, a Session of sessions."""
    return Session()
''',
}


def unit(kind: str, name: str, code: str) -> Function:
    function = parsed({"net/units.py": "def stand_in():\n    return 1\n"})[0][0]
    return replace(function, path="net/units.py", func_name=name, code=code, original_string=code, kind=kind)


@pytest.fixture(scope="module")
def searcher(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Searcher]:
    store = EmbeddedStore(tmp_path_factory.mktemp("home"))
    functions, facts = parsed(FILES)
    units = [
        unit("class", "Session", "class Session:\n    def __init__(self)\n    def send(self, session)"),
        unit("constant", "MAX_WAIT", "MAX_WAIT = 30"),
        unit("type", "HttpHeaders", "type HttpHeaders = dict[str, str]"),
        unit("class", "App.Net.Pool", "class Pool < Base"),
    ]
    publish(store, [*functions, *units], facts)
    made = Searcher(store.open(NAME), {shipped().name: shipped()})
    yield made
    made.close()


def names(answer: Answer) -> list[str]:
    return [result.function.func_name for result in answer.results]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("getBackoffTime", "get_backoff_time"),
        ("GetBackoffTime", "get_backoff_time"),
        ("http_backof", "http_backoff"),
        ("htpp_backoff", "http_backoff"),
        ("HTTP_BACKOFF", "http_backoff"),
        ("Session", "Session"),
        ("session", "Session"),
        ("class Session", "Session"),
        ("Session#send", "Session.send"),
        ("net::session::Session::send", "Session.send"),
        ("Net::Pool", "App.Net.Pool"),
        ("MAX_WAIT", "MAX_WAIT"),
        ("max_wait", "MAX_WAIT"),
        ("http_headers", "HttpHeaders"),
        ("Session.send", "Session.send"),
        ("where is Session defined?", "Session"),
        ("definition of get_backoff_time", "get_backoff_time"),
        ("where is get_backoff_time implemented", "get_backoff_time"),
    ],
)
def test_a_name_finds_its_definition_first(searcher: Searcher, text: str, name: str) -> None:
    assert names(searcher.search(Query(text)))[0] == name


def test_a_class_comes_before_its_methods_and_its_uses(searcher: Searcher) -> None:
    assert searcher.search(Query("Session")).results[0].function.kind == "class"
    found = searcher.search(Query("Session", rerank="none")).results  # the default spreads over the files
    assert found[0].function.kind == "class"
    assert {one.function.func_name for one in found[1:3]} == {"Session.__init__", "Session.send"}


@pytest.mark.parametrize(
    ("name", "others"),
    [
        ("getBackoffTime", ["get_backoff_time", "GetBackoffTime", "GET_BACKOFF_TIME"]),
        ("Foo.getBar", ["Foo.get_bar", "Foo.GetBar", "Foo.GET_BAR"]),
        ("_private_name", ["_privateName", "_PrivateName", "_PRIVATE_NAME"]),
        ("cache", ["Cache", "CACHE"]),
    ],
)
def test_a_name_has_other_styles(name: str, others: list[str]) -> None:
    assert styles(name) == others


@pytest.mark.parametrize("typed", ["http_backof", "htpt_backoff", "http_backofff", "http_backoff", "http-backoff"])
def test_one_letter_is_a_slip(typed: str) -> None:
    assert is_slip(typed, "http_backoff")


@pytest.mark.parametrize("typed", ["http_bakof", "backoff", "", "ftp_backoff"])
def test_more_is_another_name(typed: str) -> None:
    assert not is_slip(typed, "http_backoff")


def test_a_name_that_nothing_has_is_said_first_with_the_nearest_and_nothing_made_up(searcher: Searcher) -> None:
    nowhere = searcher.search(Query("get_backoff_times_now"))
    assert nowhere.absence is not None and not nowhere.results
    assert nowhere.hints == ("nothing here is called `get_backoff_times_now`; nearest names: get_backoff_time",)
    in_text = searcher.search(Query("getBackoffTime"))
    assert in_text.hints[0].startswith("nothing here is called `getBackoffTime`; what follows has it in its text")
    assert in_text.results[0].function.func_name == "get_backoff_time"
    assert searcher.search(Query("get_backoff_time")).absence is None


def test_a_name_in_another_notation_is_not_said_to_be_missing(searcher: Searcher) -> None:
    assert all(searcher.search(Query(name)).absence is None for name in ("Session#send", "Net::Pool", "App::Net::Pool"))
    missing = searcher.search(Query("Net::Puddle")).absence
    assert missing is not None and missing.name == "Net::Puddle"
