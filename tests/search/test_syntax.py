"""Questions taken apart: filters and excluded words are found, and code that looks like them is left alone."""

import pytest

from tests.search.small_index import plan_for
from treeline.corpus.errors import InputError
from treeline.engine.protocol import Filters
from treeline.search.query import Parts, Query, parse


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("repo:python rmtree", Parts("rmtree", Filters(repo="python"))),
        ("read lang:go a file", Parts("read a file", Filters(language="go"))),
        ("copy Language:Python", Parts("copy", Filters(language="Python"))),
        ('copy path:"my code/"', Parts("copy", Filters(path="my code/"))),
        ("copy file:shutil.py repo:python", Parts("copy", Filters(repo="python", file="shutil.py"))),
        ("copy -path:docs/,tests/ -lang:go", Parts("copy", Filters(language="-go", path="-docs/,-tests/"))),
        ("copy lang:go lang:rust,c ext:py", Parts("copy", Filters(language="go,rust,c", ext="py"))),
        ('copy path:"a, b/" file:*.py', Parts("copy", Filters(path="a\\, b/", file="*.py"))),
        ("copy role:Tests -role:docs", Parts("copy", Filters(role="Tests,-docs"))),
        ("parse json -xml", Parts("parse json", excluded_words=("xml",))),
        ("-xml parse -yaml json", Parts("parse json", excluded_words=("xml", "yaml"))),
        ('parse json -"xml file" -utf-8', Parts("parse json", excluded_words=("xml file", "utf-8"))),
        ("kind:class,interface session", Parts("session", Filters(kind="class,interface"))),
        ("file:shutil.py", Parts("", Filters(file="shutil.py"))),
    ],
)
def test_filters_and_excluded_words_are_taken_out(text: str, parts: Parts) -> None:
    assert parse(text) == parts


@pytest.mark.parametrize(
    "text",
    [
        "dict: str",
        "kind: a word",
        "std::sort",
        "http://example.org/path:80",
        "lambda x: x",
        "error: no such file",
        "file: not found",
        "path::join",
        "role:admin",
        "open file:///etc/hosts",
        "decode utf-8",
        "multiply by -1",
        "a - b",
        "ls -l",
        "parse --verbose",
        "x->y",
        'find "-name foo" option',
        "`repo:python`",
        '"repo:python"',
        "f(path:str)",
        "repo:",
        "what does  two blanks\nmean",
    ],
)
def test_code_and_prose_are_words(text: str) -> None:
    assert parse(text)._replace(phrases=()) == Parts(text)


@pytest.mark.parametrize(
    ("text", "phrases", "regex"),
    [
        ('"no such file"', ("no such file",), ""),
        ('raise "no such file" "in  here"', ("no such file", "in  here"), ""),
        (r'"a \"quoted\" word"', ('a "quoted" word',), ""),
        (r'"c:\temp"', (r"c:\temp",), ""),
        ('it"s a "!" mark', (), ""),
        (r"/def \w+_url\(/", (), r"def \w+_url\("),
        (r"parse /a -b repo:c\/d/ url", (), r"a -b repo:c\/d"),
        ("read / write / close", (), ""),
        ("either/or", (), ""),
        ("`/x/`", (), ""),
        ('retry /a+b/ "c d"', ("c d",), "a+b"),
        ('"a.b c" OR /d+/', (), r"(?:a\.b\s+c)|(?:d+)"),
        ('find "a b" OR "c" "d e"', ("d e",), r"(?:a\s+b)|(?:c)"),
        ('cookie OR "session id"', (), ""),
    ],
)
def test_what_must_be_in_every_result_is_quoted_or_between_slashes(
    text: str, phrases: tuple[str, ...], regex: str
) -> None:
    parts = parse(text)
    assert (parts.phrases, parts.regex) == (phrases, regex)


def test_a_regular_expression_is_no_word() -> None:
    assert parse(r"parse /a -b/ url").words == "parse url"
    assert parse(r"parse /a -b/ -url").text == "parse /a -b/ -url"


def test_the_question_can_be_asked_again_without_its_filters() -> None:
    assert parse('parse repo:a -xml -"a b"').text == 'parse -xml -"a b"'


def test_filters_beside_the_question_are_combined_with_those_in_it() -> None:
    plan = plan_for(Query("read repo:flask -csv", filters=Filters(language="python", repo="flask")))
    assert (plan.text, plan.excluded) == ("read", ("csv",))
    assert plan.filters == Filters(language="python", repo="flask")
    assert plan.narrowing_text == "only language python, repo flask; without “csv”"


def test_what_has_one_of_several_values_passes() -> None:
    plan = plan_for(Query("read lang:js lang:go,python -role:tests", filters=Filters(language="rust")))
    assert plan.filters == Filters(language="rust,javascript,go,python", role="-test")
    assert plan.narrowing_text == "only language rust or javascript or go or python; not role test"


def test_a_second_regular_expression_is_refused() -> None:
    with pytest.raises(InputError, match=r"/b/: a query has one regular expression"):
        parse("/a/ /b/")


def test_filters_alone_are_no_question() -> None:
    with pytest.raises(InputError, match=r"no word to look for \(only repo python; without “xml”\)"):
        plan_for(Query("repo:python -xml"))


def test_a_literal_query_has_no_syntax() -> None:
    plan = plan_for(Query("read repo:flask -csv", literal=True))
    assert (plan.text, plan.filters, plan.excluded) == ("read repo:flask -csv", Filters(), ())
