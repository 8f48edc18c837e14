"""Text to terms: the rules by example, and what holds for any text."""

import string
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treeline.corpus.analysis import LONGEST_WORD, STOP_WORDS, analyse, parts, terms
from treeline.corpus.function import Function

LETTERS = string.ascii_lowercase
PLAIN_WORD = st.text(LETTERS, min_size=2, max_size=10)


@pytest.mark.parametrize(
    ("identifier", "expected"),
    [
        ("parse", ["pars"]),
        ("parseHTTPResponse", ["pars", "http", "respons", "parsehttpresponse"]),
        ("HTTPServer", ["http", "server", "httpserver"]),
        ("snake_case_name", ["snake", "case", "name", "snake_case_name"]),
        ("MAX_BUFFER_SIZE", ["max", "buffer", "size", "max_buffer_size"]),
        ("__init__", ["init"]),
        ("_private_value", ["privat", "valu", "private_value"]),
        ("sha256", ["sha", "256", "sha256"]),
        ("int2str", ["int", "str", "int2str"]),
        ("utf8_to_utf16", ["utf", "16", "utf8_to_utf16"]),
        ("getURLs", ["get", "url", "geturls"]),
        ("userIDs", ["user", "id", "userids"]),
        ("addAdd", ["add", "addadd"]),
        ("to_the", ["to_the"]),
        ("x", []),
        ("v2", ["v2"]),
        ("größenÄnderung", ["größen", "änderung", "größenänderung"]),
        ("ИмяФайла", ["имя", "файла", "имяфайла"]),
        ("読む", ["読む"]),
        ("解析配置文件", ["解析配置文件", "解析", "析配", "配置", "置文", "文件"]),
        ("解析json文件", ["解析", "json", "文件", "解析json文件"]),
        ("ファイル", ["ファイル", "ファ", "ァイ", "イル"]),
        ("ﻣﻠﻒ", ["ملف"]),
        ("ﬁle", ["file"]),
    ],
)
def test_an_identifier_becomes_its_parts_and_the_whole(identifier: str, expected: list[str]) -> None:
    assert terms(identifier) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("how to convert the integers into strings?", ["convert", "integ", "string"]),  # stems without stop words
        ("connect connecting Connections CONNECTED", ["connect"] * 4),
        ("sort sort", ["sort", "sort"]),  # frequency counts
    ],
)
def test_a_text_becomes_its_terms(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


def test_encoded_data_is_left_out() -> None:
    assert terms("iVBORw0KGgo" * 20 + " image") == ["imag"]
    assert terms("a" * LONGEST_WORD) != []


def test_each_field_is_analysed_by_itself() -> None:
    function = Function(
        repo="r",
        path="p.py",
        func_name="Parser.parseJSON",
        original_string="def parseJSON(self): return loads(self.text)",
        language="python",
        code="def parseJSON(self): return loads(self.text)",
        code_tokens=(),
        docstring="Parses the text.",
        docstring_tokens=(),
        sha="",
        partition="",
        url="",
    )
    found = analyse(function)
    name = "parser pars json parsejson"
    assert found == f"{name} {name} pars text {' '.join(terms(function.code))}"


@given(st.text())
def test_any_text_gives_clean_terms(text: str) -> None:
    for term in terms(text):
        assert term
        assert term == term.lower()
        assert not any(letter.isspace() for letter in term)
        assert len(term) > 1 or not term.isascii()


@given(st.text(), st.text())
def test_texts_are_analysed_word_by_word(first: str, second: str) -> None:
    assert terms(f"{first} | {second}") == terms(first) + terms(second)


@given(st.lists(PLAIN_WORD, min_size=2, max_size=5))
def test_every_way_of_joining_words_gives_the_same_parts(words: list[str]) -> None:
    snake = terms("_".join(words))
    screaming = terms("_".join(words).upper())
    camel = terms(words[0] + "".join(word.capitalize() for word in words[1:]))
    assert snake == screaming
    assert snake[:-1] == camel[:-1] or len(dict.fromkeys(words)) == 1
    assert snake[-1] == "_".join(words)
    assert camel[-1] == "".join(words)


@given(st.lists(PLAIN_WORD.filter(lambda word: word not in STOP_WORDS), min_size=2, max_size=5))
def test_an_identifier_is_found_by_each_of_its_words(words: list[str]) -> None:
    found = terms("_".join(words))
    for word in words:
        assert set(terms(word)) <= set(found)


@given(st.from_regex(r"[A-Za-z0-9_]{1,30}", fullmatch=True))
def test_one_identifier_gives_no_term_twice(identifier: str) -> None:
    found = terms(identifier)
    assert len(found) == len(set(found))


@given(st.from_regex(r"\w{1,30}", fullmatch=True))
def test_parts_are_the_identifier_without_its_underscores(identifier: str) -> None:
    assert "".join(parts(identifier)) == "".join(letter for letter in identifier if letter != "_")


def test_a_large_text_takes_linear_time() -> None:
    for text in ("aB" * 500_000, "_" * 1_000_000, "a_" * 500_000, "A" * 1_000_000, "é" * 500_000):
        started = time.process_time()
        terms(text)
        assert time.process_time() - started < 2


@pytest.mark.parametrize(
    ("word", "forms", "other"),
    [
        ("importance", "important importantly", "import imports importing importer"),
        ("authorization", "authorize authorized authority", "author authors"),
        ("positive", "positives positively", "position positions"),
        ("invalidate", "invalidated invalidation", "invalid"),
        ("responsible", "responsibility", "response responses"),
    ],
)
def test_words_that_a_stemmer_confuses_stay_apart(word: str, forms: str, other: str) -> None:
    assert {*terms(forms)} == {*terms(word)}
    assert not {*terms(word)} & {*terms(other)}
