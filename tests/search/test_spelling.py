"""Words typed wrong are looked for as they were meant, and what may be a word is left alone."""

import pytest

from treeline.search.plan import route
from treeline.search.query import Corrections, correct, doubtful


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("convrt int to strng", ["convrt", "strng"]),
        ("Convrt an int", ["convrt"]),
        ("read the accented letters singly", []),
        ("what calls convrt", []),  # a name: near ones are told by the graph
        ("convrt_int to a string", []),
        ("call convrt() twice", []),
        ("open a fiel.txtt", []),
        ("the 'recieve' event", []),
        ("a RECIEVE event", []),
        ("pandas sqlite numpy opencv golang javascript", []),
        ("conver it to an interger", ["conver", "interger"]),
        ("größe der dateien", ["dateien"]),
        ("liest zeilenweise dateien und wandelt zeichenketten umlaute schriftarten", []),
    ],
)
def test_plain_words_that_no_dictionary_has_are_doubtful(text: str, words: list[str]) -> None:
    assert doubtful(text, route(text).symbols) == words


@pytest.mark.parametrize(
    ("word", "near", "meant"),
    [
        ("convrt", {"convrt": 0, "convert": 5}, "convert"),
        ("adress", {"adress": 3, "address": 2_000}, "address"),
        ("widht", {"widht": 0, "width": 3}, "width"),
        ("untill", {"untill": 3, "until": 900}, "until"),
        ("progess", {"progess": 0, "process": 900, "progress": 700}, "progress"),
        ("sqlalchmy", {"sqlalchmy": 0, "sqlalchemy": 40}, "sqlalchemy"),
        ("interger", {"interger": 0, "integer": 900}, "integer"),
        ("conver", {"conver": 1, "convert": 900}, "convert"),
        ("strng", {"strng": 0, "string": 900}, "string"),
        ("iteems", {"iteems": 0, "items": 9}, "items"),
        ("lsit", {"lsit": 0, "list": 900}, "list"),
        ("flot", {"flot": 0, "float": 900}, ""),  # so short it may be anything
        ("vaild", {"vaild": 12, "valid": 90}, ""),  # too many write it for a slip
        ("runge", {"runge": 0, "range": 8_000}, ""),  # another letter may make another word
        ("fastapi", {"fastapi": 0, "fastai": 90}, ""),
        ("qwrtz", {"qwrtz": 0, "qwertz": 2}, ""),  # no word, and hardly anybody has it
        ("unzipp", {"unzipp": 0}, ""),
        ("unzipp", {}, ""),
    ],
)
def test_the_likeliest_word_near_it_is_meant(word: str, near: dict[str, int], meant: str) -> None:
    expected = Corrections(f"to {meant}", ((word, meant),)) if meant else Corrections(f"to {word}")
    assert correct(f"to {word}", {word: near}) == expected


def test_what_was_mended_is_told_as_it_was_typed() -> None:
    near = {"convrt": {"convrt": 0, "convert": 5}, "strng": {"strng": 0, "string": 9}}
    mended = correct("Convrt a strng, convrt_it", near)
    assert mended.text == "Convert a string, convrt_it"
    assert mended.sentence == "searched for “Convert” instead of “Convrt”, “string” instead of “strng”"
    assert Corrections("as it was").sentence == ""
