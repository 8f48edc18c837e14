"""Docstring retrieval: the docstring asks, and is nowhere in what is searched."""

from dataclasses import replace

import pytest

from treeline.corpus.errors import InputError
from treeline.corpus.function import Address, Function
from treeline.engine.protocol import Hit
from treeline.eval.sets import docstrings


def function(number: int, docstring: str) -> Function:
    code = f"def f{number}(x):\n    y = {number}\n    return x + y"
    written = code.replace("\n", f'\n    """{docstring}"""\n', 1)
    url = f"https://github.com/o/r/blob/c/f.py#L{number}-L{number}"
    return Function("o/r", "f.py", f"f{number}", written, "python", code, (), docstring, ("x",), "", "test", url)


FUNCTIONS = [function(number, f"Adds the number {number} to its argument.") for number in range(1, 40)]


def test_the_same_seed_draws_the_same_questions_in_whatever_order_functions_come() -> None:
    one = docstrings.prepare(FUNCTIONS, questions=5, pool=20)
    other = docstrings.prepare(list(reversed(FUNCTIONS)), questions=5, pool=20)
    assert one == other
    assert (len(one.questions), len(one.pool)) == (5, 20)


def test_nothing_that_is_indexed_holds_a_docstring() -> None:
    for kept in docstrings.prepare(FUNCTIONS, questions=5, pool=None).pool:
        assert kept.docstring == ""
        assert not kept.docstring_tokens
        assert "Adds the number" not in kept.original_string + kept.code


def test_every_question_has_its_function_in_the_pool() -> None:
    experiment = docstrings.prepare(FUNCTIONS, questions=10, pool=12)
    assert {url for url, _ in experiment.questions} <= {kept.url for kept in experiment.pool}


def test_a_question_is_the_first_paragraph() -> None:
    assert docstrings.question(function(1, "Adds one to it.\nIndeed.\n\n:param x: it")) == "Adds one to it. Indeed."
    assert docstrings.question(function(1, "Adds.")) == ""
    assert docstrings.question(function(1, "")) == ""


@pytest.mark.parametrize("name", ["__init__", "Class.__str__", "test_adds", "Class.run_tests"])
def test_tests_and_double_underscore_methods_do_not_ask(name: str) -> None:
    assert docstrings.question(replace(function(1, "Adds one to it."), func_name=name)) == ""


def test_one_liners_do_not_ask() -> None:
    assert docstrings.question(replace(function(1, "Adds one to it."), code="def f(x):\n    return x + 1")) == ""


def test_too_few_docstrings_are_one_line() -> None:
    with pytest.raises(InputError, match="only 39 functions have a usable docstring, 999 are needed"):
        docstrings.prepare(FUNCTIONS)


def test_an_answer_scores_by_its_rank() -> None:
    data = docstrings.dataset(docstrings.prepare(FUNCTIONS, questions=1, pool=3), "tiny")
    (url,) = data.cases[0].relevant
    hits = [Hit(key, 1.0, Address("o/r", "f.py", "f", "python", key)) for key in ("x", url)]
    measured = data.measure(data.cases[0], hits)
    assert (measured["mrr"], measured["recall_1"], measured["recall_10"]) == (0.5, 0.0, 1.0)
