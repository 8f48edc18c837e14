"""Structural questions: the graph's exact answer leads the list, is counted and said, and the rest is told from it."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from time import sleep
from typing import Any

import pytest

from tests.graph.parsed import parse
from tests.search.small_index import FILES, NAME, parsed, publish, shipped, small_store
from treeline.corpus.function import Function
from treeline.engine.protocol import Filters
from treeline.graph.callgraph import CallGraph, Step
from treeline.search.answer import Answer
from treeline.search.lanes import graph as graph_lane
from treeline.search.lanes.graph import calls_in, relation_of
from treeline.search.query import Query
from treeline.search.searcher import Searcher
from treeline.search.structural_answer import REST

MORE = {
    "web/shapes.py": """
class Shape:
    def area(self):
        return 0

class Square(Shape):
    def area(self):
        return self.side ** 2

def unit():
    class Unit(Square):
        pass
    return Unit()

class Circle(Shape):
    pass

class Borrowed(library.Unknown):
    def borrow(self):
        return 1

def total(shapes):
    return sum(shape.area() for shape in shapes)
""",
    "setup.py": """
from web.url import normalise

normalise("https://example.org")
""",
}


@pytest.fixture(scope="module")
def searcher(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Searcher]:
    store = small_store(tmp_path_factory.mktemp("exact"))
    publish(store, *parsed(FILES | MORE))
    searcher = Searcher(store.open(NAME), {shipped().name: shipped()})
    yield searcher
    searcher.close()


def found(answer: Answer) -> list[str]:
    return [result.function.func_name for result in answer.results]


def function(code: str) -> Function:
    return parsed({"a.py": f"{code}\n"})[0][0]


def leading(answer: Answer) -> list[str]:
    return found(answer)[: answer.exact_results]


@pytest.mark.parametrize(
    ("question", "said", "functions"),
    [
        (
            "what calls parse_url",
            "1 function is known to call the parse_url defined in this index",
            ["Client.send"],
        ),
        (
            "what does fetch_page call",
            "fetch_page is known to call 1 function of this index; also Client",
            ["Client.send"],
        ),
        (
            "what calls normalise",
            "1 function is known to call the normalise defined in this index; also the top level of setup.py",
            ["join_url"],
        ),
        (
            "what extends Unknown",
            "no class called Unknown in this index; 1 class names a base of that name: Borrowed",
            [],
        ),
        ("what calls fetch_page", "no function is known to call the fetch_page defined in this index", []),
        (
            "what changes if I touch parse_url",
            "2 functions are known to depend on the parse_url defined in this index",
            ["Client.send", "fetch_page"],
        ),
        (
            "what extends Shape",
            "2 classes are known to extend or implement the Shape defined in this index: Square, Circle",
            ["Square.area"],
        ),
        (
            "what extends Square",
            "1 class is known to extend or implement the Square defined in this index: a class in unit",
            ["unit"],
        ),
        (
            "what calls area",
            "no function is known to call any of the 2 area defined in this index; 1 function has area( in the code",
            [],
        ),
        (
            "what does Square extend",
            "Square is known to extend or implement 1 class of this index: Shape",
            ["Shape.area"],
        ),
    ],
)
@pytest.mark.parametrize("rerank", ["default", "algorithm1", "none"])
@pytest.mark.parametrize("fusion", ["default", "rrf"])
def test_the_exact_answer_is_said_and_leads_the_list(
    searcher: Searcher, question: str, said: str, functions: list[str], rerank: str, fusion: str
) -> None:
    answer = searcher.search(Query(question, rerank=rerank, fusion=fusion))
    assert answer.exact is not None
    assert answer.exact.sentence == said
    assert sorted(leading(answer)) == functions
    relations = [relation_of(result.candidate) for result in answer.results]
    following = relations[answer.exact_results :]
    assert "" not in relations[: answer.exact_results]
    assert following == ["unresolved"] * answer.exact.unresolved_calls + [""] * (
        len(following) - answer.exact.unresolved_calls
    )


def test_a_class_and_the_constructor_of_its_name_are_one_definition(tmp_path: Path) -> None:
    code = "class Cache {\n  public Cache(int most) { }\n  static Cache small() { return new Cache(8); }\n}\n"
    functions, facts = parse("Cache.java", code, "java")
    store = small_store(tmp_path)
    publish(store, functions, [facts])
    searcher = Searcher(store.open(NAME), {shipped().name: shipped()})
    for question, said in [
        ("subclasses of Cache", "no class is known to extend or implement the Cache defined in this index"),
        ("what calls Cache", "1 function is known to call the Cache defined in this index"),
    ]:
        answer = searcher.search(Query(question))
        assert answer.exact is not None
        assert answer.exact.definitions == 1
        assert answer.exact.sentence == said
    searcher.close()


def test_a_function_is_no_class_that_something_could_extend(searcher: Searcher) -> None:
    answer = searcher.search(Query("subclasses of parse_url"))
    assert answer.exact is not None
    assert (answer.exact.definitions, answer.exact.sentence) == (0, "no class called parse_url in this index")


def test_an_unknown_symbol_is_said_with_names_like_it(searcher: Searcher) -> None:
    answer = searcher.search(Query("who calls parse_urll"))
    assert answer.exact is not None
    assert answer.exact.sentence == "no function called parse_urll in this index; near it: parse_url"
    assert (answer.exact_results, answer.results) == (0, ())  # nothing that only has pieces of the name
    other = searcher.search(Query("who implements FlyingMachine"))
    assert other.exact is not None
    assert other.exact.sentence == "no class called FlyingMachine in this index"


def test_calls_of_a_library_are_found_as_they_are_written(searcher: Searcher) -> None:
    answer = searcher.search(Query("who calls sleep"))
    assert answer.exact is not None
    assert answer.exact.sentence == "no function called sleep in this index; 1 function has sleep( in the code"
    assert (answer.exact.found, answer.exact_results, answer.exact.unresolved_calls) == (0, 0, 1)
    assert answer.results[0].function.func_name == "retry_with_backoff"
    assert [relation_of(one.candidate) for one in answer.results] == ["unresolved"]


def test_calls_that_were_not_resolved_follow_those_that_were(searcher: Searcher) -> None:
    answer = searcher.search(Query("what calls open"))
    assert answer.exact is not None
    assert answer.exact.sentence == (
        "1 function is known to call the open defined in this index; 1 more function has open( in the code"
    )
    assert found(answer)[:2] == ["Client.send", "read_csv"]  # of its own class, and the built-in one
    assert answer.headings == {2: "with open( in the code, not resolved by the call graph", 3: REST}
    assert searcher.search(Query("what calls parse_url")).headings == {2: REST}
    assert searcher.search(Query("parse_url")).headings == {}


@pytest.mark.parametrize("fusion", ["default", "rrf", "intersection"])
def test_of_a_name_from_elsewhere_only_calls_are_listed_those_in_tests_last(tmp_path: Path, fusion: str) -> None:
    noise = "".join(f"def rmtree_{number}():\n    'rmtree rmtree rmtree'\n    return 1\n" for number in range(9))
    calls = "".join(f"def clean_{number}(shutil):\n    shutil.rmtree({number})\n" for number in range(9))
    store = small_store(tmp_path)
    tests = "def test_cleaning(shutil):\n    shutil.rmtree(1)\n    shutil.rmtree(2)\n"
    publish(store, *parsed({"noise.py": noise, "calls.py": calls, "tests/test_calls.py": tests}))
    searcher = Searcher(store.open(NAME), {shipped().name: shipped()})
    answer = searcher.search(Query("what calls rmtree", k=18, fusion=fusion))
    assert [relation_of(result.candidate) for result in answer.results] == ["unresolved"] * 10
    assert answer.results[9].function.func_name == "test_cleaning" and answer.exact is not None
    assert answer.exact.sentence.endswith("; 9 functions have rmtree( in the code, and 1 in tests")
    searcher.close()


def test_a_definition_does_not_call_itself_and_a_longer_name_is_another() -> None:
    assert calls_in(function("def send(x):\n    return send(x - 1)"), "send")
    assert not calls_in(function("def send(x):\n    return x"), "send")
    assert not calls_in(function("def post(x):\n    return resend(x), sender(x), send"), "send")
    assert calls_in(function("def post(x):\n    return x.send (1)"), "send")
    assert not calls_in(function("def post(x):\n    return x.send(1)"), "json.send")


def test_a_name_with_a_mark_is_called_without_brackets() -> None:
    post = replace(function("def post(x): pass"), code="def post(x)\n  send! x if x.valid? && x.size!=1\nend")
    assert calls_in(post, "valid?") and calls_in(post, "send!")
    assert not calls_in(post, "size!") and not calls_in(post, "send")
    assert not calls_in(replace(post, func_name="Post.valid?", code="def valid?\n  true\nend"), "valid?")


def test_filters_hold_for_the_exact_answer_too(searcher: Searcher) -> None:
    answer = searcher.search(Query("what calls normalise", filters=Filters(path="text/")))
    assert answer.exact is not None
    assert answer.exact.sentence == (
        "no function that passes the filters is known to call the normalise defined in this index"
    )


def test_a_relation_is_named_from_the_side_of_the_result(searcher: Searcher) -> None:
    called = searcher.search(Query("what does fetch_page call", k=1)).results[0]
    assert relation_of(called.candidate) == "called"
    around = searcher.search(Query("parse_url", k=1)).results[0]
    assert relation_of(around.candidate) == "definition"


@pytest.mark.parametrize("query", [Query("download a web page"), Query("what calls parse_url", mode="keyword")])
def test_there_is_none_where_the_graph_was_not_asked(searcher: Searcher, query: Query) -> None:
    assert searcher.search(query).exact is None


def test_pages_of_an_exact_answer_put_together_are_the_list(searcher: Searcher) -> None:
    question = Query("what changes if I touch parse_url")
    whole = searcher.search(question).results
    paged = [searcher.search(replace(question, k=1, offset=place)).results[0] for place in range(len(whole))]
    assert [one.function.id for one in paged] == [one.function.id for one in whole]


def test_the_graph_is_walked_once_and_every_part_of_the_time_is_told(
    searcher: Searcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    walks = []
    walk = CallGraph.walk

    def slowly(graph: CallGraph, *how: Any) -> list[Step]:
        walks.append(how)
        sleep(0.05)
        return walk(graph, *how)

    monkeypatch.setattr(CallGraph, "walk", slowly)
    times = searcher.search(Query("what calls parse_url")).timings
    assert len(walks) == 1
    stages = sum(times[stage] for stage in ("plan", "waited", "lanes", "fusion", "rerank", "fetch"))
    assert times["graph"] > 50
    assert stages == pytest.approx(times["total"], abs=20)


def test_an_answer_longer_than_its_list_says_how_many_are_listed(
    searcher: Searcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph_lane, "MOST_LISTED", 1)
    answer = searcher.search(Query("what changes if I touch parse_url"))
    assert answer.exact is not None
    assert answer.exact_results == 1
    assert answer.exact.sentence == (
        "2 functions are known to depend on the parse_url defined in this index; the first 1 are listed"
    )


def test_what_is_beyond_a_cut_list_is_not_counted_again_as_written(
    searcher: Searcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph_lane, "MOST_LISTED", 0)
    answer = searcher.search(Query("what calls open"))
    assert answer.exact is not None
    assert (answer.exact.found, answer.exact.functions, answer.exact.unresolved_calls) == (1, 0, 0)


def test_a_complete_answer_is_longer_than_what_a_lane_brings(tmp_path_factory: pytest.TempPathFactory) -> None:
    callers = "\n".join(f"def caller_{number}():\n    return helper_of_all()\n" for number in range(350))
    store = small_store(tmp_path_factory.mktemp("many"))
    publish(store, *parsed({"many.py": f"def helper_of_all():\n    return 1\n\n{callers}"}))
    searcher = Searcher(store.open(NAME), {shipped().name: shipped()})
    answer = searcher.search(Query("what calls helper_of_all", k=50, offset=300))
    assert answer.exact is not None
    assert answer.exact.sentence == "350 functions are known to call the helper_of_all defined in this index"
    assert [relation_of(result.candidate) for result in answer.results] == ["calls"] * 50
    searcher.close()


def test_callers_of_callers_are_found_and_said_to_be_further_away(searcher: Searcher) -> None:
    answer = searcher.search(Query("callers of callers of parse_url"))
    assert answer.exact is not None and answer.exact.depth == 2
    assert {"Client.send", "fetch_page"} <= set(leading(answer))
    assert (
        "2 functions are known to call (over at most 2 calls) the parse_url defined in this index"
        in answer.exact.sentence
    )


def test_tests_of_a_function_are_its_users_that_are_tests(tmp_path: Path) -> None:
    store = small_store(tmp_path)
    tested = "from web.url import parse_url\n\ndef test_splits():\n    assert parse_url('a://b') == ('a', 'b')\n"
    publish(store, *parsed(FILES | {"tests/test_url.py": tested}))
    searcher = Searcher(store.open(NAME), {shipped().name: shipped()})
    answer = searcher.search(Query("tests of parse_url"))
    assert leading(answer) == ["test_splits"]
    assert answer.exact is not None
    assert answer.exact.sentence == "1 test is known to use the parse_url defined in this index"
    searcher.close()


RUBY = """
class Record
  def valid?
    errors.empty?
  end

  def save
    valid? && write(1)
  end

  def save!
    raise Invalid unless self.save
  end

  def import
    save!
  end

  def write(row)
    true
  end
end
"""


@pytest.mark.parametrize(
    ("question", "callers"),
    [
        ("what calls valid?", ["Record.save"]),
        ("what calls save!", ["Record.import"]),
        ("what calls save?", ["Record.save!"]),
        ("who uses valid?", ["Record.save"]),
        ("who uses write", ["Record.save"]),
    ],
)
def test_ruby_names_that_end_in_a_mark_are_found(tmp_path: Path, question: str, callers: list[str]) -> None:
    store = small_store(tmp_path)
    functions, facts = parse("record.rb", RUBY, "ruby", "owner/repo")
    publish(store, functions, [facts])
    searcher = Searcher(store.open(NAME), {shipped().name: shipped()})
    assert leading(searcher.search(Query(question))) == callers
    searcher.close()
