"""Every occurrence of exact text and expressions, as grep finds them."""

import re
import subprocess
from pathlib import Path

import pytest

from treeline.search.occurrences import Needle, lines_at

TEXT = """\
def read(path):
    # Read the path,
    #   the path alone
    return open(path).read()

PATH = "a"; path = PATH
"""


def numbers(needle: Needle, text: str) -> list[int]:
    return [line.number for line in lines_at(text, needle.occurrences(text))]


@pytest.mark.parametrize(
    "pattern", ["path", r"pa\w+", r"^\s*#", "[^x]*read", r"re(ad|turn)\b", "$", r"\(.*\)", "a|PATH"]
)
def test_an_expression_matches_every_line_that_grep_matches(pattern: str, tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text(TEXT)
    case = [] if re.search("[A-Z]", pattern) else ["-i"]
    said = subprocess.run(["grep", "-nP", *case, "--", pattern, file], capture_output=True, text=True, check=False)
    expected = {int(line.partition(":")[0]) for line in said.stdout.splitlines()}
    assert expected and expected <= set(numbers(Needle.of_text((), pattern), TEXT))


def test_case_counts_if_the_text_has_an_upper_case_letter_unless_told_otherwise() -> None:
    assert numbers(Needle.of_text(["path"]), TEXT) == [1, 2, 3, 4, 6]
    assert numbers(Needle.of_text(["PATH"]), TEXT) == [6]
    assert numbers(Needle.of_text(["PATH"], ignore_case=True), TEXT) == [1, 2, 3, 4, 6]


def test_any_whitespace_in_a_phrase_spans_lines_and_the_expression_too() -> None:
    assert numbers(Needle.of_text(["pass else"]), "if a:\n    pass\nelse:\n") == [2, 3]
    assert numbers(Needle.of_text((), r"pass\s+else"), "if a:\n    pass\nelse:\n") == [2, 3]


def test_a_file_is_read_closely_only_if_it_has_every_literal() -> None:
    needle = Needle.of_text(["Some Text"], r"caf\w+ öl x+yz")
    assert needle.may_be_in("Some…Text CAFÉ l xyz".encode())
    assert not needle.may_be_in(b"some text caf yz")
    assert not needle.may_be_in(b"Some Text caf")
