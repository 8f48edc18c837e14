"""What an exact search looks for, and the order of what it finds."""

import pytest

from treeline.engine.text import Matcher


@pytest.mark.parametrize(
    ("text", "best_first"),
    [
        ("parse", ["parse", "Reader.parse", "parse_all", "Reader.reparse", "read"]),
        ("Parse", ["Parse", "Reader.Parse", "ParseAll", "Reader.DoParse", "parse"]),
        ("parse all", ["read", "parse_all"]),
    ],
)
def test_a_definition_comes_first_then_names_with_the_text_then_the_rest(text: str, best_first: list[str]) -> None:
    matcher = Matcher.phrase(text)
    ranks = [matcher.rank(name, 10)[0] for name in best_first]
    assert ranks == ([0, 0, 1, 1, 2] if " " not in text else [2, 2])


def test_short_units_come_before_long_ones_of_the_same_standing() -> None:
    matcher = Matcher.phrase("parse")
    sizes = [("Reader.parse", 900), ("parse", 30), ("parse_all", 5), ("read", 2), ("other", 1)]
    ranked = sorted(sizes, key=lambda unit: matcher.rank(*unit))
    assert [name for name, _ in ranked] == ["parse", "Reader.parse", "parse_all", "other", "read"]


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("max_size", "MAX_SIZE = 1", True),  # lower-case letters match both
        ("Max", "max", False),
        (r"\Sx", "ax", True),  # `\S` is no upper-case letter
        (r"\SX", "ax", False),
        (r"^b", "a\nb", True),
    ],
)
def test_an_upper_case_letter_makes_a_regular_expression_case_sensitive(pattern: str, text: str, found: bool) -> None:
    assert Matcher.regex(pattern).matches(text) is found


def test_a_phrase_matches_across_lines_and_in_any_of_the_texts() -> None:
    matcher = Matcher.phrase("return  None")
    assert matcher.matches("other", "if x:\n    return\n    None")
    assert not matcher.matches("return  none")
    assert not matcher.matches("None return")
    assert not matcher.matches()
