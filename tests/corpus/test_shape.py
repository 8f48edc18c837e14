"""A question's phrases for a shape become the terms that the parser gives to code of that shape."""

import pytest

from treeline.corpus import analysis
from treeline.corpus.analysis import read_query, split, terms, with_file


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("recursive function that walks a tree", ["~recursion"]),
        ("method that calls itself", ["~recursion"]),
        ("nested loops over a matrix", ["~nested-loops"]),
        ("a loop inside another loop", ["~nested-loops"]),
        ("three nested loops", ["~triple-loops", "~nested-loops"]),
        ("async handler", ["~async"]),
        ("retry with exponential backoff", ["~retries"]),
        ("functions that return early", ["~early-return"]),
        ("context manager for a temporary folder", ["~context"]),
        ("decorator for caching", ["~decorator"]),
        ("parser that raises ValueError", ["~raises", "~raises=valueerror"]),
        ("throws an IOException", ["~raises", "~raises=ioexception"]),
        ("catches json.JSONDecodeError", ["~catches", "~catches=jsondecodeerror"]),
        ("methods annotated with @Override", ["~decorated", "~decorated=override"]),
        ("reads the settings from a file", ["~reads-file"]),
        ("writes rows to a file", ["~writes-file"]),
        ("split by regular expression", ["~regex"]),
        ("sends an http request", ["~network"]),
        ("run it in a subprocess", ["~process"]),
        ("complex function with many branches", ["~complex"]),
    ],
)
def test_a_phrase_asks_for_a_shape(question: str, expected: list[str]) -> None:
    assert read_query(question)[1] == expected


@pytest.mark.parametrize(
    "question",
    ["read ini file", "save list to file", "random number generator", "http client", "handle errors", "returns a list"],
)
def test_a_topic_is_not_a_shape(question: str) -> None:
    assert read_query(question) == (question, [])


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("recursively walk the tree", ["walk", "tree"]),
        ("retry the upload", ["retri", "upload"]),  # names say it too
        ("generator function for lines", ["yield", "line"]),  # code says it so
    ],
)
def test_the_words_of_the_phrase_make_way_for_the_term_unless_names_or_code_say_them(
    question: str, words: list[str]
) -> None:
    assert terms(read_query(question)[0]) == words


def test_shape_terms_come_apart_from_the_words() -> None:
    assert split("walk tree ~recursion ~raises=oserror") == ("walk tree", "~recursion ~raises=oserror", "")
    assert split("walk tree") == ("walk tree", "", "")
    assert split("~recursion") == ("", "~recursion", "")


def test_the_words_of_a_file_are_those_of_its_units_and_come_last() -> None:
    assert split(with_file("walk ~recursion", ["walk ~recursion", "run"])) == ("walk", "~recursion", "walk run")
    assert set(split(with_file("walk", []))[2].split()) == {"_"}


def test_no_word_looks_like_a_shape_term() -> None:
    assert not any(term.startswith(analysis.MARK) for term in terms("~recursion x=~y `~raises=oserror`"))
