"""Tests and vendored code come after other code in the lanes of a question in words."""

import pytest

from tests.search.small_index import plan_for
from treeline.corpus.function import Address
from treeline.engine.hits import Hit
from treeline.rerank.fusion import RankedList
from treeline.search.lanes.lane_set import with_code_first
from treeline.search.query import Query


def ranking(code: int, tests: int, kind: str = "class") -> RankedList:
    """A lane's list in which a test stands before each of the first code units."""
    paths = [path for at in range(max(code, tests)) for path in (f"tests/{at}.py",) * (at < tests) + (f"src/{at}.py",)]
    hits = [Hit(path, 1000.0 - at, Address("r", path, "f", "python", "", kind)) for at, path in enumerate(paths)]
    return RankedList("keyword", hits, [path.partition("/")[0] for path in paths])


def test_tests_follow_the_code_that_a_lane_would_have_without_them() -> None:
    lane = with_code_first(lambda: ranking(150, 60), 120)
    assert [hit.id for hit in lane.hits] == [f"src/{at}.py" for at in range(120)] + [
        f"tests/{at}.py" for at in range(60)
    ]
    assert list(lane.stages) == ["src"] * 120 + ["tests"] * 60
    assert max(hit.score for hit in lane.hits[120:]) <= min(hit.score for hit in lane.hits[:120])


def test_a_collection_of_functions_keeps_the_order_of_its_lanes() -> None:
    lane = with_code_first(lambda: ranking(150, 60, "function"), 120)
    assert [hit.id for hit in lane.hits[:3]] == ["tests/0.py", "src/0.py", "tests/1.py"]
    assert (len(lane.hits), len(lane.stages)) == (120, 120)


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
