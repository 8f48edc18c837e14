"""Who types a name gets its definition first: before its callers, before namesakes elsewhere, before all else."""

from collections.abc import Iterator

import pytest

from tests.search.small_index import NAME, parsed, publish, shipped
from treeline.engine.embedded import EmbeddedStore
from treeline.search.query import Query
from treeline.search.searcher import Searcher
from treeline.search.settings import Settings

SAYS_IT_OFTEN = "    # re sub, re sub: sub of re, sub sub\n" * 3
FILES = {
    "re/__init__.py": '''
def sub(pattern, repl, string):
    """Replace what matches."""
    return _compile(pattern).apply(repl, string)

def _compile(pattern):
    return pattern
''',
    "other/re/__init__.py": '''
def sub(pattern):
    """Of another package, which wraps re and its sub."""
    return pattern
''',
    "quoting.py": f'''
import re

def quoted(re_sub):
    """Quote by re sub: re.sub, re.sub."""
{SAYS_IT_OFTEN}    return re.sub("a", "b", re_sub)
''',
    "loop/runners.py": '''
def run(main):
    """Run it until it is done."""
    return main
''',
    "basket.py": '''
from typing import overload

class Basket:
    def _weigh(self):
        return 0

    def add(self, thing):
        """Put a thing into the basket, the basket of the basket."""

    def __init__(self, things):
        self.things = things

@overload
def take(basket: str) -> str: ...

@overload
def take(basket: bytes) -> bytes: ...

def take(basket):
    """Take out whatever is on top."""
    return basket.things.pop()

def basket_basket(basket):
    """A basket: basket of basket."""
    return basket
''',
}


@pytest.fixture(scope="module")
def searcher(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Searcher]:
    store = EmbeddedStore(tmp_path_factory.mktemp("home"))
    publish(store, *parsed(FILES))
    opened = Searcher(store.open(NAME), {shipped().name: shipped()}, Settings(lane_timeout=30))
    yield opened
    opened.close()


def places(searcher: Searcher, text: str) -> list[str]:
    return [f"{one.function.path}:{one.function.func_name}" for one in searcher.search(Query(text)).results]


def test_a_definition_goes_before_its_callers_and_the_named_module_before_another(searcher: Searcher) -> None:
    assert places(searcher, "re.sub")[:3] == ["re/__init__.py:sub", "other/re/__init__.py:sub", "quoting.py:quoted"]


def test_a_package_offers_what_its_files_define(searcher: Searcher) -> None:
    assert places(searcher, "loop.run")[0] == "loop/runners.py:run"


@pytest.mark.parametrize("name", ["Basket", "`Basket`"])
def test_a_class_is_shown_by_its_constructor_then_by_what_it_offers(searcher: Searcher, name: str) -> None:
    found = [place.removeprefix("basket.py:") for place in places(searcher, name)]
    assert [place for place in found if place.startswith("Basket.")] == [
        "Basket.__init__",
        "Basket.add",
        "Basket._weigh",
    ]
    assert found[0] == "Basket.__init__"


def test_of_several_definitions_the_last_goes_first(searcher: Searcher) -> None:
    first = searcher.search(Query("take")).results[0].function
    assert first.docstring == "Take out whatever is on top."
