"""Pseudo-relevance feedback adds what the first results have in common, and keeps the question the larger part."""

import subprocess
import sys

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from treeline.rerank.expansion import EXTRA, REPETITIONS, expand, related_terms, weights

FIRST = [["retri", "backoff", "sleep", "attempt"], ["retri", "backoff", "delay", "sleep"]] * 5
REST = [["retri", "button", "click", "window"], ["number", "string", "window"]] * 10


def test_terms_that_mark_the_first_results_are_added() -> None:
    added = related_terms(["retri"], FIRST + REST)
    assert added[:2] == ["backoff", "sleep"]
    assert "window" not in added[:4]


def test_the_terms_of_the_question_are_kept_and_not_added_again() -> None:
    words = expand(["retri", "backoff"], FIRST + REST)
    assert words[: 2 * REPETITIONS] == ["retri"] * REPETITIONS + ["backoff"] * REPETITIONS
    assert not {"retri", "backoff"} & set(words[2 * REPETITIONS :])
    assert len(words) <= 2 * REPETITIONS + EXTRA


def test_as_many_terms_are_added_however_many_the_question_has() -> None:
    many = [[f"term{number:02d}" for number in range(2 * EXTRA)]]
    assert related_terms(["x"], many) == many[0][:EXTRA]
    assert related_terms(many[0][:5], many) == many[0][5 : EXTRA + 5]
    assert related_terms(["x"], many, extra=2) == many[0][:2]


def test_without_results_the_question_stays_as_it_is() -> None:
    assert expand(["retri"], []) == ["retri"] * REPETITIONS
    assert expand(["retri"], [[], []]) == ["retri"] * REPETITIONS
    assert expand([], []) == []


def test_the_same_question_is_always_extended_alike() -> None:
    documents = [["b", "a", "d", "c"], ["d", "c", "b", "a"]]
    assert related_terms(["x"], documents) == related_terms(["x"], documents) == ["a", "b", "c", "d"]


def test_the_weights_are_those_of_scikit_learn() -> None:
    documents = [*FIRST, *REST, [], ["retri", "retri", "retri", "once"]]
    reference = TfidfVectorizer(analyzer=str.split, sublinear_tf=True)
    expected = reference.fit_transform([" ".join(document) for document in documents]).toarray()
    names, found = weights(documents)
    assert names == reference.get_feature_names_out().tolist()
    np.testing.assert_allclose(found, expected)


def test_a_process_that_expands_for_the_first_time_does_not_wait_for_scikit_learn() -> None:
    """That import takes seconds without bytecode, longer than the lane's time-out."""
    program = "import sys; from treeline.rerank.expansion import expand; expand(['a'], [['a', 'b']])"
    program += "; print('sklearn' in sys.modules)"
    asked = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert asked.stdout.strip() == "False"
