"""A question that names a language is answered in it first."""

from time import process_time

import pytest

from treeline.corpus.function import Address
from treeline.rerank.candidates import Candidate, Contribution, RerankContext
from treeline.rerank.evidence import named_language, others
from treeline.rerank.tree import TreeRanking

QUESTION = "read a file"


@pytest.mark.parametrize(
    ("question", "language", "rest"),
    [
        ("python check if a string is json", "python", "check if a string is json"),
        ("Python3: merge two dicts", "python", "merge two dicts"),
        ("get the last day of month python", "python", "get the last day of month"),
        ("how to sort a list in Python?", "python", "how to sort a list"),
        ("how do I in python flatten a list", "python", "how do I flatten a list"),
        ("read a file in go", "go", "read a file"),
        ("golang http server", "go", "http server"),
        ("parse in ruby", "ruby", "parse"),
        ("parse yaml (node.js)", "javascript", "parse yaml"),
        ("sort an array with js", "javascript", "sort an array"),
        ("encode using node", "javascript", "encode"),
        ("array_map for php", "php", "array_map"),
        ("python version", "python", "python version"),  # may be about the word
        ("install python", "python", "install python"),
    ],
)
def test_a_language_is_named_first_or_last_or_after_in(question: str, language: str, rest: str) -> None:
    wanted = named_language(question)
    assert wanted.language == language
    assert wanted.rest.split() == rest.split()


@pytest.mark.parametrize(
    "question",
    [
        "",
        "read a file",
        "python",
        "in python",
        "convert python dict to json",  # it is the dict that is Python's
        "javascript date to python datetime",
        "call java from python",
        "go to the next line",
        "node in a tree",
        "what calls python_version",
        "python.exe path",
        "javac options",
    ],
)
def test_a_language_that_is_part_of_the_matter_is_not_asked_for(question: str) -> None:
    assert named_language(question) == ("", question)


@pytest.mark.parametrize(
    "text", [" " * 200_000, "in " * 60_000, "python " * 30_000, "x" + "(" * 200_000, "in" + " " * 200_000]
)
def test_a_long_question_is_read_at_once(text: str) -> None:
    begin = process_time()
    named_language(f"a {text} b")
    assert process_time() - begin < 5  # it takes milliseconds; what looks again from every place takes minutes


def test_functions_of_other_languages_are_known() -> None:
    assert others(f"{QUESTION} in go", lambda: ["go", "python", "java"]) == [False, True, True]
    assert others(f"{QUESTION} in javascript", lambda: ["typescript", "php"]) == [False, True]


def test_nobody_is_a_stranger_where_nobody_is_at_home() -> None:
    assert others(f"{QUESTION} in ruby", lambda: ["python", "go"]) == []
    assert others(f"{QUESTION} in python", lambda: ["python", "python"]) == []
    assert others(QUESTION, lambda: pytest.fail("nobody had to be asked")) == []


def found(*languages: str) -> list[Candidate]:
    scores = [1.0 - 0.2 * place for place in range(len(languages))]
    return [
        Candidate(
            language,
            Address(f"owner/{language}", "read", "read", language, ""),
            score,
            (Contribution("keyword", rank, score, score / 2), Contribution("dense", rank, score, score / 2)),
        )
        for rank, (language, score) in enumerate(zip(languages, scores, strict=True), 1)
    ]


def test_the_default_ranker_puts_the_language_that_is_asked_for_first_and_says_why() -> None:
    ranked = TreeRanking()(found("python", "go", "java", "ruby"), RerankContext(f"{QUESTION} in go"))
    assert [one.id for one in ranked] == ["go", "python", "java", "ruby"]
    assert [one.reason.partition(":")[0] for one in ranked] == ["raised", "lowered", "same rank", "same rank"]
    assert "others lost more" in ranked[0].reason
    assert "another language than the query names" in ranked[1].reason
    assert not any("language" in one.reason for one in TreeRanking()(ranked, RerankContext(QUESTION)))


def test_an_answer_that_is_far_better_stays_in_front() -> None:
    ranked = TreeRanking()(
        found("python", "java", "php", "ruby", "javascript", "go"), RerankContext(f"{QUESTION} in go")
    )
    assert ranked[0].id == "python"
