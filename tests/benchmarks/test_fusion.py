"""The questions that choose the defaults: names hidden where they are asked for, ambiguous ones left out."""

from benchmarks.fusion import HIDDEN, hide_name, identifier_questions, name_questions, words_of
from tests.graph.parsed import parse

SOURCE = '''
class Reader:
    def read_csv_file(self, path):
        """Read rows."""
        return read_csv_file(path)

def open_http_session(url):
    return url

def run(x):
    return x
'''
FUNCTIONS, _ = parse("a.py", SOURCE, "python")


def test_a_hidden_name_is_nowhere_in_the_function() -> None:
    function = hide_name(FUNCTIONS[0])
    assert "read_csv_file" not in function.func_name + function.original_string + function.code
    assert function.func_name == HIDDEN
    assert function.docstring == "Read rows."
    assert function.url == FUNCTIONS[0].url


def test_names_are_asked_for_in_words() -> None:
    assert words_of("Reader.read_csv_file") == "read csv file"
    assert words_of("openHTTPSession") == "open http session"
    assert words_of("parseURLs2") == "parse urls 2"


def test_only_names_of_three_words_that_one_function_has_are_asked_for() -> None:
    assert {asked.text for asked in name_questions(FUNCTIONS, 10)} == {"read csv file", "open http session"}
    twice, _ = parse("b.py", SOURCE, "python")
    assert name_questions([*FUNCTIONS, *twice], 10) == []


def test_identifiers_are_answered_by_every_function_of_that_name() -> None:
    twice, _ = parse("b.py", SOURCE, "python")
    asked = identifier_questions([*FUNCTIONS, *twice], 2)
    assert {question.text for question in asked} == {"read_csv_file", "open_http_session"}
    assert all(len(question.urls) == 2 for question in asked)
