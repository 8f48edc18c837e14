"""Text that nobody wrote: no crash, no endless time, no name of a megabyte."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from time import process_time, sleep

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.ingest.parsers.parsing import units
from treeline.ingest.parsers import captures as capturing
from treeline.ingest.parsers.captures import _machine
from treeline.ingest.parsers.names import MAX_TARGET, dotted_name
from treeline.ingest.parsers.outline import outline
from treeline.ingest.parsers.registry import by_suffix, grammars
from treeline.ingest.parsers.types import type_expression
from treeline.ingest.parsers.units import FileLocation, parse_file
from treeline.ingest.source import Parsed

LANGUAGES = sorted(grammars())
SUFFIXES = sorted(by_suffix())
PLACE = FileLocation("repo", "file", "", "file:///file")
FRAGMENTS = [
    *"{ } ( ) [ ] ; = # // /* */ -> :: => \\ \n \t \0 é 🦜 \u202e ' \" `${".split(" "),
    *("def f(", "class A:", "function(", '"""', "/** x */", "\r\n", "    ", "def self.", "end", "func (a *B) C() {"),
    *("<?php ", "return", "async", "export default", "=begin\n", "=end\n", "<A>", "@x", "lambda:", "import a.b"),
]


def parse(suffix: str, source: bytes) -> Parsed:
    """The functions of a file, without its other units."""
    parsed = parse_file(by_suffix()[suffix], source, PLACE, "file", 10_000)
    return replace(parsed, functions=tuple(one for one in parsed.functions if one.kind in ("function", "method")))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(suffix=st.sampled_from(SUFFIXES), parts=st.lists(st.sampled_from(FRAGMENTS), max_size=60))
def test_any_heap_of_fragments_is_parsed_and_each_function_is_a_piece_of_the_text(
    suffix: str, parts: list[str]
) -> None:
    source = "".join(parts).encode()
    for function in parse(suffix, source).functions:
        assert function.original_string.encode() in source
        first, last = function.address.lines or (0, 0)
        assert 1 <= first <= last <= source.count(b"\n") + 1


@settings(max_examples=100, deadline=None)
@given(suffix=st.sampled_from(SUFFIXES), source=st.binary(max_size=300))
def test_any_bytes_give_functions_or_a_problem(suffix: str, source: bytes) -> None:
    parsed = parse(suffix, source)
    try:
        source.decode("utf-8-sig")
    except UnicodeDecodeError:
        assert [problem.reason.split(":")[0] for problem in parsed.problems] == ["not UTF-8"]


@given(text=st.text(max_size=80))
def test_a_dotted_name_is_a_name_whatever_comes_in(text: str) -> None:
    name = dotted_name(text)
    assert " " not in name
    assert not name.startswith(".")


def test_wrong_utf8_is_reported_with_its_line() -> None:
    (problem,) = parse(".py", b"x = 1\ny = '\xff'\n").problems
    assert problem.line == 2


def test_python_is_read_in_the_encoding_that_the_file_names() -> None:
    source = "# -*- coding: latin-1 -*-\ndef caf\xe9():\n    return '\xfc'\n".encode("latin-1")
    parsed = parse(".py", source)
    (found,) = parsed.functions
    assert (found.func_name, found.original_string) == ("caf\xe9", "def caf\xe9():\n    return '\xfc'")
    assert not parsed.problems


@pytest.mark.parametrize(
    ("encoding", "line", "reason"),
    [
        ("ascii", 2, "not ASCII: "),
        ("no-such", 2, "not UTF-8: "),
        ("rot13", 0, "encoding rot13 cannot be read: "),
        ("punycode", 2, "not UTF-8: "),
    ],
)
def test_an_encoding_that_is_wrong_or_none_is_reported(encoding: str, line: int, reason: str) -> None:
    (problem,) = parse(".py", f"# coding: {encoding}\n".encode() + b"x = '\xff'\n").problems
    assert problem.line == line and problem.reason.startswith(reason)


def test_a_sign_that_is_missing_is_reported_though_the_function_goes_in() -> None:
    parsed = parse(".py", b"def a(): return 1\n\ndef broken(:\n    return 2\n")
    (problem,) = parsed.problems
    assert (problem.line, problem.reason.partition(":")[0]) == (3, "does not parse")
    assert [function.func_name for function in parsed.functions] == ["a", "broken"]


def test_a_function_that_is_too_long_is_reported_and_its_neighbours_go_in() -> None:
    parsed = parse(".py", b"def a(): pass\ndef b():\n" + b"    x = 1\n" * 2_000 + b"def c(): pass\n")
    assert [function.func_name for function in parsed.functions] == ["a", "c"]
    assert parsed.problems[0].line == 2


@pytest.mark.parametrize(
    ("suffix", "source"),
    [
        (".py", b"def a(): return 1\n\ndef broken(a:\n    return 2\n\ndef c():\n    return 3\n"),
        (".go", b"package p\n\nfunc broken(a ]] {\n}\n\nfunc c() int {\n\treturn 3\n}\n"),
    ],
)
def test_what_does_not_parse_is_reported_and_the_rest_goes_in(suffix: str, source: bytes) -> None:
    parsed = parse(suffix, source)
    (problem,) = parsed.problems
    assert (problem.line, problem.reason.partition(":")[0]) == (3, "does not parse")
    assert parsed.functions[-1].func_name == "c"
    assert "broken" not in {function.func_name for function in parsed.functions}


@pytest.mark.parametrize("opening", [b"<?php\n", b"\n<?php "])
def test_what_follows_a_fault_in_php_is_found_in_its_lines(opening: bytes) -> None:
    """Each piece is parsed behind the `<?php` of the file."""
    parsed = parse(
        ".php",
        opening
        + b"function first() {}\nfunction broken($a) { if ($a {{ return; }\nfunction last()\n{\n    two();\n}\n",
    )
    lines = {one.func_name: one.address.lines for one in parsed.functions if one.kind == "function"}
    assert lines == {"first": (2, 2), "last": (4, 7)}


@pytest.fixture
def little_patience(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(capturing, "TIMEOUT_S", 1)
    _machine.cache_clear()
    yield
    _machine.cache_clear()


@pytest.mark.usefixtures("little_patience")
@pytest.mark.parametrize(
    ("suffix", "source"),
    [
        (".py", b"f(" * 100_000),
        (".py", b"[" * 500_000),
        (".py", b"def f():\n  return a" + b".b()" * 200_000),
        (".py", b"\n".join(b" " * depth + b"def f():" for depth in range(1_000))),
        (".js", b"x=>" * 50_000),
        (".js", b"function f(){" * 20_000),
        (".java", b"a.b()." * 50_000),
        (".go", b"[]" * 50_000),
        (".php", b"<?php " + b"[" * 50_000),
        (".rb", b'"#{' * 10_000),
        (".ts", b"a<b<" * 30_000),
        (".ts", b"a<" + b"\n" * 300_000 + b"in"),
        (".vue", b"<script>" * 100_000),
        (".c", b"API" * 200_000 + b"(("),
        (".cpp", b"class A_" + b"A" * 300_000 + b"(("),
        (".rb", b"a<<b\n" * 50_000),
        (".php", b"<?php $a{" + b"$a{" * 100_000),
        (".md", b"# a" + b" " * 500_000 + b"b"),
        (".mk", b"a" + b" " * 500_000),
        (".sql", b"CREATE " + b"a " * 80_000),
        (".groovy", b"def " + b"A<" * 80_000),
        (".ex", b'@moduledoc """\n' * 20_000),
        (".clj", b'(defn f "' * 10_000),
        (".hs", b"f x = (" * 20_000),
        (".swift", b"func f() {" * 5_000),
    ],
)
def test_machine_made_nesting_ends_in_bounded_time_and_the_next_file_is_parsed(suffix: str, source: bytes) -> None:
    parsed = parse(suffix, source)
    assert all(len(function.func_name) < 100 * MAX_TARGET for function in parsed.functions)
    assert [function.func_name for function in parse(".py", b"def after(): pass").functions] == ["after"]


def test_many_small_functions_and_comments_take_time_in_proportion() -> None:
    for suffix, source in (
        (".js", b"// c\na=()=>{}\n"),
        (".py", b"# c\ndef f(): pass\n"),
        (".rb", b"# c\ndef f; end\n"),
        (".rb", b"=end\ndef f; end\n"),
    ):
        assert len(parse(suffix, source * 5_000).functions) == 5_000


def test_one_long_line_and_one_long_name_take_time_in_proportion() -> None:
    started = process_time()
    assert len(parse(".js", b"\nvar a=0" + b",f=()=>0" * 30_000).functions) == 30_000
    assert dotted_name("a" * 100_000 + "=") == ""
    assert process_time() - started < 10


def test_a_type_inside_hundreds_of_others_is_not_followed_to_the_end() -> None:
    assert type_expression("Box<" * 3 + "Disk" + ">" * 3) == ":Disk"
    assert type_expression("Box<" * 500 + "Disk" + ">" * 500) == ""
    assert type_expression("Disk" + "[]" * 500) == ""


def test_a_file_that_is_one_big_call_takes_the_time_of_its_parts() -> None:
    """As lodash and bundles are. `QueryCursor.captures` takes a hundred times as long for the whole."""
    grammar = by_suffix()[".js"]
    parts = b"".join(
        b"function part%d(a, b) {\n  var c = read(a, b);\n  use(c, function (d) { return d.e(a); });\n}\n" % number
        for number in range(800)
    )
    wrapped = b"(function () {\n%s}.call(this));\n" % parts
    seen = [outline(grammar, source) for source in (parts, wrapped)]
    assert [len(one.functions) for one in seen] == [800, 800]

    def seconds(source: bytes) -> float:
        started = process_time()
        capturing.captures_of(grammar, source)
        return process_time() - started

    assert seconds(wrapped) < 10 * seconds(parts)


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("a.js", "const a = require();"),
        ("a.go", "package a\nfunc f() { x := new() }"),
        ("a.rb", "require()\nload()"),
        ("a.php", "<?php define();"),
        ("a.scm", "(define)(define x)()"),
        ("a.clj", "(ns)(defn)()"),
        ("a.el", "(cl-defun)(defvar)"),
        ("a.lisp", "(defun)(defclass)"),
    ],
)
def test_a_call_without_the_expected_arguments_is_no_fault(file: str, source: str) -> None:
    assert all(unit.kind != "function" or unit.func_name for unit in units(file, source))


STOPPED = """
import sys
from treeline.ingest.parsers import captures
from treeline.ingest.parsers.registry import grammars
captures.TIMEOUT_S = 2
source = b"def f(a):\\n    return g(a, [b for b in a])\\n" * 4_000
print("ready", flush=True)
for _ in range(4):
    assert len(captures.captures_of(grammars()["python"], source)["function"]) == 4_000
    print("parsed", flush=True)
"""


def test_a_process_that_was_stopped_tries_again() -> None:
    """As by the closed lid of a laptop, while it parses and while it searches."""
    with subprocess.Popen([sys.executable, "-c", STOPPED], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in ("ready", "parsed", "parsed"):
            assert process.stdout.readline().strip() == line
            sleep(0.15)
            process.send_signal(signal.SIGSTOP)
            sleep(2.2)
            process.send_signal(signal.SIGCONT)
        assert process.communicate()[0].split() == ["parsed"] * 2
    assert process.returncode == 0
