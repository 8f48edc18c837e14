"""No name of an index is taken by something of ours, on either engine; what cannot be a name is said at once."""

import pytest

from tests.engine.functions import SAMPLE, build
from treeline.corpus.errors import InputError
from treeline.engine.names import LONGEST, NAME, alias_name, check_name, index_name, internal_name, parse_index_name
from treeline.engine.protocol import Store

OURS = ["writers", "feedback", "feedback-x", "keys.json", "current", "lock", "building", "000001", "a.b", "a" * LONGEST]
ODD = ["", "Upper", "ünï", ".x", "-x", "_all", "*", "a,b", "a/b", "..", "../x", "a b", "a\n"]
BAD = [*ODD, "a" * (LONGEST + 1), "a-000001"]


@pytest.mark.parametrize("bad", BAD)
def test_what_cannot_be_a_name_is_bad_input_for_every_use(store: Store, bad: str) -> None:
    for use in (store.open, store.generations, store.prune, store.drop, lambda name: store.begin(name, [], "f")):
        with pytest.raises(InputError, match="cannot be the name of an index"):
            use(bad)


@pytest.mark.parametrize(("bad", "hint"), [("a b", "lower-case letters"), ("a-000001", "another name")])
def test_a_bad_name_comes_with_what_to_do(bad: str, hint: str) -> None:
    with pytest.raises(InputError) as refused:
        check_name(bad)
    assert repr(bad) in refused.value.message
    assert hint in refused.value.hint


def test_an_index_may_have_any_name_that_is_used_within(store: Store) -> None:
    try:
        for name in OURS:
            build(store, name)
        assert set(OURS) <= set(store.names())
        for name in OURS:
            assert store.open(name).count() == len(SAMPLE)
            assert [info.generation for info in store.generations(name)] == ["000001"]
        store.drop("feedback")
        assert store.open("feedback-x").count() == len(SAMPLE)
    finally:
        for name in set(OURS) & set(store.names()):
            store.drop(name)


def test_names_and_generations_are_told_apart() -> None:
    assert parse_index_name(index_name("a-b.000001", "000002")) == ("a-b.000001", "000002")
    assert parse_index_name(alias_name("a")) is None
    assert parse_index_name(alias_name(check_name("000001"))) is None
    assert parse_index_name(internal_name("feedback-000001")) is None


def test_no_index_can_be_called_like_what_is_internal() -> None:
    assert not NAME.fullmatch(internal_name("").removeprefix(alias_name("")))
