"""A question that says which way round is not answered by the opposite, however many words they share."""

import pytest

from treeline.corpus.function import Address
from treeline.rerank.candidates import Candidate, Contribution, RerankContext
from treeline.rerank.direction import opposite
from treeline.rerank.tree import TreeRanking


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("convert int to string", "string_to_int"),
        ("how to turn an int into a string in python", "Parser.str2int"),
        ("integer to str", "stringToInteger"),
        ("hex from bytes", "hex_to_bytes"),
        ("hex to rgb", "hex_from_rgb"),
        ("convert int to string", "Mixin.to_int"),
        ("convert int to string", "convert_to_int"),
        ("convert camel case to snake case", "snake_case_to_headless_camel_case"),
        ("unix time to local time", "local_time_to_unix_time"),
        ("convert int to string", "atoi"),
    ],
)
def test_the_opposite_is_known_for_what_it_is(question: str, name: str) -> None:
    assert opposite(question, lambda: [name]) == [True]


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("convert int to string", "int_to_string"),
        ("convert int to string", "int_to_str_to_int"),  # both ways
        ("convert int to string", "string_to_date"),
        ("convert int to string", "to_string"),
        ("rgb from hex", "hex_to_rgb"),
        ("save list to file", "save_file"),
        ("list of strings to strings in a list", "strings_to_list"),
        ("convert camel case to snake case", "camel_case_to_snake_case"),
        ("string to string", "string_to_string"),
        ("convert string to int", "atoi"),
        ("pushing and loading models from HuggingFace Hub", "push_folder_to_hub"),
    ],
)
def test_nothing_else_is_taken_for_it(question: str, name: str) -> None:
    assert opposite(question, lambda: [name]) == [False]


@pytest.mark.parametrize("question", ["", "read a file", "how to read a file", "to string", "from here", "to to from"])
def test_a_question_without_two_sides_has_no_direction(question: str) -> None:
    assert opposite(question, lambda: pytest.fail("nobody had to be asked")) == []


def test_the_default_ranker_puts_the_opposite_behind_and_says_why() -> None:
    found = [
        Candidate(
            name,
            Address("owner/one", f"{name}.py", name, "python", ""),
            score,
            (Contribution("keyword", rank, score, score / 2), Contribution("dense", rank, score, score / 2)),
        )
        for rank, (name, score) in enumerate([("string_to_int", 1.0), ("int_to_string", 0.9), ("far", 0.1)], 1)
    ]
    ranked = TreeRanking()(found, RerankContext("convert int to string"))
    assert [one.id for one in ranked][:2] == ["int_to_string", "string_to_int"]
    assert "opposite" in ranked[1].reason
