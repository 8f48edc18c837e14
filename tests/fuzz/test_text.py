"""Analysis and routing take any text, in time that grows with its length alone."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.bad_texts import BAD_TEXTS, within
from tests.search.small_index import plan_for
from treeline.corpus.analysis import terms
from treeline.corpus.errors import InputError
from treeline.corpus.function import Function, function_id
from treeline.search.plan import route
from treeline.search.query import Query
from treeline.search.settings import Settings

any_text = st.text(st.characters(exclude_categories=()), max_size=400)  # surrogates too


@pytest.mark.parametrize("name", BAD_TEXTS)
def test_any_text_has_terms_in_bounded_time(name: str) -> None:
    with within(5):
        found = terms(BAD_TEXTS[name])
    assert all(term == term.lower() and not term.isspace() and term for term in found)


@pytest.mark.parametrize("name", BAD_TEXTS)
def test_any_text_can_be_routed_in_bounded_time(name: str) -> None:
    with within(2):
        assert route(BAD_TEXTS[name][:20_000]).kind in {"identifier", "structural", "conceptual", "mixed"}


@pytest.mark.parametrize("name", BAD_TEXTS)
def test_any_question_is_accepted_or_refused_with_a_sentence(name: str) -> None:
    settings = Settings()
    try:
        plan = plan_for(Query(BAD_TEXTS[name]))
    except InputError as error:
        assert error.message
    else:
        assert 0 < len(plan.text) <= settings.max_query_length
        plan.text.encode("utf-8")


@given(any_text)
def test_terms_never_contain_white_space(text: str) -> None:
    assert not any(character.isspace() for term in terms(text) for character in term)


@given(any_text)
def test_every_text_has_a_route(text: str) -> None:
    with within(1):
        route(text)


@given(any_text, st.integers(), st.integers(), st.text(max_size=20), st.text(max_size=20))
def test_no_question_crashes_the_checks(text: str, k: int, offset: int, mode: str, fusion: str) -> None:
    try:
        plan_for(Query(text, k=k, offset=offset, mode=mode, fusion=fusion))
    except InputError as error:
        assert error.message


@given(any_text, any_text, any_text, any_text)
def test_every_function_has_an_id_of_its_own(repo: str, path: str, name: str, code: str) -> None:
    made = Function(repo, path, name, code, "python", code, (), "", (), "", "", "")
    assert len(made.id) == 32
    assert made.id == function_id(repo, path, name, code)


@pytest.mark.parametrize("piece", ["a.", "aB", "a_", "A", "__", "'a", "`", "what calls ", "x() ", "::"])
def test_routing_time_grows_with_length_not_with_its_square(piece: str) -> None:
    def took(length: int) -> float:
        text = piece * (length // len(piece)) + "!"
        begin = time.process_time()
        route(text)
        return time.process_time() - begin

    took(2_000)
    short = min(took(4_000) for _ in range(3))
    long = min(took(32_000) for _ in range(3))
    assert long < max(short * 8 * 4, 0.05)
