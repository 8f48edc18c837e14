"""Phrases and regular expressions: what stands in a unit as written is found, nothing else. One suite, both engines."""

import time
from collections.abc import Iterator

import pytest

from tests.engine.functions import build, function
from treeline.corpus.errors import InputError
from treeline.engine.protocol import Engine, Filters, Store
from treeline.engine.text import required_literals

UNITS = (
    function(
        "decode",
        docstring="Raise when the property name is bad.",
        code="def decode(s):\n    raise ValueError('Expecting property name\\t enclosed in double quotes')\n",
    ),
    function("quote", code="def quote(s):\n    # Expecting   property\n    # name\n    return '\"' + s + '\"'\n"),
    function("get_backoff_time", code="def get_backoff_time(n):\n    return 2 ** n\n", path="src/retry.py"),
    function("Retry.sleep", code="def sleep(self):\n    time.sleep(self.get_backoff_time())\n", kind="method"),
    function("nap", code="def nap(self):\n    x = 1\n    time.sleep(get_backoff_time(3)[::-1])\n", repo="bob/tools"),
    function("größe", code="def größe(s):\n    return 'Über die Größe'\n", docstring="Über ALLES"),
)


@pytest.fixture
def exact(store: Store, name: str) -> Iterator[Engine]:
    build(store, name, UNITS)
    opened = store.open(name)
    yield opened


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("enclosed in double quotes", ["decode"]),
        ("ENCLOSED IN", []),
        ("Expecting property", ["quote", "decode"]),
        ("expecting  PROPERTY", []),
        ("expecting\tproperty", ["quote", "decode"]),
        ("xpecting proper", ["quote", "decode"]),
        ("property name is bad", ["decode"]),
        ("get_backoff_time", ["get_backoff_time", "Retry.sleep", "nap"]),
        ("backoff", ["get_backoff_time", "Retry.sleep", "nap"]),
        ("[::-1]", ["nap"]),
        ("2 ** n", ["get_backoff_time"]),
        ("Über die", ["größe"]),
        ("über alles", ["größe"]),
        ("raise ValueError('Expecting property name", ["decode"]),
        ("x = 1 time.sle", ["nap"]),
        ("return 'Über die Größe'", ["größe"]),
        ("when the property name is bad.", ["decode"]),
        ("nowhere to be found", []),
        ("  ", []),
    ],
)
def test_a_phrase_is_found_where_it_stands(exact: Engine, text: str, names: list[str]) -> None:
    assert [hit.address.func_name for hit in exact.phrase(text, 10)] == names


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        (r"sleep\(\w+\.get", ["Retry.sleep"]),
        (r"raise \w+Error\(", ["decode"]),
        (r"RAISE", []),
        (r"raise\s+VALUE", []),
        (r"\[(::|:)-\d\]", ["nap"]),
        (r"^def (nap|quote)\b", ["nap", "quote"]),
        (r"backof{2}_time\(n\)", ["get_backoff_time"]),
        (r"properties|double quotes", ["decode"]),
    ],
)
def test_a_regular_expression_is_found_where_it_matches(exact: Engine, pattern: str, names: list[str]) -> None:
    assert sorted(hit.address.func_name for hit in exact.regex(pattern, 10)) == sorted(names)


def test_exact_search_keeps_to_k_and_to_the_filters(exact: Engine) -> None:
    assert len(exact.phrase("def", 2)) == 2
    assert exact.phrase("def", 0) == []
    found = exact.phrase("get_backoff_time", 10, Filters(repo="bob/tools"))
    assert [hit.address.func_name for hit in found] == ["nap"]
    assert [hit.address.func_name for hit in exact.regex("sleep", 10, Filters(kind="method"))] == ["Retry.sleep"]


@pytest.mark.parametrize("pattern", ["(", "[", "*a", "a{2,1}", "(?P<x>a)(?P<x", "x" * 1_001, "\\"])
def test_a_bad_pattern_is_bad_input(exact: Engine, pattern: str) -> None:
    with pytest.raises(InputError):
        exact.regex(pattern, 10)


def test_a_pattern_that_explodes_is_stopped(store: Store, name: str) -> None:
    build(store, name, [function("f", code="def f():\n    return '" + "a" * 3_000 + "'\n")])
    engine = store.open(name)
    started = time.monotonic()
    assert len(engine.regex(r"(a|aa)+$|(a+)+b", 10)) == 0
    assert time.monotonic() - started < 60  # without a limit it takes years


@pytest.mark.parametrize(
    ("pattern", "literals"),
    [
        ("raise ValueError", ["raise", "valueerror"]),
        (r"foo\.bar\(\d+", ["foo.bar("]),
        ("colou?r", ["colo", "r"]),
        ("ab*c{2,3}d+e", ["a", "d", "e"]),
        ("foo|bar", []),
        ("x(foo|bar)y", ["x", "y"]),
        ("a[bc]d", ["a", "d"]),
        ("[]a]b", ["b"]),
        (r"a[^]b]cd", ["a", "cd"]),
        (r"a[\]b]cd", ["a", "cd"]),
        (r"load\.json", ["load.json"]),
        ("(ab)?cd", ["cd"]),
        ("(?x) foo  # comment", []),
        (r"\bname\b", ["name"]),
    ],
)
def test_only_what_every_match_contains_is_looked_up(pattern: str, literals: list[str]) -> None:
    assert required_literals(pattern) == literals


def test_a_name_is_not_found_across_two_that_stand_side_by_side(store: Store, name: str) -> None:
    build(store, name, [function(one, code=f"x = '{one} more'\n") for one in ("xab", "cab", "y", "abc_long_name")])
    engine = store.open(name)
    assert [hit.address.func_name for hit in engine.phrase("abc", 10)] == ["abc_long_name"]
    assert [hit.address.func_name for hit in engine.phrase("y", 10)] == ["y"]


@pytest.mark.parametrize("others", [5, 29, 30, 60])
def test_a_phrase_is_found_among_many_units_with_its_inner_words(store: Store, name: str, others: int) -> None:
    """However few or many have them: the words at its ends may be parts of longer ones."""
    near = [
        function(
            f"near_{number}",
            code=f"def near_{number}():\n    # reads all lines of paper {number}\n    return {number}\n",
        )
        for number in range(others)
    ]
    far = [
        function(name, code=f"def {name}():\n    # {'x' * 50} {text}\n    return 0\n")
        for name, text in (("whole", "read all lines of file"), ("longer", "unread all lines of filenames"))
    ]
    build(store, name, (*near, *far))
    exact = store.open(name)
    try:
        assert [hit.address.func_name for hit in exact.phrase("read all lines of file", 4)] == ["whole", "longer"]
        assert len(exact.phrase("read all lines of files", 4)) == 0
        found = [hit.address.func_name for hit in exact.phrase("reads all lines of pap", 100)]
        assert sorted(found) == sorted(one.func_name for one in near)
        assert len(exact.phrase("reads all lines of pap", 4)) == 4
    finally:
        exact.close()
