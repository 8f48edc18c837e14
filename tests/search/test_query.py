"""The switches of a search: declared once, with defaults that the settings may change."""

from dataclasses import fields

import pytest

from treeline.corpus.errors import InputError
from treeline.engine.protocol import Filters
from treeline.search.query import SWITCHES, Query, is_foreign, method_names
from treeline.search.settings import Settings, from_environment


def test_every_switch_sets_a_field_of_the_query_or_of_its_filters() -> None:
    names = {"query": {row.name for row in fields(Query)}, "filter": {row.name for row in fields(Filters)}}
    for switch in SWITCHES:
        if switch.scope != "answer":
            assert switch.name in names[switch.scope], switch.name


def test_every_filter_has_a_switch() -> None:
    assert {row.name for row in fields(Filters)} == {one.name for one in SWITCHES if one.scope == "filter"}


def test_the_declared_defaults_are_those_of_the_query_and_of_the_settings() -> None:
    assert Query.of("x", {}, Settings()) == Query("x")
    for switch in SWITCHES:
        assert switch.default == switch.default_in(Settings()), switch.name


def test_the_settings_change_the_defaults_and_a_search_changes_them_again() -> None:
    settings = from_environment(
        {
            "TREELINE_RERANK": "algorithm2",
            "TREELINE_DIVERSITY": "0.8",
            "TREELINE_FUSION": "rrf",
            "TREELINE_MODE": "keyword",
            "TREELINE_EXPAND": "yes",
            "TREELINE_RESULTS": "25",
        }
    )
    changed = Query("x", k=25, mode="keyword", fusion="rrf", rerank="algorithm2", diversity=0.8, expand=True)
    assert Query.of("x", {}, settings) == changed
    assert Query.of("x", {"rerank": None, "mode": "dense", "k": 3, "expand": False}, settings) == Query(
        "x", k=3, mode="dense", fusion="rrf", rerank="algorithm2", diversity=0.8
    )


def test_filters_are_switches_too() -> None:
    assert Query.of("x", {"path": "src/", "repo": "flask"}, Settings()).filters == Filters(repo="flask", path="src/")


@pytest.mark.parametrize(
    ("switches", "message"),
    [
        ({"k": 301}, "at most 300, not 301"),
        ({"diversity": 1.5}, "must be between 0 and 1, not 1.5"),
        ({"kk": 1}, "no switch"),
    ],
)
def test_what_no_switch_allows_is_refused(switches: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Query.of("x", switches, Settings())


def test_methods_are_chosen_by_name() -> None:
    names = {switch.name: set(method_names(switch)) for switch in SWITCHES if switch.methods}
    assert {"rrf", "adaptive"} <= names["fusion"] and {"none", "algorithm2"} <= names["rerank"]


def test_a_switch_that_is_not_set_takes_the_default() -> None:
    assert Query.of("x", {"mode": None, "k": 8}, Settings(mode="keyword")) == Query("x", k=8, mode="keyword")


@pytest.mark.parametrize(
    ("question", "foreign"),
    [
        ("wie wird die Eingabe geprüft", True),
        ("dónde se valida la entrada", True),
        ("où sont affichés les messages", True),
        ("在哪里解析参数", True),
        ("how is the input of a user validated", False),
        ("where is la_LA parsed", False),
        ("mit license con para un", False),
        ("read the café menu", False),
    ],
)
def test_a_question_in_another_language_is_told_by_its_script_or_small_words(question: str, foreign: bool) -> None:
    assert is_foreign(question) is foreign
