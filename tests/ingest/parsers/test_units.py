"""Units other than functions in the seven languages in depth: class heads, constants, types, files; and outlines."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.ingest.parsers.parsing import see
from treeline.corpus.function import Function
from treeline.ingest.parsers.registry import grammar_of
from treeline.ingest.parsers.units import FileLocation, file_outline, parse_file

PYTHON = '''
    """Keeps sessions."""

    import os

    LIMIT = 10
    # How long a session lives.
    lifetime: int = 3600

    @dataclass
    class Session(Base):
        """One session.

        Signed."""

        KEY = "id"
        name: str = ""

        def open(self, request, *, force=False):
            """Open it."""
            return self.store.read(request)

        class Meta:
            pass

    def load(path):
        return open(path)

    app = load("x")
'''


def test_a_class_unit_is_its_head_without_the_bodies_of_its_methods() -> None:
    unit = see(".py", PYTHON).units["class", "Session"]
    assert unit.docstring == "One session.\n\n    Signed."
    assert unit.original_string.startswith("@dataclass\nclass Session(Base):")
    assert "def open(self, request, *, force=False):" in unit.code
    assert 'name: str = ""' in unit.code
    assert "store.read" not in unit.original_string and "Open it" not in unit.original_string
    assert "Signed" in unit.original_string and "Signed" not in unit.code
    assert unit.address.lines == (10, 23)


def test_a_member_below_a_comment_is_indented_once_in_its_class() -> None:
    code = "class Shop {\n    /** Sells it. */\n    void sell() { go(); }\n    int x;\n}\n"
    lines = see(".java", code).units["class", "Shop"].original_string.splitlines()
    assert [line.removesuffix("…").rstrip() for line in lines] == ["class Shop {", "    void sell()", "    int x;", "}"]


def test_module_variables_and_upper_case_class_variables_are_constants() -> None:
    seen = see(".py", PYTHON)
    assert seen.kind("constant") == ["LIMIT", "lifetime", "Session.KEY", "app"]
    assert seen.units["constant", "lifetime"].docstring == "How long a session lives."
    assert seen.units["constant", "LIMIT"].original_string == "LIMIT = 10"


def test_a_file_unit_has_its_path_docs_top_level_code_and_outline() -> None:
    unit = see(".py", PYTHON).units["file", "file.py"]
    assert unit.docstring == "Keeps sessions."
    lines = unit.code.splitlines()
    assert lines[0] == "src/file.py"
    assert {"import os", "LIMIT = 10", "def load(path):", "    def open(self, request, *, force=False):"} <= set(lines)
    assert "return" not in unit.code
    assert unit.address.lines == (1, 28)


def test_top_level_code_that_is_too_long_for_the_file_unit_becomes_blocks() -> None:
    source = "".join(f"setup({number}, 'some longer argument')\n" + "\n" * (number % 9 == 0) for number in range(300))
    seen = see(".py", "def f():\n    return 1\n" + source)
    assert len(seen.kind("file")) > 3
    assert all(f"setup({number}," in "".join(unit.code for unit in seen.units.values()) for number in range(300))


def test_methods_and_functions_are_told_apart() -> None:
    seen = see(".py", PYTHON)
    assert seen.kind("method") == ["Session.open"]
    assert seen.kind("function") == ["load"]


@pytest.mark.parametrize(
    ("suffix", "source", "expected"),
    [
        (
            ".go",
            """
            package shop
            // Limit is the most.
            const Limit = 3
            var (
                a = 1
            )
            type Store struct { count int }
            type Closer interface { Close() }
            type Handler func(int) int
            func (s *Store) Add(item int) int { return next(item) }
            """,
            [
                ("constant", "Limit"),
                ("constant", "a"),
                ("class", "Store"),
                ("interface", "Closer"),
                ("type", "Handler"),
                ("method", "Store.Add"),
            ],
        ),
        (
            ".java",
            """
            public class Store {
                public static final int LIMIT = 3;
                private int count;
                int add(int item) { return next(item); }
                enum State { OPEN }
            }
            interface Closing { void close(); }
            record Item(int id) {}
            """,
            [
                ("class", "Store"),
                ("constant", "Store.LIMIT"),
                ("method", "Store.add"),
                ("enum", "Store.State"),
                ("interface", "Closing"),
                ("class", "Item"),
            ],
        ),
        (
            ".ts",
            """
            export const limit = 3;
            export type Id = string | number;
            export interface Closing { close(): void }
            export enum State { Open }
            export class Store { add(item: number) { return next(item); } }
            """,
            [
                ("constant", "limit"),
                ("type", "Id"),
                ("interface", "Closing"),
                ("enum", "State"),
                ("class", "Store"),
                ("method", "Store.add"),
            ],
        ),
        (
            ".php",
            """
            <?php
            const LIMIT = 3;
            define('OTHER', 4);
            interface Closing { public function close(); }
            trait Counting { public function count() { return 1; } }
            enum State { case Open; }
            class Store { const KEY = 'k'; public function add($item) { return next($item); } }
            """,
            [
                ("constant", "LIMIT"),
                ("constant", "OTHER"),
                ("interface", "Closing"),
                ("class", "Counting"),
                ("method", "Counting.count"),
                ("enum", "State"),
                ("class", "Store"),
                ("constant", "Store.KEY"),
                ("method", "Store.add"),
            ],
        ),
        (
            ".rb",
            """
            module Shop
              LIMIT = 3
              class Store < Base
                def add(item)
                  item + 1
                end
              end
            end
            """,
            [
                ("class", "Shop"),
                ("constant", "Shop.LIMIT"),
                ("class", "Shop.Store"),
                ("method", "Shop.Store.add"),
            ],
        ),
    ],
)
def test_every_kind_is_found_in_the_other_languages(suffix: str, source: str, expected: list[tuple[str, str]]) -> None:
    assert list(see(suffix, source).units) == [*expected, ("file", f"file{suffix}")]


def test_methods_that_stand_outside_of_their_type_are_named_in_its_head() -> None:
    seen = see(".go", "package a\ntype Store struct { count int }\nfunc (s *Store) Add(item int) int { return 1 }\n")
    assert "func (s *Store) Add(item int) int" in seen.units["class", "Store"].code


def test_an_outline_gives_kind_name_lines_and_signature() -> None:
    source = dedent(PYTHON).lstrip("\n").encode()
    entries = file_outline("a.py", source)
    assert ("method", "Session.open", 18, 20, "def open(self, request, *, force=False):") in entries
    assert ("constant", "LIMIT", 5, 5, "LIMIT = 10") in entries
    assert [entry.name for entry in file_outline("a.md", b"# Guide\n\n## Install\nDo it.\n")] == ["Guide", "Install"]
    assert file_outline("a.png", b"\x89PNG") == []


@pytest.mark.parametrize("doc", ["{@inheritdoc}", "@param int $a\n * @return string", "@inheritDoc"])
def test_a_docblock_without_words_is_no_docstring(doc: str) -> None:
    seen = see(".php", f"<?php\n/**\n * {doc}\n */\nfunction f($a) {{ return 1; }}\n")
    assert seen.functions["f"].docstring == ""


@pytest.mark.parametrize("doc", ["Adds.\n * @param int $a", "@return the number of rows that were changed by it"])
def test_a_docblock_with_words_is_one(doc: str) -> None:
    seen = see(".php", f"<?php\n/**\n * {doc}\n */\nfunction f($a) {{ return 1; }}\n")
    assert seen.functions["f"].docstring == doc.replace("\n * ", "\n")


def test_directives_for_tools_are_no_documentation() -> None:
    seen = see(".go", "package a\n\n// F adds.\n//\n// Twice.\n//go:noinline\n//nolint:all\nfunc F() {}\n")
    assert seen.functions["F"].docstring == "F adds.\n\nTwice."


@pytest.mark.parametrize("end", ["", "\n"], ids=["without", "with"])
@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", "import os\n\nprint(os.name)"),
        ("README.md", "# Title\n\nText."),
        ("Build.groovy", "def build() {\n    run()\n}"),
        ("notes.txt", "one\ntwo\nthree"),
        ("Book.ipynb", '{"cells": [{"cell_type": "code",\n"source": ["x = 1"]}\n]}'),
    ],
)
def test_a_file_ends_with_its_last_line(path: str, text: str, end: str) -> None:
    [file] = [unit for unit in units(path, text + end) if unit.kind == "file"]
    assert file.address.lines == (1, 3)


def test_a_long_configuration_ends_with_its_last_line() -> None:
    text = "".join(f"key{number}:\n  value: {number}\n" for number in range(300))
    [file] = [unit for unit in units("values.yaml", text) if unit.kind == "file"]
    assert file.address.lines == (1, 600)


def test_an_empty_file_has_a_line() -> None:
    [file] = units("__init__.py", "")
    assert file.address.lines == (1, 1)


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("run.sh", "LIMIT=3"),
        ("run.sh", "go() {\n  ls\n}"),
        ("run.py", "def go():\n    pass"),
        ("run.rb", "def go\nend"),
        ("run.pl", "sub go {\n  1;\n}"),
        ("run.groovy", "def go() {\n  1\n}"),
        ("run.php", "<?php\nfunction go() {}"),
        ("run.js", "function go() {}"),
        ("run.lua", "function go()\nend"),
        ("run.R", "go <- function(x) x"),
        ("run.jl", "function go()\nend"),
        ("run.exs", "defmodule Go do\n  def go, do: 1\nend"),
        ("run.nim", "proc go() =\n  discard"),
        ("run.ps1", "function Go {\n  1\n}"),
        ("run.bats", '@test "go" {\n  ls\n}'),
        ("run.fish", "function go\n  ls\nend"),
        ("run.tcl", "proc go {} {\n  puts 1\n}"),
        ("run.hs", "go :: Int\ngo = 1"),
        ("run.ml", "let go () = 1"),
        ("run.clj", "(defn go [] 1)"),
        ("run.erl", "go() -> 1."),
    ],
)
def test_a_shebang_is_no_docstring(path: str, code: str) -> None:
    said = [unit for unit in units(path, f"#!/usr/bin/env thing\n{code}\n") if unit.docstring]
    assert not said, [(unit.kind, unit.func_name, unit.docstring) for unit in said]


def test_a_comment_between_shebang_and_definition_is_its_docstring() -> None:
    [constant] = [unit for unit in units("run.sh", "#!/bin/bash\n# How often.\nLIMIT=3\n") if unit.kind == "constant"]
    assert constant.docstring == "How often."


def test_a_class_in_objective_c_does_not_begin_with_the_end_of_the_one_before() -> None:
    text = "@implementation One\n- (void)go {\n}\n@end\n@implementation Two\n- (void)go {\n}\n@end\n"
    texts = {unit.func_name: unit.original_string for unit in units("a.m", text) if unit.kind == "class"}
    assert texts["Two"].startswith("@implementation Two")
    assert texts["One"].startswith("@implementation One")


def units(path: str, text: str) -> tuple[Function, ...]:
    grammar = grammar_of(path, text.encode())
    assert grammar is not None
    place = FileLocation("owner/name", path, "", "https://example.com/blob/0/" + path)
    return parse_file(grammar, text.encode(), place, path, 10_000).functions


def test_a_function_may_be_as_long_as_the_limit_and_no_longer() -> None:
    source = "def short():\n    return 1\n"
    size = len("def short():\n    return 1")
    grammar = grammar_of("m.py", source.encode())
    assert grammar is not None
    place = FileLocation("o/r", "m.py", "", "file:///m")
    kept = parse_file(grammar, source.encode(), place, "m.py", size)
    assert ([unit.func_name for unit in kept.functions if unit.kind == "function"], kept.problems) == (["short"], ())
    (problem,) = parse_file(grammar, source.encode(), place, "m.py", size - 1).problems
    assert problem.reason == f"function short of {size} bytes is over {size - 1}"
