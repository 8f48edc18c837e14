"""The searcher on a real small index: every mode answers, every result explains itself, nothing bad crashes it."""

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.search.small_index import NAME, parsed, publish, shipped, small_store
from treeline.corpus.errors import InputError
from treeline.engine.embedded import EmbeddedStore
from treeline.engine.protocol import Filters, Store
from treeline.rerank.candidates import Candidate
from treeline.rerank.registry import FUSIONS
from treeline.search import plan
from treeline.search.answer import Answer
from treeline.search.query import Query
from treeline.search.searcher import Searcher
from treeline.search.settings import MODES, Settings


@pytest.fixture(scope="module", params=["embedded", pytest.param("elasticsearch", marks=pytest.mark.elasticsearch)])
def searcher(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Searcher]:
    """Over each engine, so that every claim below holds on both."""
    store: Store = small_store(tmp_path_factory.mktemp("home"))
    name = "small"
    if request.param == "elasticsearch":
        from treeline.engine.elasticsearch import ElasticsearchStore

        store = ElasticsearchStore(request.getfixturevalue("elasticsearch_cluster").urls)
        name = f"small-{uuid.uuid4().hex[:8]}"
        publish(store, *parsed(), name=name)
    searcher = Searcher(store.open(name), {shipped().name: shipped()}, Settings(lane_timeout=30))
    yield searcher
    searcher.close()
    store.drop(name)
    if request.param == "elasticsearch":
        store.close()  # type: ignore[attr-defined]  # a cluster's store holds connections


def found(answer: Answer) -> list[str]:
    return [result.function.func_name for result in answer.results]


@pytest.mark.parametrize("mode", ["keyword", "dense", "hybrid"])
def test_every_mode_finds_a_concept(searcher: Searcher, mode: str) -> None:
    assert found(searcher.search(Query("convert int to string", mode=mode)))[0] == "int_to_string"


@pytest.mark.parametrize("mode", ["keyword", "dense", "hybrid"])
def test_a_word_typed_wrong_is_looked_for_as_it_was_meant(
    searcher: Searcher, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "SPELLING_TIMEOUT_S", 60.0)
    meant = searcher.search(Query("download a web page", mode=mode))
    typed = searcher.search(Query("downlaod a web page", mode=mode))
    assert typed.corrections.words == (("downlaod", "download"),)
    assert not typed.corrections.unsure
    assert [(one.id, one.score) for one in typed.candidates] == [(one.id, one.score) for one in meant.candidates]
    assert typed.query.text == "downlaod a web page"
    assert not searcher.search(Query("downlaod a web page", mode=mode, as_typed=True)).corrections.words


def test_an_engine_that_does_not_say_what_is_near_is_searched_as_typed(
    searcher: Searcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_word: str) -> dict[str, int]:
        raise RuntimeError("the list of words is unreadable")

    monkeypatch.setattr(searcher.engine, "spellings", broken)
    answer = searcher.search(Query("downlaod a web page"))
    assert answer.results
    assert not answer.corrections.words
    assert answer.corrections.unsure
    assert not answer.degraded


def test_meaning_is_found_without_the_words(searcher: Searcher) -> None:
    assert "retry_with_backoff" in found(searcher.search(Query("exponential backoff", mode="dense")))[:3]


def test_nonsense_is_said_to_be_answered_by_meaning_alone(searcher: Searcher) -> None:
    nonsense = searcher.search(Query("qwertyzxcv"))
    assert nonsense.results
    assert nonsense.no_match == "nothing here contains these words; what follows is the nearest by meaning"
    assert nonsense.relaxed == ("meaning",)
    assert not searcher.search(Query("read a csv file")).no_match
    assert not searcher.search(Query("qwertyzxcv", mode="dense")).no_match  # nobody asked for the words
    assert not searcher.search(Query("qwertyzxcv", mode="keyword")).no_match  # there is nothing that could follow


def test_pieces_of_words_that_match_by_accident_are_said_to_be_pieces(searcher: Searcher) -> None:
    nonsense = searcher.search(Query("qwertyfile"))  # ends like a word that some functions have
    assert nonsense.relaxed == ("chunks", "meaning")
    assert nonsense.no_match.endswith("these words; what follows is the nearest by meaning, or has pieces of them")
    by_keyword = searcher.search(Query("qwertyfile", mode="keyword"))
    assert by_keyword.results and by_keyword.no_match.endswith("has only pieces of them")
    assert not searcher.search(Query("qwertyfile file")).no_match


def test_a_language_that_the_index_lacks_is_said_also_where_something_is_found(searcher: Searcher) -> None:
    answer = searcher.search(Query("read a csv file in ruby"))
    assert answer.results
    (hint,) = answer.hints
    assert hint.startswith("language ruby: there is none; there is: ")
    assert not searcher.search(Query("read a csv file in python")).hints


@pytest.mark.parametrize("mode", ["keyword", "dense", "hybrid"])
def test_excluded_words_are_in_no_result(searcher: Searcher, mode: str) -> None:
    asked = Query("open a file or a connection", mode=mode)
    assert {"read_csv", "Client.open"} <= set(found(searcher.search(asked)))
    narrowed = searcher.search(replace(asked, text=f"{asked.text} -CSV"))
    assert "Client.open" in found(narrowed) and "read_csv" not in found(narrowed)


@pytest.mark.parametrize("mode", ["keyword", "dense", "hybrid"])
def test_what_excluded_words_took_away_is_filled_up(tmp_path: Path, mode: str) -> None:
    tests = {f"tests/{n}.py": f"def test_json_{n}(text):\n    return parse_json(text)\n" for n in range(30)}
    others = {f"src/{n}.py": f"def read_{n}(text, path, mode):\n    return parse_json(text)\n" for n in range(12)}
    store = EmbeddedStore(tmp_path)
    publish(store, *parsed(tests | others))
    searcher = Searcher(store.open(NAME), {shipped().name: shipped()}, Settings(lane_depth=10))
    asked = Query("json test", mode=mode)
    assert all(name.startswith("test_") for name in found(searcher.search(asked)))
    assert len(found(searcher.search(replace(asked, text=f"{asked.text} -test")))) == 10
    searcher.close()


def test_words_that_only_excluded_functions_have_are_not_called_missing(searcher: Searcher) -> None:
    answer = searcher.search(Query("comma separated rows -csv"))
    assert answer.results and "read_csv" not in found(answer)
    assert not answer.no_match and "meaning" not in answer.relaxed


def test_where_excluded_words_leave_nothing_it_is_said(searcher: Searcher) -> None:
    asked = Query("comma separated rows", mode="keyword")
    assert found(searcher.search(asked)) and not searcher.search(asked).hints
    answer = searcher.search(replace(asked, text=f"{asked.text} -csv -def"))
    assert not answer.results
    assert answer.hints == ("everything that was found contains “csv” or “def”, which the question excludes",)


def test_an_exact_answer_counts_what_was_left_of_it(searcher: Searcher) -> None:
    kept = searcher.search(Query("what calls parse_url -requests"))  # of which Client.send speaks
    assert kept.exact is not None and kept.exact.known
    assert (kept.exact.found, kept.exact.functions) == (0, 0)
    assert "no function that passes the filters is known to call" in kept.exact.sentence
    assert "Client.send" not in found(kept)


@pytest.mark.parametrize("method", ["default", *FUSIONS])
def test_every_fusion_can_be_asked_for_and_its_contributions_sum_up(searcher: Searcher, method: str) -> None:
    answer = searcher.search(Query("read a csv file", fusion=method, rerank="none"))
    assert found(answer)[0] == "read_csv"
    for candidate in answer.candidates:
        assert candidate.score == pytest.approx(sum(part.share for part in candidate.contributions))


def test_an_answer_says_route_total_and_times(searcher: Searcher) -> None:
    answer = searcher.search(Query("download a web page", k=2))
    assert answer.route == "conceptual"
    assert answer.degraded == ()
    assert len(answer.results) == 2
    assert answer.total >= len(answer.candidates) >= 2
    assert {"keyword", "dense", "lanes", "fusion", "rerank", "fetch", "total"} <= answer.timings.keys()
    assert [result.rank for result in answer.results] == [1, 2]


def test_an_identifier_finds_its_definition_and_its_callers(searcher: Searcher) -> None:
    answer = searcher.search(Query("parse_url"))
    assert answer.route == "identifier"
    assert found(answer)[0] == "parse_url"
    stages = {c.id: {part.lane: part.stage for part in c.contributions} for c in answer.candidates}
    by_name = {result.function.func_name: stages[result.function.id] for result in answer.results}
    assert by_name["parse_url"]["graph"] == "definition"
    assert by_name["Client.send"]["graph"] == "calls"


def test_a_misspelt_name_is_no_definition_but_leads_to_a_near_one(searcher: Searcher) -> None:
    answer = searcher.search(Query("parse_urll"))
    assert found(answer)[0] == "parse_url"
    stages = {part.stage for one in answer.candidates for part in one.contributions if part.lane == "graph"}
    assert "near name" in stages and "definition" not in stages
    unknown = searcher.search(Query("zqx_wvut"))
    assert not any(part.lane == "graph" for one in unknown.candidates for part in one.contributions)


def test_a_structural_question_is_answered_by_the_graph_completely(searcher: Searcher) -> None:
    answer = searcher.search(Query("what calls parse_url", rerank="none"))
    assert answer.route == "structural"
    assert found(answer)[0] == "Client.send"
    graph = [c for c in answer.candidates if any(part.lane == "graph" for part in c.contributions)]
    assert [c.address.func_name for c in graph] == ["Client.send"]


def test_what_changes_goes_over_several_edges(searcher: Searcher) -> None:
    answer = searcher.search(Query("what changes if I touch parse_url", mode="graph"))
    assert found(answer) == ["Client.send", "fetch_page"]
    assert answer.candidates[1].contributions[0].stage == "calls, 2 edges away"


def test_the_graph_starts_at_the_top_keyword_hit_when_no_symbol_is_named(searcher: Searcher) -> None:
    assert found(searcher.search(Query("send request wait reply", mode="graph")))[0] == "Client.send"


def test_structure_callers_and_callees_by_name_and_id(searcher: Searcher) -> None:
    asked = searcher.relatives.structure("parse_url")
    assert [seed.name for seed in asked.seeds] == ["parse_url"]
    (caller,) = asked.neighbours
    assert (caller.name, caller.relation, caller.how, caller.via) == ("Client.send", "calls", "import", "parse_url")
    assert [one.name for one in searcher.relatives.callees(caller.id)] == ["Client.open", "parse_url"]
    assert [one.name for one in searcher.relatives.callers(caller.id)] == ["fetch_page"]
    assert searcher.relatives.callers("00" * 16) == []


def test_callers_that_are_only_counted_are_not_looked_up(searcher: Searcher, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who lists them has them already; a cluster would be asked once more."""
    (hit,) = searcher.engine.named("parse_url", 2)
    (function,) = searcher.engine.fetch([hit.id])
    assert [one.name for one in searcher.relatives.callers(hit.id)] == ["Client.send"]
    monkeypatch.setattr(type(searcher.engine), "locate", None)
    assert searcher.relatives.unresolved_calls(function).functions == 0


def test_definitions_of_one_name_in_a_file_are_each_at_their_own_line(tmp_path: Path) -> None:
    links = "if WINDOWS:\n    def is_link(x):\n        return 1\nelse:\n    def is_link(x):\n        return 2\n"
    store = small_store(tmp_path)
    publish(store, *parsed({"links.py": f"{links}\ndef outer():\n    return is_link(1)\n"}))
    searcher = Searcher(store.open(NAME), {shipped().name: shipped()})
    (hit,) = searcher.engine.named("outer", 1)
    assert sorted(one.line for one in searcher.relatives.callees(hit.id)) == [2, 5]
    assert sorted(one.line for one in searcher.relatives.structure("outer", direction="out").neighbours) == [2, 5]
    searcher.close()


def test_similar_functions_leave_out_the_function_itself(searcher: Searcher) -> None:
    (hit,) = searcher.engine.named("parse_url", 1)
    similar = searcher.similar(hit.id, 3)
    assert len(similar) == 3
    assert hit.id not in {other.id for other in similar}
    assert searcher.similar("00" * 16, 3) == []


def test_names_are_suggested(searcher: Searcher) -> None:
    assert searcher.suggest("pars", 5) == ["parse_url"]
    assert searcher.suggest("  ", 5) == []


def test_a_function_is_had_by_id(searcher: Searcher) -> None:
    (hit,) = searcher.engine.named("read_csv", 1)
    function = searcher.function(hit.id)
    assert function is not None
    assert function.func_name == "read_csv"
    assert searcher.function("00" * 16) is None


@pytest.mark.parametrize("mode", MODES)
def test_filters_hold_in_every_mode(searcher: Searcher, mode: str) -> None:
    query = Query("parse_url and send", mode=mode, filters=Filters(path="web/url"))
    answer = searcher.search(query)
    assert answer.results
    assert {candidate.address.path for candidate in answer.candidates} == {"web/url.py"}


@pytest.mark.parametrize("mode", ["keyword", "dense", "hybrid"])
def test_filters_need_not_be_spelt_in_the_case_of_the_index(searcher: Searcher, mode: str) -> None:
    known = searcher.engine.facets()
    repo = next(iter(known["repo"]))
    right = searcher.search(Query("url", mode=mode, filters=Filters("python", repo)))
    loud = searcher.search(Query("url", mode=mode, filters=Filters("PYTHON", repo.upper())))
    assert right.results
    assert found(loud) == found(right)


def test_pages_are_parts_of_one_list(searcher: Searcher) -> None:
    whole = found(searcher.search(Query("url", k=6)))
    pages = [found(searcher.search(Query("url", k=2, offset=offset))) for offset in (0, 2, 4)]
    assert [name for page in pages for name in page] == whole
    assert searcher.search(Query("url", offset=500)).results == ()


@pytest.mark.parametrize("method", ["default", "none", "algorithm2"])
def test_every_result_but_the_first_says_its_distance_to_those_above(searcher: Searcher, method: str) -> None:
    ten = searcher.search(Query("convert", k=10, rerank=method)).results
    assert ten[0].candidate.tree_distance is None
    assert all((result.candidate.tree_distance or 0) >= 2 for result in ten[1:])
    page = searcher.search(Query("convert", k=3, offset=4, rerank=method)).results
    assert [result.candidate.tree_distance for result in page] == [one.candidate.tree_distance for one in ten[4:7]]


def test_without_explanations_the_list_is_the_same(searcher: Searcher) -> None:
    question = Query("csv", k=20, rerank="algorithm1")  # moves results of one repository; the default would not
    told, untold = (searcher.search(replace(question, explain=explain)).results for explain in (True, False))
    bare = [one.candidate._replace(tree_distance=None, reason="") for one in told]
    assert [one.candidate for one in untold] == bare
    assert any(one.candidate.reason for one in told)


def test_expansion_adds_words_of_the_first_results(searcher: Searcher) -> None:
    assert found(searcher.search(Query("csv", mode="keyword", expand=True)))[0] == "read_csv"


def test_a_hook_may_reorder_the_end_result_unless_switched_off(searcher: Searcher) -> None:
    def backwards(candidates: Sequence[Candidate]) -> Sequence[Candidate]:
        return candidates[::-1]

    plain = found(searcher.search(Query("url", k=50)))
    assert found(searcher.search(Query("url", k=50), backwards)) == plain[::-1]
    assert found(searcher.search(Query("url", k=50, feedback=False), backwards)) == plain
    assert "feedback" in searcher.search(Query("url"), backwards).timings


@pytest.mark.parametrize("text", ["", "   ", "\n\t", "\x00", "\ud800"])
def test_an_empty_question_is_bad_input(searcher: Searcher, text: str) -> None:
    with pytest.raises(InputError, match="empty"):
        searcher.search(Query(text))


@pytest.mark.parametrize("query", [Query("url", k=1), Query("url", k=300), Query("url" + " page" * 199 + " x")])
def test_a_query_at_the_limits_is_answered(searcher: Searcher, query: Query) -> None:
    assert len(query.text) <= 1_000
    results = searcher.search(query).results
    assert results and len(results) <= query.k


def test_a_character_too_many_is_bad_input(searcher: Searcher) -> None:
    searcher.search(Query("url".ljust(100_000, "x")))
    with pytest.raises(InputError, match=r"100,001 characters, at most 100,000"):
        searcher.search(Query("url".ljust(100_001, "x")))


def test_a_megabyte_is_bad_input_and_says_the_limit(searcher: Searcher) -> None:
    with pytest.raises(InputError, match=r"1,000,000 characters, at most 100,000"):
        searcher.search(Query("x" * 1_000_000))


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (Query("x", k=0), "k is 0"),
        (Query("x", k=301), "from 1 to 300"),
        (Query("x", offset=-1), "negative"),
        (Query("x", mode="magic"), "unknown mode 'magic'"),
        (Query("x", fusion="magic"), "unknown fusion 'magic'"),
        (Query("x", rerank="magic"), "magic"),
    ],
)
def test_bad_switches_are_bad_input(searcher: Searcher, query: Query, message: str) -> None:
    with pytest.raises(InputError, match=message):
        searcher.search(query)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("text", ["the of and", "zzyzx qwrtz", "7", "'a", "AND OR NOT", "a" * 1000])
def test_odd_questions_have_a_defined_answer(searcher: Searcher, text: str, mode: str) -> None:
    answer = searcher.search(Query(text, mode=mode))
    assert answer.degraded == ()
    assert len(answer.results) <= 10


@pytest.mark.parametrize("text", ["!?.,;", "🦜🦜", "'", '"', "`", "__"])
def test_a_question_without_a_word_is_bad_input(searcher: Searcher, text: str) -> None:
    with pytest.raises(InputError, match="no word"):
        searcher.search(Query(text))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(min_size=1, max_size=300))
def test_no_text_crashes_it(searcher: Searcher, text: str) -> None:
    try:
        answer = searcher.search(Query(text))
    except InputError:
        return
    assert answer.degraded == ()


def test_an_index_without_vectors_is_searched_by_keyword(tmp_path_factory: pytest.TempPathFactory) -> None:
    store = EmbeddedStore(tmp_path_factory.mktemp("home"))
    publish(store, *parsed(), encoders=[])
    searcher = Searcher(store.open("small"), {}, Settings())
    assert found(searcher.search(Query("convert int to string")))[0] == "int_to_string"
    assert searcher.similar(searcher.search(Query("url")).results[0].function.id) == []
    with pytest.raises(InputError, match="no vectors"):
        searcher.search(Query("url", mode="dense"))
    searcher.close()


def test_an_empty_index_answers_with_nothing(tmp_path_factory: pytest.TempPathFactory) -> None:
    store = EmbeddedStore(tmp_path_factory.mktemp("home"))
    publish(store, [], [])
    searcher = Searcher(store.open("small"), {shipped().name: shipped()})
    for mode in MODES:
        assert searcher.search(Query("convert int to string", mode=mode)).results == ()
    searcher.close()


def test_closing_a_searcher_closes_its_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = small_store(tmp_path).open(NAME)
    close, closed = engine.close, list[bool]()
    monkeypatch.setattr(engine, "close", lambda: closed.append(True))
    Searcher(engine, {}, Settings()).close()
    close()
    assert closed == [True]


def test_a_question_that_nothing_is_about_is_called_a_weak_match(searcher: Searcher) -> None:
    far = searcher.search(Query("knitting pattern for a wool sweater with text"))
    assert far.is_weak and far.hints[0].startswith("weak match: nothing here seems to be about this")
    assert far.results and not far.no_match
    german = searcher.search(Query("wie wird ein Pullover gestrickt und gewaschen"))
    assert any(hint.startswith("questions are understood in English") for hint in german.hints)
    near = searcher.search(Query("read a csv file"))
    assert not near.is_weak and near.hints == ()
