"""What the student learns from: questions of several styles, never the forbidden ones, whole repositories held out."""

import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from lab.training.data import (
    LIMITS,
    NO_TARGET,
    QuestionSet,
    choose,
    choose_pairs,
    count_words,
    essence,
    prepare,
    questions,
)
from lab.training.examples import as_query, comment, name_words, plain_sentence
from lab.training.grammar import question, reworded
from lab.training.student import parts_of, quantise, write
from tests.encoder.functions import FUNCTIONS, function
from treeline.encoder.static import FIELDS, StaticEncoder, Tokenizer

BASE = ["the", "read", "file", "##s", "##ing", "[PAD]", "Ünïcode", "a"]


def test_the_vocabulary_has_pieces_corpus_words_and_the_base() -> None:
    counts = Counter({"kwargs": 100, "rare": 1, "x": 500})
    chosen = choose(counts, BASE, 100)
    assert {"##s", "##ing", "kwargs", "the", "a", "z"} <= set(chosen)
    assert not {"rare", "[PAD]", "Ünïcode"} & set(chosen)
    assert len(chosen) == len(set(chosen))


def test_a_sentence_is_only_taken_when_it_is_one() -> None:
    assert plain_sentence(FUNCTIONS[0]) == "Read a CSV file into a list of rows."
    assert not plain_sentence(function("f", ">>> doctest(1, 2)"))
    assert not plain_sentence(function("f", "short"))


def test_a_name_and_a_remark_make_questions() -> None:
    assert name_words(function("Cache.get_byURL2")) == ["get", "by", "url"]
    assert (
        comment(function("f", code="x = 1  # wait for the other side\n# type: ignore this"), random.Random(0))
        == "wait for the other side"
    )


def test_an_asked_sentence_has_its_verb_in_base_form() -> None:
    texts = {as_query("Removes duplicates from the list.", random.Random(seed)) for seed in range(40)}
    assert all("removes" not in text for text in texts)
    assert any("python" in text for text in texts)


def test_made_up_questions_differ_and_have_no_open_slot() -> None:
    rng = random.Random(0)
    made = [question(rng) for _ in range(500)]
    assert len(set(made)) > 450
    assert not any("{" in text or "}" in text for text in made)


@pytest.mark.parametrize("forbidden", ["read csv", "csv read python", "how to read csv in python"])
def test_a_forbidden_question_is_never_asked_in_any_dress(forbidden: str) -> None:
    counts = count_words(FUNCTIONS)
    unanswered = questions(200, ["Read CSV", "Sort a list of version numbers"], 0)
    asked = QuestionSet(unanswered=unanswered, never=[forbidden])
    data = prepare(FUNCTIONS, Tokenizer(["read", "csv", "file"]), counts, asked, pairs=8)
    assert essence(forbidden) not in {essence(text) for text in data.texts}
    asked_for = [text for text, target in zip(data.texts, data.targets, strict=True) if target == 1]
    assert any({"send", "mail"} <= essence(text) for text in asked_for)
    assert set(data.targets) == {NO_TARGET, *range(len(FUNCTIONS))}


def test_a_wish_is_asked_in_several_ways() -> None:
    ways = questions(0, ["Converts a list of numbers to the one string that joins them all with commas"], 3)
    assert len(ways) == 4
    assert ways[0].startswith("Converts a list")
    assert all(way == way.lower() and len(way.split()) <= 16 for way in ways[1:])


def test_pairs_are_those_that_questions_and_functions_share() -> None:
    questions = [[0, 1], [0, 1, 2], [3, 4]] * 4
    functions = [[5, 0, 1], [1, 2, 9], [7, 8]] * 4
    assert choose_pairs(questions, functions, 10).tolist() == [[0, 1], [1, 2]]
    assert choose_pairs(questions, functions, 1).tolist() == [[0, 1]]
    assert choose_pairs([], functions, 10).shape == (0, 2)


def test_a_wish_in_other_words_keeps_the_rest() -> None:
    texts = {reworded("remove odd lines", random.Random(seed)) for seed in range(30)}
    assert "remove odd lines" in texts
    assert len(texts) > 2
    assert all(" odd " in text for text in texts)


def test_int8_is_within_half_a_step() -> None:
    table = np.random.default_rng(0).normal(size=(50, 16)).astype(np.float32)
    rows, scale = quantise(table)
    assert (
        np.abs(rows * scale.astype(np.float32)[:, None] - table) <= np.abs(table).max(axis=1, keepdims=True) / 127
    ).all()


def test_a_matrix_comes_back_as_it_was_however_it_lies_in_memory(tmp_path: Path) -> None:
    """A layer's matrices are transposed views of torch's."""
    rng = np.random.default_rng(0)
    tokenizer = Tokenizer(BASE)

    def random(*shape: int) -> NDArray[np.float32]:
        return rng.normal(size=shape[::-1]).astype(np.float32).T

    small = {"weights": np.abs(random(len(FIELDS) + 1, tokenizer.size)), "gates": random(len(FIELDS))}
    for side, inputs in (("function", 6 * len(FIELDS)), ("query", 6)):
        small |= {f"{side}_first": random(inputs, 5), f"{side}_first_bias": random(5)}
        small |= {f"{side}_second": random(5, 6), f"{side}_second_bias": random(6)}
    table = random(tokenizer.size, 6)
    write(tmp_path, tokenizer, table, small, {"version": "test", "limits": LIMITS})
    read = parts_of(StaticEncoder(tmp_path))
    for name, value in {"table": table, **small}.items():
        assert np.allclose(read[name], value, atol=0.03), name
