"""Exact text: a quoted phrase or a regular expression stands in every result, and a quotation is found first."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.search.small_index import NAME, parsed, publish, shipped
from treeline.corpus.errors import InputError
from treeline.engine.embedded import EmbeddedStore
from treeline.engine.embedded.engine import EmbeddedEngine
from treeline.engine.hits import Hits
from treeline.search.answer import Answer
from treeline.search.lanes.words import fragments, says
from treeline.search.plan import EXACT
from treeline.search.query import Query
from treeline.search.searcher import Searcher

FILES = {
    "app/names.py": '''
def property_name(text):
    """Read a property name enclosed in double quotes, expecting one."""
    return text

def expect(text):
    raise ValueError("Expecting property name enclosed in double quotes")

def expect_value(text):
    raise ValueError("Expecting value")

def cannot(text):
    raise ValueError('can\\'t open this file now')

def quoted(text):
    raise ValueError('the word "json" is not a name')

def Mixed(text):
    raise ValueError("Expecting VALUE at once")
''',
    "app/more.py": "".join(
        f"def enclosed_{n}(text):\n    'Property names in double quotes are expected enclosed'\n    return {n}\n"
        for n in range(20)
    ),
}


@pytest.fixture(scope="module")
def searcher(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Searcher]:
    store = EmbeddedStore(Path(tmp_path_factory.mktemp("home")))
    publish(store, *parsed(FILES))
    made = Searcher(store.open(NAME), {shipped().name: shipped()})
    yield made
    made.close()


def names(answer: Answer) -> list[str]:
    return [result.function.func_name for result in answer.results]


@pytest.mark.parametrize("mode", ["hybrid", "keyword", "dense"])
def test_a_quoted_phrase_stands_in_every_result(searcher: Searcher, mode: str) -> None:
    answer = searcher.search(Query('"property name enclosed in double quotes"', mode=mode))
    assert set(names(answer)) == {"expect", "property_name"}
    assert answer.total == 2 and not answer.no_match


def test_two_phrases_stand_in_every_result(searcher: Searcher) -> None:
    assert names(searcher.search(Query('"double quotes" "Expecting property"'))) == ["expect"]


def test_a_phrase_beside_words_only_narrows(searcher: Searcher) -> None:
    answer = searcher.search(Query('"raise ValueError" property name'))
    assert names(answer)[0] == "expect"
    assert "property_name" not in names(answer) and len(names(answer)) == 5


@pytest.mark.parametrize(
    ("question", "missing"),
    [
        ('"property names encloses"', "“property names encloses”"),
        ('"Expecting value" "double quotes"', "“Expecting value” or “double quotes” together"),
        ('how is a "property names encloses" read', "“property names encloses”"),
    ],
)
def test_where_nothing_contains_a_phrase_that_is_all_the_answer(
    searcher: Searcher, question: str, missing: str
) -> None:
    answer = searcher.search(Query(question))
    assert not answer.results and answer.total == 0
    said = f"nothing here contains {missing}; without the quotes, what has some of its words is found"
    assert answer.hints == (said,)


def test_a_regular_expression_matches_every_result(searcher: Searcher) -> None:
    assert set(names(searcher.search(Query(r"/Expecting [a-z]+\"/")))) == {"expect_value"}
    answer = searcher.search(Query(r"/Expecting [a-z]+/ double quotes"))
    assert names(answer)[0] == "expect" and set(names(answer)) == {"expect", "expect_value"}


def test_a_regular_expression_that_matches_nothing_is_said(searcher: Searcher) -> None:
    answer = searcher.search(Query("/nothing_like_[xyz]this/"))
    assert not answer.results and answer.hints == ("nothing here contains /nothing_like_[xyz]this/",)


def test_a_broken_regular_expression_is_bad_input(searcher: Searcher) -> None:
    with pytest.raises(InputError, match=r"/\(a/ is no regular expression"):
        searcher.search(Query("/(a/"))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Expecting property name enclosed in double quotes", "expect"),
        ("can't open this file now", "cannot"),
        ('the word "json" is not a name', "quoted"),
    ],
)
def test_a_quotation_is_found_first_without_quotes(searcher: Searcher, text: str, name: str) -> None:
    answer = searcher.search(Query(text))
    assert names(answer)[0] == name
    assert len(answer.results) > 1  # the rest follows


def test_a_changelog_does_not_lead_an_unquoted_question(tmp_path: Path) -> None:
    subject = "Retry a request whose connection was reset"
    code, facts = parsed(
        {"app/client.py": 'def send(request):\n    """Send again when the peer hung up."""\n    return request\n'}
    )
    notes = [
        replace(
            code[0], path=path, func_name="2.0", docstring=f"- {subject}", code="", language="markdown", kind="section"
        )
        for path in ("CHANGELOG.md", "docs/errors.md")
    ]
    store = EmbeddedStore(tmp_path)
    publish(store, [*code, *notes], facts)
    searcher = Searcher(store.open(NAME), {shipped().name: shipped()})

    def leading(text: str) -> set[str]:
        found = searcher.search(Query(text)).results
        lanes = {one.function.path: {given.lane for given in one.candidate.contributions} for one in found}
        return {path for path, given in lanes.items() if "exact" in given}

    assert leading(subject) == {"docs/errors.md"}
    assert leading(f'"{subject}"') == {"CHANGELOG.md", "docs/errors.md"}
    searcher.close()


def test_a_few_words_that_a_document_has_too_are_no_quotation(tmp_path: Path) -> None:
    code, facts = parsed({"app/paths.py": "def join(base, rest):\n    return base + rest\n"})
    section = replace(
        code[0],
        path="README.md",
        func_name="Guide > Relative and absolute paths",
        docstring="How relative and absolute paths differ. Log requests and responses before you look any further.",
        code="",
        language="markdown",
        kind="section",
    )
    store = EmbeddedStore(tmp_path)
    publish(store, [*code, section], facts)
    searcher = Searcher(store.open(NAME), {shipped().name: shipped()})

    def leads(text: str) -> bool:
        lanes = [given.lane for one in searcher.search(Query(text)).results for given in one.candidate.contributions]
        return EXACT in lanes

    assert not leads("log requests and responses")
    assert leads("log requests and responses before you look")
    assert leads("relative and absolute paths")  # a heading
    searcher.close()


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("def run(self):\n    # the connection pool state machine\n    return 1", False),
        ("def run(self):\n    fail(1)  # see connection pool state machine", False),
        ('def run(self):\n    fail("no connection pool state machine")', True),
        ("def run(self):\n    fail('the connection pool\\n' 'Connection pool  state machine')", True),
    ],
)
def test_a_few_words_are_a_quotation_of_a_message_and_not_of_a_comment(code: str, expected: bool) -> None:
    unit = replace(parsed({"a.py": "def run(self):\n    return 1\n"})[0][0], code=code, docstring="")
    assert says(unit, "connection pool state machine") is expected
    assert says(replace(unit, docstring="The connection pool\nstate machine."), "connection pool state machine")


@pytest.mark.parametrize(
    ("printed", "found"),
    [
        ("failed to get log at index 42: log not found", ["failed to get log at index"]),
        ("java.lang.Error: Can't copy a folder into itself: /a/b is inside /a", ["Can't copy a folder into itself:"]),
        ("tool: version `3.1' is not installed (set by /home/me/.version)", ["is not installed (set by"]),
        ("how are retries delayed after an error", []),
        ("read 10 bytes", []),
    ],
)
def test_a_printed_message_is_cut_at_its_values(printed: str, found: list[str]) -> None:
    assert fragments(printed) == found


def test_a_message_is_found_as_it_was_printed(tmp_path: Path) -> None:
    found = "failed to get log at index {index}"
    files = {
        "store/read.py": f"def read(index):\n    raise KeyError(f'{found}: {{reason(index)}}')\n",
        "store/log.py": 'def log(index):\n    """Get the log at an index: log 42 not found."""\n    return "failed"\n',
        "store/index.py": 'def index_of(log):\n    """The index of a log that was not found."""\n    return 42\n',
    }
    store = EmbeddedStore(tmp_path)
    publish(store, *parsed(files))
    searcher = Searcher(store.open(NAME), {shipped().name: shipped()})
    assert names(searcher.search(Query("failed to get log at index 42: log not found")))[0] == "read"
    searcher.close()


def test_four_words_may_be_a_quotation_and_three_may_not(searcher: Searcher) -> None:
    assert EXACT in searcher.plan(Query("nothing of the kind")).lanes
    assert EXACT not in searcher.plan(Query("nothing like it")).lanes


def test_what_stands_in_many_places_is_no_quotation(searcher: Searcher) -> None:
    text = "Property names in double quotes are expected enclosed"
    answer = searcher.search(Query(text))
    assert all(one.lane != "exact" for result in answer.results for one in result.candidate.contributions)


def test_quotes_around_a_symbol_of_a_structural_question_only_mark_it(searcher: Searcher) -> None:
    assert searcher.search(Query('what calls "expect"')).exact is not None


def test_a_word_inside_quotes_is_not_corrected(searcher: Searcher) -> None:
    answer = searcher.search(Query('"a proprety name" proprety'))
    assert answer.corrections.words in ((), (("proprety", "property"),))
    assert '"a proprety name"' in answer.corrections.text


def test_a_search_that_ran_out_of_time_is_said_not_to_be_all(
    searcher: Searcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    regex = type(searcher.engine).regex

    def hurried(engine: EmbeddedEngine, *asked: Any) -> Any:
        hits: Any = regex(engine, *asked)
        return Hits(hits.table, hits.rows, hits.scores, complete=False)

    none = Hits(*_none(searcher), complete=False)
    monkeypatch.setattr(type(searcher.engine), "regex", hurried)
    found = searcher.search(Query(r"/Expecting [a-z]+\"/"))
    assert names(found) == ["expect_value"]
    assert found.hints == (r"looking for /Expecting [a-z]+\"/ took too long: there may be more",)
    monkeypatch.setattr(type(searcher.engine), "regex", lambda *_: none)
    nothing = searcher.search(Query("/no_such_thing/ value"))
    assert nothing.hints == ("nothing here contains /no_such_thing/ (as far as could be looked in time)",)


def _none(searcher: Searcher) -> tuple[Any, Any, Any]:
    hits = searcher.engine.regex("Expecting", 1)
    assert isinstance(hits, Hits)
    return hits.table, hits.rows[:0], hits.scores[:0]
