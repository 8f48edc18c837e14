"""What a reference means: a name, an id or a line; several, none, or something near it."""

from collections.abc import Iterator

import pytest

from tests.search.small_index import NAME, parsed, publish
from treeline.corpus.errors import InputError
from treeline.engine.embedded import EmbeddedStore
from treeline.engine.protocol import Filters
from treeline.search.live import LiveSearcher
from treeline.search.resolve import Ambiguous, resolve

FILES = {
    "web/typed.py": "@overload\ndef take(x: int) -> int: ...\n\n@typing.overload\ndef take(x: str) -> str: ...\n\n"
    "def take(x):\n    return x\n",
    "web/url.py": "def parse_url(text):\n    def inner(x):\n        return x\n\n    return inner(text)\n",
    "web/client.py": "class Client:\n    def send(self, url):\n        return parse_url(url)\n",
    "web/server.py": "class Server:\n    def send(self, url):\n        return url\n",
}


@pytest.fixture(scope="module")
def searcher(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveSearcher]:
    store = EmbeddedStore(tmp_path_factory.mktemp("home"))
    publish(store, *parsed(FILES))
    opened = LiveSearcher(store, NAME)
    yield opened
    opened.close()


def found(searcher: LiveSearcher, reference: str, filters: Filters | None = None) -> str:
    function = resolve(searcher, reference, otherwise="search for it", filters=filters or Filters())
    return f"{function.path}:{function.func_name}"


@pytest.mark.parametrize("reference", ["parse_url", " parse_url() ", "web/url.py:1", "web/url.py:5"])
def test_a_name_and_a_line_lead_to_their_function(searcher: LiveSearcher, reference: str) -> None:
    assert found(searcher, reference) == "web/url.py:parse_url"


@pytest.mark.parametrize("reference", ["Client.send", "Client#send", "Client::send", "client->Client.send"])
def test_a_name_is_found_in_any_notation(searcher: LiveSearcher, reference: str) -> None:
    assert found(searcher, reference) == "web/client.py:Client.send"


def test_signatures_for_type_checkers_are_no_rivals_of_the_definition(searcher: LiveSearcher) -> None:
    assert resolve(searcher, "take", otherwise="").address.lines == (7, 8)


def test_an_id_leads_to_its_function(searcher: LiveSearcher) -> None:
    (hit,) = searcher.engine.named("Client.send", 2)
    assert found(searcher, hit.id) == "web/client.py:Client.send"


def test_of_several_definitions_all_are_named(searcher: LiveSearcher) -> None:
    with pytest.raises(Ambiguous, match="several definitions are called 'send'"):
        found(searcher, "send")
    assert found(searcher, "send", Filters(path="web/server")) == "web/server.py:Server.send"


@pytest.mark.parametrize(
    ("reference", "said", "hint"),
    [
        ("parse_uri", "nothing is called 'parse_uri' here; near it: parse_url", "search for it"),
        ("web/other.py:3", "nothing of a file 'web/other.py' is indexed here", "search for it"),
    ],
)
def test_what_is_not_there_is_said_with_what_is_near(
    searcher: LiveSearcher, reference: str, said: str, hint: str
) -> None:
    with pytest.raises(InputError) as refused:
        found(searcher, reference)
    assert (refused.value.message, refused.value.hint) == (said, hint)


def test_what_a_filter_hides_is_said_to_be_elsewhere(searcher: LiveSearcher) -> None:
    with pytest.raises(InputError) as refused:
        found(searcher, "parse_url", Filters(path="text/"))
    assert refused.value.message == "nothing is called 'parse_url' in text/"
    assert refused.value.hint == "it is elsewhere: ask without that filter"


def test_a_line_without_a_definition_names_those_of_the_file(searcher: LiveSearcher) -> None:
    with pytest.raises(InputError) as refused:
        found(searcher, "web/url.py:99")
    assert refused.value.message == "nothing is defined at line 99 of web/url.py"
    assert refused.value.hint is not None and "parse_url (1 to 5)" in refused.value.hint
