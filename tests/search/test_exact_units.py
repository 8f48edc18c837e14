"""Structural questions in an index of whole repositories: classes and top-level code are answers themselves."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ingest.loading import NAME, loaded, project
from treeline.ingest.source import ReadOptions
from treeline.search.answer import Answer
from treeline.search.live import LiveSearcher, open_searcher
from treeline.search.query import Query
from treeline.search.settings import Settings

FILES = {
    "zoo/animals.py": '''
class Animal:
    """What lives here."""

    def feed(self):
        return self.weigh()

    def weigh(self):
        return 0


class Lion(Animal):
    def roar(self):
        return "!"


class Cage:
    holds: Animal

    def open(self, animal: Animal):
        animal.feed()
''',
    "zoo/setup.py": """
from zoo.register import register_all

register_all("lions")
OPENED = register_all("tigers")
""",
    "zoo/register.py": "LIMIT = 3\n\n\ndef register_all(kind):\n    return kind\n",
    "zoo/gate.py": """
from zoo.register import LIMIT

def admit(visitors):
    return visitors[:LIMIT]

def unlimited(visitors):
    return visitors
""",
}


@pytest.fixture(scope="module")
def searcher(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveSearcher]:
    folder = tmp_path_factory.mktemp("exact-units")
    home = folder / "home"
    loaded(home, project(folder / "zoo", FILES), read=ReadOptions())
    searcher = open_searcher(Settings(home=str(home), index=NAME, lane_timeout=30), once=True)
    yield searcher
    searcher.close()


def leading(answer: Answer) -> list[tuple[str, str]]:
    return [(one.function.kind, one.function.func_name) for one in answer.results[: answer.exact_results]]


def test_a_subclass_is_listed_itself_and_not_by_its_methods(searcher: LiveSearcher) -> None:
    answer = searcher.search(Query("what extends Animal"))
    assert leading(answer) == [("class", "Lion")]


def test_what_a_class_uses_of_itself_is_no_use_of_it(searcher: LiveSearcher) -> None:
    answer = searcher.search(Query("what uses the class Animal"))
    found = {name for _, name in leading(answer)}
    assert {"Lion", "Cage.open"} <= found
    assert not found & {"Animal", "Animal.feed", "Animal.weigh"}
    assert answer.exact is not None
    assert "class" in answer.exact.sentence


def test_a_call_at_the_top_level_is_a_result(searcher: LiveSearcher) -> None:
    answer = searcher.search(Query("what calls register_all"))
    assert answer.exact is not None
    assert answer.exact.sentence == (
        "no function is known to call the register_all defined in this index, only the top level of zoo/setup.py"
    )
    assert [path for kind, path in leading(answer)] == ["setup.py"]
    assert answer.headings == {2: "by keyword or meaning, not from the call graph"}


def test_what_uses_a_constant_is_what_has_its_name(searcher: LiveSearcher) -> None:
    answer = searcher.search(Query("what uses LIMIT"))
    assert answer.exact is not None
    assert answer.exact.sentence == (
        "LIMIT is a constant, which the call graph does not follow; 1 function has LIMIT in the code"
    )
    assert answer.results[0].function.func_name == "admit"
    assert answer.headings[1] == "with LIMIT in the code, not resolved by the call graph"


@pytest.mark.parametrize("verb", ["extends", "conforms to", "adopts", "inherits from"])
def test_languages_have_different_words_for_inheritance(searcher: LiveSearcher, verb: str) -> None:
    assert leading(searcher.search(Query(f"what {verb} Animal"))) == [("class", "Lion")]


def test_what_an_inner_function_has_is_not_the_outer_ones(tmp_path: Path) -> None:
    long = "\n".join(f"  steps.push({number});" for number in range(80))
    inner = f"  function inner(steps) {{\n{long}\n    return zoom(LENS);\n  }}\n"
    loaded(
        tmp_path / "home",
        project(tmp_path / "zoo", {"view.js": f"function outer(steps) {{\n{inner}  return inner(steps);\n}}\n"}),
        read=ReadOptions(),
    )
    searcher = open_searcher(Settings(home=str(tmp_path / "home"), index=NAME, lane_timeout=30), once=True)
    answer = searcher.search(Query("what calls zoom"))
    assert answer.exact is not None
    assert answer.exact.unresolved_calls == 1
    assert answer.results[0].function.func_name == "outer.inner"
    searcher.close()
