"""The texts of units: functions without their docstrings, heads of classes, files; and outlines."""

import pytest

from tests.ingest.parsers.parsing import names, parse, unit, units

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

LONG = "  step();\n" * 80


def test_a_class_unit_is_its_head_without_the_bodies_of_its_methods() -> None:
    session = unit("file.py", PYTHON, "Session")
    assert session.original_string.startswith("@dataclass\nclass Session(Base):")
    assert "def open(self, request, *, force=False):" in session.code
    assert 'name: str = ""' in session.code
    assert "store.read" not in session.original_string and "Open it" not in session.original_string
    assert "Signed" in session.original_string and "Signed" not in session.code


def test_a_member_below_a_comment_is_indented_once_in_its_class() -> None:
    code = "class Shop {\n    /** Sells it. */\n    void sell() { go(); }\n    int x;\n}\n"
    lines = unit("Shop.java", code, "Shop").original_string.splitlines()
    assert [line.removesuffix("…").rstrip() for line in lines] == ["class Shop {", "    void sell()", "    int x;", "}"]


def test_the_text_of_a_constant_is_its_line() -> None:
    assert unit("file.py", PYTHON, "LIMIT").original_string == "LIMIT = 10"


def test_a_file_unit_has_its_path_docs_top_level_code_and_outline() -> None:
    file = unit("file.py", PYTHON, "file.py")
    lines = file.code.splitlines()
    assert lines[0] == "src/file.py"
    assert {"import os", "LIMIT = 10", "def load(path):", "    def open(self, request, *, force=False):"} <= set(lines)
    assert "return" not in file.code


def test_top_level_code_that_is_too_long_for_the_file_unit_becomes_blocks() -> None:
    source = "".join(f"setup({number}, 'some longer argument')\n" + "\n" * (number % 9 == 0) for number in range(300))
    blocks = units("file.py", "def f():\n    return 1\n" + source)
    assert sum(block.kind == "file" for block in blocks) > 3
    assert all(f"setup({number}," in "".join(block.code for block in blocks) for number in range(300))


def test_methods_that_stand_outside_of_their_type_are_named_in_its_head() -> None:
    source = "package a\ntype Store struct { count int }\nfunc (s *Store) Add(item int) int { return 1 }\n"
    assert "func (s *Store) Add(item int) int" in unit("store.go", source, "Store").code


@pytest.mark.parametrize("doc", ["{@inheritdoc}", "@param int $a\n * @return string", "@inheritDoc"])
def test_a_docblock_without_words_is_no_docstring(doc: str) -> None:
    assert unit("a.php", f"<?php\n/**\n * {doc}\n */\nfunction f($a) {{ return 1; }}\n", "f").docstring == ""


@pytest.mark.parametrize("doc", ["Adds.\n * @param int $a", "@return the number of rows that were changed by it"])
def test_a_docblock_with_words_is_one(doc: str) -> None:
    assert unit("a.php", f"<?php\n/**\n * {doc}\n */\nfunction f($a) {{ return 1; }}\n", "f").docstring == doc.replace(
        "\n * ", "\n"
    )


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


def test_a_class_in_objective_c_does_not_begin_with_the_end_of_the_one_before() -> None:
    text = "@implementation One\n- (void)go {\n}\n@end\n@implementation Two\n- (void)go {\n}\n@end\n"
    texts = {unit.func_name: unit.original_string for unit in units("a.m", text) if unit.kind == "class"}
    assert texts["Two"].startswith("@implementation Two")
    assert texts["One"].startswith("@implementation One")


def test_a_function_may_be_as_long_as_the_limit_and_no_longer() -> None:
    source = "def short():\n    return 1\n"
    size = len("def short():\n    return 1")
    parsed = parse("m.py", source.encode(), size)
    assert ([unit.func_name for unit in parsed.functions if unit.kind == "function"], parsed.problems) == (
        ["short"],
        (),
    )
    (problem,) = parse("m.py", source.encode(), size - 1).problems
    assert problem.reason == f"function short of {size} bytes is over {size - 1}"


def test_a_docstring_is_taken_out_of_the_code_and_nothing_else_is() -> None:
    source = '''
        @cached
        def load(path: Path, retries=3):
            # a remark before the docstring
            """Load it.

            With a second paragraph.
            """
            return deep_call(path)
            # left over
    '''
    load = unit("file.py", source, "load")
    assert "Load it" in load.original_string
    assert load.code == load.original_string.replace('    """Load it.\n\n    With a second paragraph.\n    """\n', "")
    java = unit("A.java", "class A {\n  /** Adds one. */\n  void add() { go(); }\n}\n", "A.add")
    assert (java.docstring, java.code) == ("Adds one.", "void add() { go(); }")


def test_a_docstring_with_code_behind_it_on_its_line_is_taken_out() -> None:
    function = unit("file.py", 'if True:\n    def f(): "One line."; return 1\n', "f")
    assert function.docstring == "One line."
    assert "One line" not in function.code
    assert function.code.endswith("return 1")


@pytest.mark.parametrize(
    ("literal", "docstring"),
    [
        ('"""Text."""', "Text."),
        ("'Text.'", "Text."),
        (r'r"""A \d."""', r"A \d."),
        ('u"""Text."""', "Text."),
        ('"""One """ """two."""', "One two."),
        ('f"""No {docstring}."""', ""),
        ('b"""No docstring."""', ""),
        ('x = """No docstring."""', ""),
        ('"""No""".format()', ""),
    ],
)
def test_only_a_plain_string_is_a_docstring(literal: str, docstring: str) -> None:
    function = unit("file.py", f"def f():\n    {literal}\n    return 1\n", "f")
    assert function.docstring == docstring
    assert (literal in function.code) is not bool(docstring)


def test_a_function_that_is_only_its_docstring_keeps_its_header() -> None:
    assert unit("file.py", 'def f():\n    """Only this."""\n', "f").code == "def f():"


def test_windows_line_ends_and_a_byte_order_mark_do_no_harm() -> None:
    function = unit("file.py", '\ufeffdef f():\r\n    """Doc."""\r\n    return 1\r\n', "f")
    assert (function.docstring, function.code) == ("Doc.", "def f():\r\n    return 1")


@pytest.mark.parametrize(("behind", "docstring"), [(" ", "Adds."), ("\t\r", "Adds."), ("\n", ""), (" \n  ", "")])
def test_an_empty_line_parts_a_comment_from_its_method_and_blanks_do_not(behind: str, docstring: str) -> None:
    source = f"class A {{\n  /** Adds. */{behind}\n  void add() {{ }}\n}}\n"
    assert unit("A.java", source, "A.add").docstring == docstring


def test_an_inner_function_belongs_to_a_short_outer_one_and_stands_alone_in_a_long_one() -> None:
    inner = "  function inner() {\n    return 1;\n  }\n"
    assert names("file.js", f"function outer() {{\n{inner}}}\n") == ["outer"]
    assert names("file.js", f"function outer() {{\n{LONG}{inner}}}\n") == ["outer", "outer.inner"]
    assert names("file.js", "let a = 1;\n" * 300 + f"function outer() {{\n{inner}}}\n") == ["outer"]


def test_a_callback_of_some_length_in_a_function_of_forty_lines_is_a_function() -> None:
    def inside(lines: int) -> list[str]:
        route = "  app.get('/users', function (req, res) {\n" + "    step();\n" * lines + "  });\n"
        return names("file.js", f"function serve(app) {{\n{route}{LONG[:400]}}}\n")

    assert inside(6) == ["serve", "serve.get(/users)"]
    assert inside(2) == ["serve"]


def test_a_long_callback_is_a_function() -> None:
    assert names("file.js", f"work(function () {{\n{LONG}}});\n") == ["work(callback)"]


def test_a_deprecated_method_of_objective_c_is_in_the_text_of_its_protocol() -> None:
    deprecated = 'API_DEPRECATED_WITH_REPLACEMENT("open:", macos(10.10, API_TO_BE), ios(8.0, API_TO_BE))'
    code = f"@protocol Loader <NSObject>\n@required\n- (BOOL)canOpen:(nullable NSURL *)url {deprecated};\n@end\n"
    assert deprecated in unit("Loader.m", f"#import <Foundation/Foundation.h>\n{code}", "Loader").original_string


@pytest.mark.parametrize(
    ("path", "top"),
    [
        ("one.go", "/*\n   Copyright 2020 Somebody\n\n   Licensed to you\n*/\n"),
        ("one.go", "// Copyright 2020 Somebody\n\n// Use of it is in the licence\n"),
        ("one.js", "/** @license MIT */\n"),
        ("one.rb", "#!/usr/bin/env ruby\n# SPDX-License-Identifier: MIT\n"),
    ],
)
def test_licence_at_the_top_of_a_file_is_not_its_content(path: str, top: str) -> None:
    [file] = [unit for unit in units(path, f"{top}\nlimit = 1\n") if unit.kind == "file"]
    assert "limit = 1" in file.code and "icen" not in file.code


def test_code_behind_a_licence_on_its_line_stays() -> None:
    [file] = [unit for unit in units("one.js", "/*! MIT licence */ start(42)\n") if unit.kind == "file"]
    assert "start(42)" in file.code


def test_a_ruby_module_that_only_holds_another_is_no_unit_in_each_file_that_opens_it() -> None:
    source = """
        # frozen-string-literal: true

        class App
          module Plugins
            # Serves files.
            module Static
              def serve = 1
            end
          end
        end
        """
    assert [(one.kind, one.func_name) for one in units("static.rb", source)] == [
        ("class", "App.Plugins.Static"),
        ("method", "App.Plugins.Static.serve"),
        ("file", "static.rb"),
    ]


def test_a_ruby_module_with_something_of_its_own_is_a_unit() -> None:
    source = """
        # Applications.
        class App
          module Plugins
            module Static
            end
            register Static
          end
        end
        """
    assert [one.func_name for one in units("static.rb", source) if one.kind == "class"] == [
        "App",
        "App.Plugins",
        "App.Plugins.Static",
    ]


def test_a_magic_comment_does_not_describe_a_ruby_file() -> None:
    for comment in ("frozen-string-literal: true", "frozen_string_literal: true", "encoding: utf-8", "typed: strict"):
        assert unit("a.rb", f"# {comment}\n\nclass A\n  def b = 1\nend\n", "a.rb").docstring == ""


@pytest.mark.parametrize(
    ("path", "text", "name", "lines"),
    [
        ("app.py", 'x = 1\n@app.route(\n    "/login",\n)\n@cached\ndef enter():\n    return 1\n', "enter", (2, 7)),
        ("app.py", 'class A:\n    @app.get("/login")\n    def enter(self):\n        return 1\n', "A.enter", (2, 4)),
        ("app.ts", 'class A {\n  @Get("/login")\n  enter() { return 1; }\n}\n', "A.enter", (2, 3)),
        ("app.rs", '#[get("/login")]\nfn enter() -> u8 { 1 }\n', "enter", (1, 2)),
    ],
)
def test_a_function_has_its_decorators(path: str, text: str, name: str, lines: tuple[int, int]) -> None:
    function = unit(path, text, name)
    assert '"/login"' in function.code
    assert function.address.lines == lines


def test_a_list_or_call_above_a_function_is_no_decorator() -> None:
    assert unit("a.py", "value = f(\n    3,\n)\ndef plain():\n    return 2\n", "plain").address.lines == (4, 5)
