"""Settings come from the environment, say what is wrong with a value, and their page cannot go stale."""

from dataclasses import fields

import pytest

from treeline.corpus.errors import InputError
from treeline.search.settings import PREFIX, Settings, as_environment, from_environment, open_store, split_commas
from treeline.service.settings_doc import PAGE, page


def test_the_page_of_settings_is_made_from_the_table() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `make docs`"


def test_every_setting_has_a_sentence_of_help() -> None:
    for row in fields(Settings):
        assert row.metadata["help"].endswith((".", ")")), row.name


def test_a_variable_overrides_its_default() -> None:
    settings = from_environment(
        {"TREELINE_MAX_K": "7", "TREELINE_LANE_TIMEOUT": "0.5", "TREELINE_ENGINE": "elasticsearch"}
    )
    assert (settings.max_k, settings.lane_timeout, settings.engine) == (7, 0.5, "elasticsearch")
    assert settings.index == Settings().index


def test_another_process_can_be_given_the_same_settings() -> None:
    own = Settings(engine="elasticsearch", lane_timeout=0.25, max_k=7, feedback=False, mcp_roots="/srv/a:/srv/b")
    for settings in (own, Settings()):
        assert from_environment(as_environment(settings)) == settings


@pytest.mark.parametrize("row", [row for row in fields(Settings) if row.type != "str"], ids=lambda row: row.name)
def test_a_value_of_the_wrong_type_is_named_with_its_variable(row: object) -> None:
    name = f"{PREFIX}{row.name.upper()}"  # type: ignore[attr-defined]
    for bad in ("maybe", "-1"):
        with pytest.raises(InputError, match=f"{name}='{bad}'"):
            from_environment({name: bad})


@pytest.mark.parametrize(
    ("variable", "bad", "said"),
    [
        ("TREELINE_LANE_TIMEOUT", "inf", "a number from 0.001 to 1,000,000,000"),
        ("TREELINE_LANE_TIMEOUT", "nan", "a number from"),
        ("TREELINE_LANE_TIMEOUT", "0", "a number from"),
        ("TREELINE_START_WAIT", "1" + "0" * 30, "a whole number from 0 to 1,000,000,000"),
        ("TREELINE_CLUSTERS", "0", "a whole number from 1"),
        ("TREELINE_THREADS", "0", "a whole number from 1"),
    ],
)
def test_a_number_that_means_nothing_is_refused(variable: str, bad: str, said: str) -> None:
    with pytest.raises(InputError, match=f"{variable}='{bad}' is not {said}"):
        from_environment({variable: bad})


@pytest.mark.parametrize(
    ("variable", "meant"),
    [
        ("TREELINE_INDX", "TREELINE_INDEX"),
        ("TREELINE_THREAD", "TREELINE_THREADS"),
        ("TREELINE_LOGLEVEL", "TREELINE_LOG_LEVEL"),
        ("TREELINE_ELASTIC_SEARCH_URL", "TREELINE_ELASTICSEARCH_URL"),
    ],
)
def test_a_misspelt_setting_is_refused_with_the_one_that_was_meant(variable: str, meant: str) -> None:
    with pytest.raises(InputError, match=f"there is no setting {variable} ") as told:
        from_environment({variable: "x"})
    assert told.value.hint == f"did you mean {meant}?"


@pytest.mark.parametrize("variable", ["TREELINE_RERANKER_OF_CHOICE", "TREELINE_X", "TREELINE_SERVICE"])
def test_any_name_that_is_no_setting_is_refused(variable: str) -> None:
    with pytest.raises(InputError, match=f"there is no setting {variable} "):
        from_environment({variable: "x"})


def test_what_others_call_by_our_name_is_theirs() -> None:
    kubernetes = ("PORT", "SERVICE_HOST", "PORT_8080_TCP_ADDR", "ELASTICSEARCH_PORT", "ELASTICSEARCH_SERVICE_HOST")
    compose = ("PASSWORD",)
    others = {f"TREELINE_{name}": "tcp://10.0.0.1:8080" for name in (*kubernetes, *compose)}
    assert from_environment(others) == Settings()


@pytest.mark.parametrize("row", [row for row in fields(Settings) if row.metadata["choices"]], ids=lambda row: row.name)
def test_a_word_that_is_not_known_is_refused_with_those_that_are(row: object) -> None:
    name, choices = f"{PREFIX}{row.name.upper()}", row.metadata["choices"]  # type: ignore[attr-defined]
    with pytest.raises(InputError, match=f"{name}='some' is not known") as told:
        from_environment({name: "some"})
    assert all(choice in told.value.hint for choice in choices)
    for choice in choices:
        assert from_environment({name: choice.upper()}) == Settings(**{name.removeprefix(PREFIX).lower(): choice})


@pytest.mark.parametrize("variable", ["TREELINE_RERANK", "TREELINE_FUSION"])
def test_an_unknown_method_is_refused_at_the_start(variable: str) -> None:
    with pytest.raises(InputError, match=f"{variable}='algorithm9' is not known") as told:
        from_environment({variable: "algorithm9"})
    assert "choose from: default, " in told.value.hint


def test_what_cannot_be_the_name_of_an_index_is_refused() -> None:
    with pytest.raises(InputError, match="'My Code' cannot be the name of an index"):
        from_environment({"TREELINE_INDEX": "My Code"})


def test_a_list_is_separated_by_commas_and_spaces_and_empty_parts_do_not_count() -> None:
    assert split_commas(" http://a:9200, http://b:9200 ,,") == ["http://a:9200", "http://b:9200"]
    assert split_commas("") == []


def test_an_unknown_engine_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(InputError, match=r"^there is no engine 'solr'") as refused:
        open_store(Settings(engine="solr"))
    assert refused.value.hint == "choose one of: embedded, elasticsearch"


def test_the_home_is_the_users_data_folder_unless_it_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert str(Settings().home_path) == "/data/treeline"
    assert str(Settings(home="/elsewhere").home_path) == "/elsewhere"
