"""Code as HTML: coloured, marked where the question's words are, and cut where it is long."""

import itertools
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from pytest import mark

from tests.fuzz.hostile_files import processor_seconds
from treeline.ingest.parsers.registry import languages
from treeline.search.occurrences import Needle
from treeline.service.present.highlight import (
    PREVIEW_LINES,
    file_lines,
    mark_prose,
    preview,
    question_words,
    whole,
)
from treeline.service.present.tokenizer import pieces, tokenizer, unit_pieces


def text(html: str) -> str:
    return (
        re.sub(r"<[^>]+>", "", html)
        .replace("&#39;", "'")
        .replace("&#34;", '"')
        .replace("&lt;", "<")
        .replace("&gt;", ">")
    )


def marks(html: str) -> list[str]:
    return re.findall("<mark>(.*?)</mark>", html)


def test_parts_of_identifiers_that_the_question_names_are_marked() -> None:
    code = "def sort_listOfDicts(items):\n    return sorted(items)"
    assert marks(preview("python", code, question_words("sorting a list")).html) == ["sort", "list", "sorted"]


def test_prose_is_marked_by_stems() -> None:
    assert marks(mark_prose("Retries the call; retried thrice.", question_words("retry"))) == ["Retries", "retried"]


@mark.parametrize(
    ("prose", "question", "expected"),
    [
        ("Gibt die Größe zurück.", "größe", ["Größe"]),
        ("grün", "gr", []),
        ("解析配置文件", "配置", ["配置"]),
        ("解析配置文件", "配置文件", ["配置", "文", "件"]),
        ("读取json文件", "json 文件", ["json", "文件"]),
    ],
)
def test_words_beyond_ascii_are_marked(prose: str, question: str, expected: list[str]) -> None:
    assert marks(mark_prose(prose, question_words(question))) == expected
    assert text(mark_prose(prose, question_words(question))) == prose


@mark.parametrize("language", ["python", "java", "go", "javascript", "php", "ruby", "typescript"])
def test_the_text_is_what_it_was(language: str) -> None:
    code = "function f(a) {\n  return a < 1 ? 'x' : \"y\";\n}"
    assert text(whole(language, code, frozenset({"f"})).html) == code
    assert preview("php", "function f($a) { return 1; }", frozenset()).html.count("<span") >= 2


def test_a_method_stands_as_it_would_alone() -> None:
    method = "def open(self):\n        if self:\n            return 1"
    assert text(preview("python", method, frozenset()).html) == "def open(self):\n    if self:\n        return 1"
    brace = "void f() {\n        g();\n    }"
    assert text(preview("java", brace, frozenset()).html) == "void f() {\n    g();\n}"


def test_long_functions_and_lines_are_cut_and_say_so() -> None:
    snippet = preview("python", "def f():\n" + "    x = 1\n" * 40 + "    return x", frozenset())
    assert snippet.html.count("\n") == PREVIEW_LINES - 1 and snippet.more == 42 - PREVIEW_LINES
    assert len(preview("python", "x = '" + "a" * 4_000 + "'", frozenset()).html) < 1_000


LONG = """def retry(call, times):
    \"\"\"Try again and again.

    The delay grows.
    \"\"\"
    first = 1

    second = 2
    wait = backoff(delay)
    sleep(wait)
    return call()
"""


def test_a_preview_has_the_head_and_the_lines_that_match_best_with_their_numbers() -> None:
    shown = preview("python", LONG, question_words("backoff with a delay"), 40)
    assert shown.numbers == "40\n48\n49"
    assert "backoff" in shown.html and "again and again" not in shown.html
    assert shown.more == 8


def test_a_preview_prefers_the_line_that_has_the_exact_text() -> None:
    assert preview("python", LONG, frozenset(), 1, Needle.of_text(["second = 2"]).occurrences).numbers == "1\n8\n9"


def test_what_matches_an_expression_is_marked_and_nothing_else() -> None:
    find = Needle.of_text((), r"sec\w+ = \d").occurrences
    for shown in (preview("python", LONG, question_words("delay"), 1, find), whole("python", LONG, frozenset(), find)):
        assert "".join(marks(shown.html)) == "second = 2"


def test_a_short_function_is_shown_whole() -> None:
    shown = preview("python", "def f():\n    return 1\n", frozenset(), 7)
    assert (shown.numbers, shown.more) == ("7\n8", 0)


def test_a_signature_over_several_lines_is_shown_on_one() -> None:
    code = "def send(\n    to,\n    text,\n):\n    first = 1\n    mail(to)\n    return text\n"
    shown = preview("python", code, question_words("mail"), 10)
    assert text(shown.html).split("\n") == ["def send(to, text):", "    mail(to)", "    return text"]
    assert (shown.numbers, shown.more) == ("10\n15\n16", 1)


def test_lines_of_a_class_whose_text_is_shorter_than_its_lines_have_no_false_numbers() -> None:
    shown = preview("python", LONG, question_words("backoff"), 40, whole_text=False)
    assert shown.numbers == "40\n\n"


def test_roles_are_classes_in_any_grammar() -> None:
    python = whole("python", "@cached\ndef f(a: int) -> str:  # why\n    return g(a, 1) or 'x'", frozenset()).html
    for piece in ('<span class="a">cached', 'class="k">def', 'class="f">f<', 'class="b">int<', 'class="c"># why',
                  'class="f">g<', 'class="n">1', 'class="s">&#39;x&#39;'):  # fmt: skip
        assert piece in python, piece
    go = whole("go", "func (q *Queue) Push(x int) error {\n\treturn nil // no\n}", frozenset()).html
    for piece in ('class="k">func', 'class="b">Queue', 'class="f">Push', 'class="k">return', 'class="c">// no'):
        assert piece in go, piece
    assert '<span class="f">size</span>' in whole("java", "int size() { return 1; }", frozenset()).html
    assert '<span class="k">return' in whole("php", "function f() { return 1; }", frozenset()).html
    assert 'class="n">1' in whole("json", '{"a": 1}', frozenset()).html


SECONDS = 1.5  # .5 on a quiet machine; what this guards against took over ten
HOSTILE = {
    "scala": 'object A {\n  def f() = {\n    val a = "' + "\\" * 60 + "\n  }\n}\n",
    "elisp": "(defun f () (*" + "a." * 50 + ")",
    "brackets": "(" * 8_000,
    "braces": "{" * 8_000,
    "quotes": '"' * 8_000,
    "ticks": "'\n" * 10_000,
    "backslashes": "\\" * 8_000,
    "names": "a." * 4_000,
    "comments": "/*(*{-" * 3_000,
    "strings": '"${' * 6_000,
    "tags": "<a " * 6_000,
    "zeros": "a\0" * 4_000,
    "indents": "".join(" " * (at % 300) + "if a:\n" for at in range(600)),
}


numbers = itertools.count()


@contextmanager
def within(seconds: float, language: str) -> Iterator[None]:
    """Fails if this thread and the processes that parse take more processor time; those have started before."""
    unit_pieces(f"x = {next(numbers)}", language)
    begin = processor_seconds()
    yield
    assert processor_seconds() - begin < seconds


@mark.parametrize("name", HOSTILE)
def test_a_hostile_text_is_shown_in_time_in_every_language(name: str) -> None:
    for language in languages():
        with within(SECONDS, language):
            assert whole(language, HOSTILE[name], frozenset({"a"})).html


# Kotlin's scanner calls abort, Dart's reads what is not its own, C# takes 25 GB, or minutes for a single step.
FATAL = {"kotlin": '"${' * 1_100, "dart": "\u202ea\u2066" * 2_860, "csharp": "<a " * 20_000}


@mark.parametrize("language", FATAL)
def test_a_text_that_its_grammar_does_not_survive_is_shown_plainly_and_only_once_tried(language: str) -> None:
    for limit in (SECONDS, SECONDS / 10):
        with within(limit, language):
            assert pieces(FATAL[language], language) == (("", FATAL[language]),)
    assert len(unit_pieces("class A { int a = 1; }", "java")) > 3


def test_a_forked_process_has_a_tokenizer_of_its_own() -> None:
    unit_pieces("a = 1", "python")
    if not (child := os.fork()):
        os._exit(int(tokenizer._process is not None or len(unit_pieces("a = 2", "python")) < 2))
    assert os.waitpid(child, 0)[1] == 0


BLANK = {"python": "\n" * 300_000, "c": " " * 300_000, "scala": "\t\n" * 100_000, "markdown": "\n" * 300_000}


@mark.parametrize("language", BLANK)
def test_a_long_blank_file_is_shown_in_time(language: str) -> None:
    with within(SECONDS, language):
        assert len(file_lines(BLANK[language], language)) == BLANK[language].count("\n") + 1
    with within(SECONDS, language):
        preview(language, f"def f():{BLANK[language]}pass", frozenset())


def test_a_unit_without_any_words_has_a_preview() -> None:
    assert preview("python", "def f(): #" + "\n" * 500 + ".", frozenset()).html.startswith('<span class="k">def')
