"""The table of languages: suffixes, first bytes, grammars, and functions on their own."""

import pytest

from treeline.ingest.parsers.outline import single
from treeline.ingest.parsers.registry import by_suffix, grammars, language_of


def test_a_suffix_names_its_language() -> None:
    assert {suffix: by_suffix()[suffix].name for suffix in (".py", ".jsx", ".tsx", ".rb")} == {
        ".py": "python",
        ".jsx": "javascript",
        ".tsx": "typescript",
        ".rb": "ruby",
    }


def test_a_variable_of_a_ruby_function_on_its_own_is_no_call() -> None:
    source = "def f(a)\n  found = g(a)\n  [1].each { |one| put(found, one) } if found\n  found\nend"
    seen = single(grammars()["ruby"], source.encode(), "f")
    assert {one.target for one in seen.references if one.relation == "calls"} == {"g", "put", "?.each"}


def test_a_function_on_its_own_is_understood_in_every_language() -> None:
    alone = {
        "python": "def f(a):\n        return g(a)",
        "java": "@Override public int f(int a) { return g(a); }",
        "go": "func (t *T) f(a int) int { return g(a) }",
        "javascript": "function f(a) { return g(a); }",
        "typescript": "function f(a: number): number { return g(a); }",
        "php": "public static function f($a) { return g($a); }",
        "ruby": "def f(a)\n  g(a)\nend",
    }
    for language, source in alone.items():
        seen = single(grammars()[language], source.encode(), "Stored.name", first_line=40)
        assert seen.name == "f", language
        calls = [(one.source, one.target) for one in seen.references if one.relation == "calls"]
        assert calls == [("Stored.name", "g")], language
        assert all(one.line >= 40 for one in seen.references), language


def test_the_grammars_are_a_mapping_of_languages() -> None:
    known = grammars()
    assert len(known) == len(list(known)) == len(set(known)) > 30
    assert all(known[name].name for name in ("python", "go", "rust"))
    assert "klingon" not in known
    with pytest.raises(KeyError):
        known["klingon"]


def test_a_file_of_matlab_is_not_taken_for_objective_c() -> None:
    said = {
        "matlab": [b"% A script.\nx = 1;\n", b"function y = f(x)\ny = x;\nend\n"],
        "objc": [b"#import <A.h>\n", b"// %\n@implementation A\n@end\n", b""],
    }
    assert {language: [language_of("a.m", head) for head in heads] for language, heads in said.items()} == {
        language: [language] * len(heads) for language, heads in said.items()
    }


@pytest.mark.parametrize(
    ("head", "language"),
    [
        (b"module a;\nimport std.stdio : writeln;\nvoid main() { writeln(1); }\n", "d"),
        (b"struct A { int b; }\nint c(int d) { return d ? 1 : 2; }\n", "d"),
        (b"/* Probes. */\nprovider memcached {\n   probe conn__create(void *ptr);\n};\n", "text"),
        (b"#!/usr/sbin/dtrace -s\nBEGIN { trace(1); }\n", "text"),
        (b"python$target:::gc-start,\npython$target:::gc-done\n/self->trace/\n{ trace(arg0); }\n", "text"),
        (b"syscall::read:entry\n{ @[execname] = count(); }\n", "text"),
        (b"build/a.o: src/a.c src/a.h\n", "text"),
    ],
)
def test_a_file_of_dtrace_or_make_is_not_taken_for_d(head: bytes, language: str) -> None:
    assert language_of("a.d", head) == language
