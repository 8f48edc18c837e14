"""Tests and vendored code come after other code in the lanes of a question in words."""

from contextlib import closing
from pathlib import Path

import pytest

from tests.engine.functions import build, function
from tests.search.small_index import plan_for
from treeline.corpus.function import Address
from treeline.engine.embedded import EmbeddedStore
from treeline.engine.hits import Hit
from treeline.rerank.fusion import RankedList
from treeline.search.lanes.lane_set import with_code_first
from treeline.search.lanes.words import ENOUGH
from treeline.search.plan import KEYWORD
from treeline.search.query import Query
from treeline.search.searcher import Searcher


def ranking(code: int, tests: int) -> RankedList:
    """A lane's list in which a test stands before each of the first code units."""
    paths = [path for at in range(max(code, tests)) for path in (f"tests/{at}.py",) * (at < tests) + (f"src/{at}.py",)]
    hits = [Hit(path, 1000.0 - at, Address("r", path, "f", "python", "", "class")) for at, path in enumerate(paths)]
    return RankedList("keyword", hits, [path.partition("/")[0] for path in paths])


def test_tests_follow_the_code_that_a_lane_would_have_without_them() -> None:
    lane = with_code_first(lambda: ranking(150, 60), 120)
    assert [hit.id for hit in lane.hits] == [f"src/{at}.py" for at in range(120)] + [
        f"tests/{at}.py" for at in range(60)
    ]
    assert list(lane.stages) == ["src"] * 120 + ["tests"] * 60
    assert max(hit.score for hit in lane.hits[120:]) <= min(hit.score for hit in lane.hits[:120])


@pytest.mark.parametrize(("kind", "first"), [("function", "tests"), ("class", "src")])
def test_a_collection_of_functions_keeps_the_order_of_its_lanes(kind: str, first: str, tmp_path: Path) -> None:
    """The tests say the same in fewer words, so that the keyword lane has them first."""
    texts = {"tests": "parse the date", "src": "parse the date of the day after the next one"}
    units = [
        function(f"f{at}", path=f"{folder}/{at}.py", docstring=text, kind=kind)
        for folder, text in texts.items()
        for at in range(ENOUGH + 1)
    ]
    store = EmbeddedStore(tmp_path)
    build(store, "many", units)
    with closing(store.open("many")) as engine:
        searcher = Searcher(engine, {})
        (lane,) = searcher.lanes(searcher.plan(Query("how to parse the date"), [KEYWORD])).lists
    assert lane.hits[0].address.path.startswith(first)


def test_tests_stay_where_little_else_has_the_words() -> None:
    lane = with_code_first(lambda: ranking(20, 20), 30)
    assert lane.hits[0].id == "tests/0.py"
    assert len(lane.hits) == 30


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("how are cookies signed", True),
        ("tests of the parser for cookies", False),
        ("how are cookies signed role:test", False),
        ("parse_url", False),
    ],
)
def test_a_question_about_tests_or_a_name_keeps_the_lanes_order(question: str, first: bool) -> None:
    assert plan_for(Query(question)).code_first is first
