"""Numbers in sentences."""

import pytest

from treeline.corpus.counting import counted


@pytest.mark.parametrize(
    ("count", "noun", "said"),
    [
        (0, "function", "0 functions"),
        (1, "function", "1 function"),
        (1_234, "function", "1,234 functions"),
        (2, "class", "2 classes"),
        (2, "index", "2 indexes"),
        (3, "repository", "3 repositories"),
    ],
)
def test_one_is_singular(count: int, noun: str, said: str) -> None:
    assert counted(count, noun) == said
