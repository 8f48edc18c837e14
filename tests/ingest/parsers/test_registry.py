"""Languages are found by themselves, and each has its test."""

from __future__ import annotations

from pathlib import Path

import pytest

from treeline.ingest.parsers.outline import single
from treeline.ingest.parsers.registry import by_suffix, grammars

LANGUAGES = {"python", "java", "go", "javascript", "typescript", "php", "ruby"}


def test_every_language_is_there_and_has_a_test_file() -> None:
    assert set(grammars()) >= LANGUAGES
    for language in LANGUAGES:
        assert (Path(__file__).parent / f"test_{language}.py").exists()


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
