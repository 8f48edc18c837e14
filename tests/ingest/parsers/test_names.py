"""Names with dots: remembered, and read of a text of any length in time in proportion."""

import pytest

from treeline.ingest.parsers import names
from treeline.ingest.parsers.names import MAX_CHAIN, MAX_TARGET, target


def test_names_are_remembered_until_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "CACHE_SIZE", 2)
    known = names._Cache(names.dotted_name)
    assert [known[name] for name in (b"a::b", b"c")] == ["a.b", "c"]
    assert set(known) == {b"a::b", b"c"}
    assert known[b"d"] == "d"
    assert set(known) == {b"d"}


def test_of_a_very_long_name_the_last_part_is_left() -> None:
    longest = b"first." + b"n" * (MAX_TARGET - 6)
    assert target(longest, 0, len(longest)).startswith("first.nn")
    longer = b"first." + b"n" * (MAX_TARGET - 10) + b".last"
    assert target(longer, 0, len(longer)) == "?.last"


def test_a_chain_may_be_longer_than_a_name() -> None:
    steps = b".step" * 60
    longest = b"open('" + b"x" * (MAX_CHAIN - 8 - len(steps)) + b"')" + steps
    assert len(longest) == MAX_CHAIN
    assert target(longest, 0, MAX_CHAIN, is_chain=True) == "open()" + steps.decode()
    assert target(b"x" + longest, 0, MAX_CHAIN + 1, is_chain=True) == "?.step"
