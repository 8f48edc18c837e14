"""What speaks against a function whatever is asked: counted rightly, and paid for in any nearest-neighbour search."""

from dataclasses import replace

import numpy as np
import pytest

from tests.encoder.functions import FUNCTIONS, function
from treeline.encoder.protocol import MARK_COST, REACH, STUB, add_to_functions, add_to_queries, marks, strip_prior
from treeline.encoder.static import StaticEncoder

BODY = """
def read(path):
    with open(path, encoding="utf-8") as lines:
        return [line.split(",") for line in lines]
"""
SILENT = BODY.replace("return [", "print([").replace("in lines]", "in lines])")


@pytest.mark.parametrize(
    ("name", "code", "language", "counted"),
    [
        ("read", BODY, "python", 0),
        ("Reader.read", BODY, "python", 1),
        ("Reader._read", BODY, "python", 2),
        ("Reader.__iter__", BODY, "python", 2),
        ("read", SILENT, "python", 1),
        ("read", SILENT, "ruby", 0),
        ("read", SILENT, "rust", 0),
        ("read", SILENT, "go", 1),
        ("read", "def read(path):\n    return None\n", "python", 1),
        ("Reader._read", "def _read(self): ...", "python", 4),
        ("read", "const read = (path) => " + "x" * STUB, "javascript", 0),
    ],
)
def test_marks_are_counted(name: str, code: str, language: str, counted: int) -> None:
    assert marks(replace(function(name, code=code), language=language)) == counted


def test_nearest_neighbours_are_ranked_by_cosine_less_the_cost_of_the_marks() -> None:
    encoder = StaticEncoder.shipped()
    questions = ["read comma separated values", "send an email", "retry with a longer pause each time"]
    functions = [*FUNCTIONS, *(replace(one, func_name=f"Owner._{one.func_name}") for one in FUNCTIONS)]
    asked, found = encoder.encode_queries(questions), encoder.encode_functions(functions)
    cosines = strip_prior(asked) @ strip_prior(found).T
    costs = MARK_COST * np.array([marks(one) for one in functions])
    lengths = np.sqrt(1 + REACH**2) * np.sqrt(1 + (costs / REACH) ** 2)
    assert np.allclose((asked @ found.T) * lengths, cosines - costs, atol=1e-5)
    assert costs.max() > costs.min()
    assert lengths.max() < 1.03 * lengths.min()


def test_of_two_that_mean_the_same_the_one_to_call_comes_first() -> None:
    encoder = StaticEncoder.shipped()
    free, inner = function("read_csv", code=BODY), function("Table._read_csv", code=BODY)
    first, second = encoder.encode_functions([free, inner]) @ encoder.encode_queries(["read csv file"])[0]
    assert first > second


def test_a_function_without_a_word_stays_nothing() -> None:
    nothing = np.zeros((1, 4), dtype=np.float32)
    assert not add_to_functions(nothing, [function("", code="")]).any()
    assert not add_to_queries(nothing).any()
    assert not strip_prior(add_to_queries(nothing)).any()
