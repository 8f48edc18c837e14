"""The shape of functions, where it depends on more than one text; every language has its fixtures."""

import pytest

from tests.ingest.parsers.parsing import parse
from treeline.ingest.parsers.outline import outline
from treeline.ingest.parsers.registry import grammars
from treeline.ingest.source import ReadOptions
from treeline.ingest.sources.records import parse_records

WALK = "def walk(n):\n    for c in n.kids:\n        for d in c.kids:\n            walk(d)\n"


def shapes(suffix: str, source: str) -> dict[str, set[str]]:
    """The shape terms of each function of a file."""
    parsed = parse(f"file{suffix}", source.encode())
    terms: dict[str, set[str]] = {}
    for unit in parsed.functions:  # several where a name is overloaded
        terms.setdefault(unit.func_name, set()).update(parsed.shapes.get(unit.id, "").split())
    return terms


@pytest.mark.parametrize(
    ("parameters", "arguments"),
    [
        ("", ""),
        ("int x", "x - 1"),
        ("int x", "other(x, 1)"),
        ("int x, int y", "x, other(y, 1, 2)"),
        ("int x, List<Map<A, B>> y", "new int[]{1, 2}, y"),
        ("List<Map<A, B>> y", "x < 1"),
    ],
)
def test_a_call_with_as_many_arguments_as_parameters_is_recursion(parameters: str, arguments: str) -> None:
    code = "class A { int f(%s) { if (done()) { return 1; } return f(%s); } }"
    assert "~recursion" in shapes(".java", code % (parameters, arguments))["A.f"]
    assert "~recursion" not in shapes(".java", code % (parameters, arguments + ", 7" if arguments else "7"))["A.f"]


def test_a_stored_function_has_the_shape_that_it_has_in_its_file() -> None:
    record = {"repo": "a/b", "path": "c.py", "func_name": "walk", "code": WALK, "language": "python"}
    parsed = parse_records([(1, record)], "c.jsonl", {}, ReadOptions())
    (function,) = parsed.functions
    assert set(parsed.shapes[function.id].split()) == shapes(".py", WALK)["walk"]


def test_every_grammar_can_be_asked_for_shapes() -> None:
    for name in grammars():
        assert outline(grammars()[name], b"").definitions == ()


def test_a_function_of_ten_decisions_is_complex() -> None:
    source = "def few(x):\n" + "    if x: x += 1\n" * 9 + "\ndef many(x):\n" + "    if x: x += 1\n" * 10
    found = shapes(".py", source)
    assert "~complex" in found["many"]
    assert "~complex" not in found["few"]


@pytest.mark.parametrize(
    ("returned", "makes"),
    [("lambda x: go(x)", True), ("inner", True), ("(inner)", True), ("go(inner)", False), ("outer", False)],
)
def test_a_function_that_returns_one_it_makes_is_a_decorator(returned: str, makes: bool) -> None:
    source = f"def wrap(go):\n    def inner(x):\n        return x\n    outer = go\n    return {returned}\n"
    assert ("~decorator" in shapes(".py", source)["wrap"]) is makes
