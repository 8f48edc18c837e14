"""A question that says which way round is not answered by the opposite, however many words they share."""

import pytest

from treeline.corpus.function import Address
from treeline.rerank.candidates import Candidate, Contribution, RerankContext
from treeline.rerank.evidence import contradictions, opposite
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
        ("json to csv", "Json.from_csv"),
        ("json to csv", "Csv.to_json"),
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
        ("csv to json", "Json.from_csv"),
        ("csv to json", "Csv.to_json"),
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


@pytest.mark.parametrize(
    ("question", "denying", "twin"),
    [
        ("is empty", "Box.is_not_empty", "Box.is_empty"),
        ("is the box not empty", "isEmpty", "isNotEmpty"),
        ("encode without crc", "encode_with_crc", "encode_without_crc"),
        ("encode with crc", "encode_without_crc", "encode_with_crc"),
        ("parse no cache", "_parseCache", "_parseNoCache"),
        ("unmarshal field non ptr", "unmarshalFieldPtr", "unmarshalFieldNonPtr"),
        ("is it present", "present_not?", "present?"),
    ],
)
def test_of_two_twins_the_one_that_denies_otherwise_comes_second(question: str, denying: str, twin: str) -> None:
    assert contradictions(question, [denying, twin]) == {0: 1}
    assert contradictions(question, [twin, denying]) == {1: 0}


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("is empty", ["is_not_empty", "count"]),  # no twin to prefer
        ("create directory if not exists", ["ensure_directory_exists", "make_directory"]),
        ("read a file without loading it", ["load_file", "read_file"]),
        ("line number", ["lineNo", "line"]),  # a number, not a negation
        ("is empty", ["is_empty", "empty"]),
        ("handle exceptions", ["handle_exception", "handle"]),
    ],
)
def test_a_negation_without_a_twin_moves_nothing(question: str, names: list[str]) -> None:
    assert contradictions(question, names) == {}


def test_the_default_ranker_puts_the_denying_twin_right_behind_the_other() -> None:
    found = [
        Candidate(
            name,
            Address("owner/one", f"{name}.py", name, "python", ""),
            score,
            (Contribution("keyword", rank, score, score / 2), Contribution("dense", rank, score, score / 2)),
        )
        for rank, (name, score) in enumerate([("is_not_empty", 1.0), ("is_empty", 0.9), ("far", 0.1)], 1)
    ]
    ranked = TreeRanking()(found, RerankContext("is the box empty"))
    assert [one.id for one in ranked] == ["is_empty", "is_not_empty", "far"]
    assert "opposite" in ranked[1].reason
