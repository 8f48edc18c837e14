"""The shape of functions, in every language that is read in depth."""

from __future__ import annotations

from textwrap import dedent

import pytest

from treeline.ingest.parsers.registry import by_suffix, grammars
from treeline.ingest.parsers.units import FileLocation, parse_file
from treeline.ingest.source import MAX_FUNCTION_BYTES, ReadOptions
from treeline.ingest.sources.records import parse_records

WALKS = {
    ".py": "def walk(n):\n    for c in n.kids:\n        for d in c.kids:\n            walk(d)\n",
    ".java": "class A { void walk(N n) { for (N c : n.kids) { for (N d : c.kids) { walk(d); } } } }",
    ".go": "package a\nfunc walk(n N) { for _, c := range n.kids { for _, d := range c.kids { walk(d) } } }\n",
    ".js": "function walk(n) { for (const c of n.kids) { for (const d of c.kids) { walk(d); } } }",
    ".ts": "class A { walk(n: N) { for (const c of n.kids) { while (c.next()) { this.walk(c); } } } }",
    ".c": "void walk(N *n) { for (int i = 0; i < 3; i++) { while (n->x) { walk(n->kids[i]); } } }",
    ".cpp": "void walk(N n) { for (auto c : n.kids) { for (auto d : c.kids) { walk(d); } } }",
    ".rs": "fn walk(n: N) { for c in n.kids { for d in c.kids { walk(d); } } }",
    ".cs": "class A { void Walk(N n) { foreach (var c in n.Kids) { foreach (var d in c.Kids) { Walk(d); } } } }",
    ".kt": "fun walk(n: N) { for (c in n.kids) { for (d in c.kids) { walk(d) } } }",
    ".php": "<?php\nfunction walk($n) { foreach ($n->kids as $c) { foreach ($c->kids as $d) { walk($d); } } }",
    ".rb": "def walk(n)\n  n.kids.each do |c|\n    c.kids.each do |d|\n      walk(d)\n    end\n  end\nend\n",
}
FAILS = {
    ".py": "def f(x):\n    try:\n        return g(x)\n    except KeyError:\n        raise ValueError(x)\n",
    ".java": "class A { int f(int x) { try { return g(x); } catch (KeyError e) { throw new ValueError(e); } } }",
    ".js": "function f(x) { try { return g(x); } catch (e) { throw new ValueError(e); } }",
    ".ts": "function f(x: X) { try { return g(x); } catch (e) { throw new ValueError(e); } }",
    ".cpp": "int f(int x) { try { return g(x); } catch (const KeyError& e) { throw ValueError(e); } }",
    ".cs": "class A { int F(int x) { try { return G(x); } catch (KeyError e) { throw new ValueError(e); } } }",
    ".kt": "fun f(x: Int): Int { try { return g(x) } catch (e: KeyError) { throw ValueError(e) } }",
    ".php": "<?php\nfunction f($x) { try { return g($x); } catch (KeyError $e) { throw new \\Some\\ValueError($e); } }",
    ".rb": "def f(x)\n  g(x)\nrescue KeyError\n  raise ValueError, x\nend\n",
}


def shapes(suffix: str, source: str) -> dict[str, set[str]]:
    """The shape terms of each function of a file."""
    place = FileLocation("owner/name", f"src/file{suffix}", "", "")
    parsed = parse_file(by_suffix()[suffix], dedent(source).encode(), place, "file", MAX_FUNCTION_BYTES)
    assert not parsed.problems
    found: dict[str, set[str]] = {}
    for one in parsed.functions:  # several where a name is overloaded
        found.setdefault(one.func_name, set()).update(parsed.shapes.get(one.id, "").split())
    return found


@pytest.mark.parametrize("suffix", WALKS)
def test_recursion_and_nested_loops_are_seen_in(suffix: str) -> None:
    found = set().union(*shapes(suffix, WALKS[suffix]).values())
    assert {"~recursion", "~nested-loops"} <= found
    assert "~triple-loops" not in found


@pytest.mark.parametrize("suffix", FAILS)
def test_what_is_raised_and_caught_is_seen_in(suffix: str) -> None:
    found = set().union(*shapes(suffix, FAILS[suffix]).values())
    assert {"~raises", "~raises=valueerror", "~catches"} <= found
    if "KeyError" in FAILS[suffix]:
        assert "~catches=keyerror" in found


def test_every_shape_of_a_python_function_is_seen() -> None:
    found = shapes(
        ".py",
        """
        async def load(url):
            if not url:
                return None
            for attempt in range(3):
                try:
                    with open(url) as lines:
                        return re.match("a+", await lines.read())
                except OSError:
                    time.sleep(attempt)
            return subprocess.run(["x"], check=True)

        @cache
        def numbers():
            yield 1

        @contextmanager
        def opened(path):
            with open(path, "w") as file:
                yield file

        def caching(function):
            def inner():
                return function()
            return inner

        def page(url):
            return requests.get(url)
        """,
    )
    assert found["load"] == {
        *("~async", "~context", "~early-return", "~catches", "~catches=oserror", "~retries"),
        *("~reads-file", "~regex", "~process"),
    }
    assert found["numbers"] == {"~generator", "~decorated", "~decorated=cache"}
    assert found["opened"] == {
        *("~generator", "~decorated", "~decorated=contextmanager", "~context", "~writes-file"),
    }
    assert found["caching"] == {"~decorator"}
    assert found["page"] == {"~network"}


@pytest.mark.parametrize(
    ("suffix", "source"),
    [
        (
            ".py",
            "class A:\n    def get(self, x):\n        if x: return get(x)\n        return self.other.get(x)\n",
        ),
        (
            ".java",
            "class A { int f(int x) { if (x > 0) { return f(x, 1); } return 2; } int f(int x, int y) { return 3; } }",
        ),
        (
            ".go",
            "package a\nfunc (a A) Get(x int) int {\n\tif x > 0 {\n\t\treturn a.inner.Get(x)\n\t}\n\treturn 0\n}\n",
        ),
        (".rb", "def type(x)\n  type = x.first\n  return type if type\n  nil\nend\n"),
        (".py", "def f(x):\n    return f(x)\n"),  # cannot end, so something else is meant
    ],
)
def test_a_call_of_something_else_with_that_name_is_no_recursion(suffix: str, source: str) -> None:
    assert not any("~recursion" in found for found in shapes(suffix, source).values())


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


def test_an_arrow_between_parameters_is_no_bracket() -> None:
    kotlin = "fun f(each: (Int) -> Map<A, B>, x: Int): Int { if (x > 0) { return f(each, x - 1) }; return 0 }"
    assert "~recursion" in shapes(".kt", kotlin)["f"]


def test_where_nothing_is_overloaded_arguments_may_be_left_out() -> None:
    assert "~recursion" in shapes(".py", "def f(x, y=1):\n    if x:\n        return f(x - y)\n    return 1\n")["f"]


def test_a_function_inside_a_function_recurses_for_it() -> None:
    found = shapes(".py", "def outer(n):\n    def walk(m):\n        return [walk(k) for k in m]\n    return walk(n)\n")
    assert "~recursion" in found["outer"]


def test_loops_side_by_side_are_not_nested() -> None:
    found = shapes(".py", "def f(xs):\n    for x in xs:\n        g(x)\n    for x in xs:\n        h(x)\n")
    assert found["f"] == set()


def test_a_stored_function_has_the_shape_that_it_has_in_its_file() -> None:
    record = {"repo": "a/b", "path": "c.py", "func_name": "walk", "code": WALKS[".py"], "language": "python"}
    parsed = parse_records([(1, record)], "c.jsonl", {}, ReadOptions())
    (function,) = parsed.functions
    assert set(parsed.shapes[function.id].split()) == shapes(".py", WALKS[".py"])["walk"]


def test_every_grammar_can_be_asked_for_shapes() -> None:
    from treeline.ingest.parsers.outline import outline

    for name in grammars():
        assert outline(grammars()[name], b"").definitions == ()


def test_a_function_of_ten_decisions_is_complex() -> None:
    source = "def few(x):\n" + "    if x: x += 1\n" * 9 + "\ndef many(x):\n" + "    if x: x += 1\n" * 10
    found = shapes(".py", source)
    assert "~complex" in found["many"]
    assert "~complex" not in found["few"]


def test_three_loops_inside_each_other_are_seen() -> None:
    found = shapes(
        ".py", "def f(a):\n    for b in a:\n        for c in b:\n            for d in c:\n                g(d)\n"
    )
    assert {"~nested-loops", "~triple-loops"} <= found["f"]


@pytest.mark.parametrize(
    ("returned", "makes"),
    [("lambda x: go(x)", True), ("inner", True), ("(inner)", True), ("go(inner)", False), ("outer", False)],
)
def test_a_function_that_returns_one_it_makes_is_a_decorator(returned: str, makes: bool) -> None:
    source = f"def wrap(go):\n    def inner(x):\n        return x\n    outer = go\n    return {returned}\n"
    assert ("~decorator" in shapes(".py", source)["wrap"]) is makes
