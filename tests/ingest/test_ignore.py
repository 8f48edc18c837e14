"""Ignore files: the verdicts are git's own, and no pattern takes long."""

from __future__ import annotations

import os
import subprocess
import time
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treeline.ingest import ignore
from treeline.ingest.ignore import IgnoreRules, ignore_text, is_generated
from treeline.ingest.source import ReadOptions
from treeline.ingest.sources import open_source

PATHS = (
    "a.py build/x.py build/deep/y.py src/build/z.py src/a.log src/b.LOG docs/a/b/c.md docs/c.md foo/bar/baz.js "
    "foo/x/bar.js foo/x/y/bar.js !odd #odd back\\slash with[bracket] trailing name.tar.gz lib/name.pyc x/abc1.py"
).split()
PATTERNS = (
    "*.py",
    "!a.py",
    "build/",
    "/build/",
    "build",
    "*.log",
    "src/*.log",
    "docs/**/c.md",
    "**/bar.js",
    "foo/**",
    "foo/**/bar.js",
    "/foo/*/bar.js",
    "\\!odd",
    "\\#odd",
    "# comment",
    "",
    "*.tar.gz",
    "abc[0-9].py",
    "abc[!0-9].py",
    "abc[^0-9].py",
    "?.py",
    "with\\[bracket\\]",
    "trailing   ",
    "*a*",
    "**",
    "doc*/a",
    "!foo/x/",
    "src",
)


def ours(top: Path) -> set[str]:
    """The paths that are ignored, folder by folder as the walk does it."""
    found = set()
    read = partial(ignore_text, top)
    for path in PATHS:
        rules, below = IgnoreRules().entering("", read), ""
        parts = path.split("/")
        for number, part in enumerate(parts, 1):
            below = f"{below}/{part}".lstrip("/")
            if rules.match(below, is_folder=number < len(parts)):
                found.add(path)
                break
            rules = rules.entering(below, read) if number < len(parts) else rules
    return found


def gits(top: Path) -> set[str]:
    answer = subprocess.run(
        ["git", "-C", str(top), "check-ignore", "--no-index", "-z", "--stdin"],
        input="\0".join(PATHS).encode(),
        capture_output=True,
        check=False,
    )
    return {path for path in answer.stdout.decode().split("\0") if path}


@pytest.fixture(scope="module")
def top(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "--quiet", str(top)], check=True)
    for path in PATHS:
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).touch()
    return top


@given(lines=st.lists(st.sampled_from(PATTERNS), max_size=6), deeper=st.lists(st.sampled_from(PATTERNS), max_size=3))
@settings(max_examples=60, deadline=None)
def test_the_verdicts_are_gits(top: Path, lines: list[str], deeper: list[str]) -> None:
    (top / ".gitignore").write_text("\n".join(lines))
    (top / "src" / ".gitignore").write_text("\n".join(deeper))
    (top / ".git" / "info" / "exclude").write_text("")
    assert ours(top) == gits(top)


def test_what_gits_own_exclude_file_names_is_ignored(top: Path) -> None:
    for file in (".gitignore", "src/.gitignore"):
        (top / file).unlink(missing_ok=True)
    (top / ".git" / "info" / "exclude").write_text("*.pyc\n")
    assert ours(top) == gits(top) == {"lib/name.pyc"}


@pytest.mark.parametrize("pattern", ["*a" * 30 + "*b", "**/" * 30 + "b", "*a" * 30 + "/**/b", "[a-z]*" * 40 + "1"])
def test_a_pattern_with_many_stars_takes_no_time(tmp_path: Path, pattern: str) -> None:
    (tmp_path / ".treelineignore").write_text(f"{pattern}\n")
    folder = tmp_path.joinpath(*["a"] * 40)
    folder.mkdir(parents=True)
    (folder / f"{'a' * 100}.py").write_text("def f():\n    return 1\n")
    begun = time.process_time()
    units = list(open_source(str(tmp_path)).units())
    assert time.process_time() - begun < 2
    assert len(units) == 1


@pytest.mark.timeout(30)
def test_a_pipe_that_is_called_like_an_ignore_file_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".gitignore")
    (tmp_path / "a.py").write_text("def f():\n    return 1\n")
    assert [unit.key for unit in open_source(str(tmp_path)).units()] == ["a.py"]


def test_more_patterns_than_any_project_has_are_not_all_compared(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("".join(f"*x{number}y\n" for number in range(100_000)))
    for number in range(20):
        (tmp_path / f"a{number}.py").write_text("def f():\n    return 1\n")
    begun = time.process_time()
    assert len(list(open_source(str(tmp_path)).units())) == 20
    assert time.process_time() - begun < 5


@pytest.mark.parametrize(
    "path",
    [
        "okhttp/src/jvmTest/kotlin/CallTest.kt",
        "Shop.Tests/Cart.cs",
        "shop-tests/cart.rs",
        "src/cart_test.dart",
        "Source/CartTests.swift",
        "lib/cart_test.exs",
        "src/cart_SUITE.erl",
        "core/CartSpec.scala",
        "src/cart_test.cc",
    ],
)
def test_tests_are_known_by_the_customs_of_their_language(path: str) -> None:
    assert ignore.reason_by_name(path, ReadOptions(include_tests=False)) == "test"


@pytest.mark.parametrize(
    "path", ["src/TypeSpec.java", "src/contest/latest.py", "api-specs/pets.yaml", "src/Test.java", "src/attest.go"]
)
def test_names_that_only_look_like_tests_are_read(path: str) -> None:
    assert ignore.reason_by_name(path, ReadOptions(include_tests=False)) == ""


@pytest.mark.parametrize(
    "path",
    [".github/workflows/ci.yml", ".gitlab-ci.yml", ".circleci/config.yml", ".pre-commit-config.yaml", ".eslintrc"],
)
def test_hidden_files_that_people_write_are_read(path: str) -> None:
    assert ignore.reason_by_name(path, ReadOptions(include_tests=False)) == ""


@pytest.mark.parametrize(
    "path", [".venv/lib/a.py", ".git/hooks/a.sh", ".mypy_cache/a.json", "src/.cache/b.py", ".secret"]
)
def test_other_hidden_files_are_not_read(path: str) -> None:
    assert ignore.reason_by_name(path, ReadOptions(include_tests=False)) == "hidden"


@pytest.mark.parametrize(
    "text",
    [
        "// Code generated by protoc-gen-go. DO NOT EDIT.",
        "/**\n * @generated SignedSource<<abc>>\n */",
        "//------\n// <auto-generated>",
        "# This file was generated by make.",
        "# YML test files are auto-generated from SQL files and should not be edited by hand.",
        "/* DO NOT EDIT THIS FILE - it is machine generated */",
        "// This is an autogenerated file.\n// Do not edit.",
        "# Auto generated by make_widths.py",
    ],
)
def test_a_mark_says_that_a_file_is_generated(text: str) -> None:
    assert is_generated(f"{text}\n".encode())


@pytest.mark.parametrize(
    "text",
    [
        '"""Routes.\n\nAn endpoint was automatically generated as the name of the function."""',
        '"""The schema is\nauto generated from descriptions of the models."""',
        "// ids are auto-generated on the client side",
        'HEADER = "// Code generated by gen. DO NOT EDIT."',
        'out.write("# This file was generated by %s" % tool)',
        "Removes files with `@generated` in their head.",
    ],
)
def test_prose_about_generated_things_says_nothing_of_the_file(text: str) -> None:
    assert not is_generated(f"{text}\n".encode())
