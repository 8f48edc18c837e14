"""What a plain search finds in the standard library is written down; any change is a diff that a person accepts."""

import difflib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.eval.golden import suite

# Under another Python the standard library is another text: ranks move a little, quality must not.
OTHER_PYTHON = 0.07


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return suite.measure(tmp_path_factory.mktemp("golden"))


def test_the_golden_suite_is_as_written_down(measured: dict[str, Any]) -> None:
    expected = suite.EXPECTED.read_text(encoding="utf-8")
    if json.loads(expected)["python"] != measured["python"]:
        assert measured["default"]["mrr"] >= json.loads(expected)["default"]["mrr"] - OTHER_PYTHON
        return
    now = suite.written(measured)
    difference = "\n".join(
        difflib.unified_diff(expected.splitlines(), now.splitlines(), "written down", "now", lineterm="")
    )
    assert now == expected, (
        f"the ranking changed:\n{difference}\nIf it is better or meant: python -m tests.eval.golden.suite --accept"
    )


def test_the_default_is_no_worse_than_keyword_search(measured: dict[str, Any]) -> None:
    assert measured["default"]["mrr"] >= measured["keyword"]["mrr"]


def test_every_answer_is_a_function_of_the_index(tmp_path: Path) -> None:
    from treeline.eval.sets.mined import functions_in

    library = suite.library()
    for case in suite.questions().cases:
        for answer in case.relevant:
            path, _, name = answer.partition("::")
            assert name in functions_in(path, (library / path).read_bytes()), answer
