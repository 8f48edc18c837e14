"""Both feedback stores keep the same counts: a SQLite file, and an index on a real Elasticsearch."""

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.elasticsearch_server import Cluster
from tests.engine.functions import build
from treeline.corpus.errors import EngineUnavailable, InputError, TreelineError
from treeline.engine.elasticsearch import ElasticsearchStore
from treeline.engine.elasticsearch.client import connect
from treeline.engine.names import internal_name
from treeline.search.feedback import FeedbackStore, Votes
from treeline.search.settings import Settings
from treeline.service.feedback import ReopeningFeedback, open_feedback
from treeline.service.feedback.elastic import ElasticsearchFeedback
from treeline.service.feedback.sqlite import SqliteFeedback

A, B = "a" * 32, "b" * 32


@pytest.fixture(params=["sqlite", pytest.param("elasticsearch", marks=pytest.mark.elasticsearch)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[FeedbackStore]:
    if request.param == "sqlite":
        yield SqliteFeedback(tmp_path / "feedback.sqlite3")
        return
    cluster: Cluster = request.getfixturevalue("elasticsearch_cluster")
    client = connect(cluster.urls)
    index = f"treeline-feedback-{uuid.uuid4().hex}"
    yield ElasticsearchFeedback(client, index, read_seconds=30)
    client.options(ignore_status=404).indices.delete(index=index)
    client.close()


@pytest.mark.elasticsearch
@pytest.mark.parametrize(("index", "other"), [("x", "feedback-x"), ("000001", "feedback")])
def test_no_index_of_functions_is_in_the_way_of_feedback(
    elasticsearch_cluster: Cluster, index: str, other: str
) -> None:
    engine = ElasticsearchStore(elasticsearch_cluster.urls)
    build(engine, other)
    settings = Settings(engine="elasticsearch", elasticsearch_url=elasticsearch_cluster.url, index=index)
    opened = open_feedback(settings)
    assert isinstance(opened, ReopeningFeedback)
    feedback = opened.store()
    assert isinstance(feedback, ElasticsearchFeedback)
    feedback._read_seconds = 30  # a search would go on without it after less
    feedback.record("sort a list", A, "up")
    assert feedback.votes("sort a list") == [Votes(A, 1, 0, 0)]
    build(engine, other)
    assert [info.generation for info in engine.generations(other)] == ["000002", "000001"]
    engine.drop(other)
    assert feedback.votes("sort a list") == [Votes(A, 1, 0, 0)]
    engine.client.indices.delete(index=internal_name(f"feedback-{index}"))
    engine.close()


def test_a_name_that_is_a_path_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be the name"):
        open_feedback(Settings(home=str(tmp_path / "home"), index="../outside"))
    assert not list(tmp_path.iterdir())


def test_signals_are_counted_per_question_and_function(store: FeedbackStore) -> None:
    store.record("sort a list", A, "up")
    store.record("sort a list", A, "up")
    store.record("sort a list", A, "open")
    store.record("sort a list", B, "down")
    assert sorted(store.votes("sort a list"), key=lambda one: one.function) == [Votes(A, 2, 0, 1), Votes(B, 0, 1, 0)]


def test_the_first_vote_of_all_is_seen_by_who_looked_before(tmp_path: Path) -> None:
    asking, voting = (SqliteFeedback(tmp_path / "feedback.sqlite3") for _ in range(2))
    assert asking.votes("sort a list") == []
    voting.record("sort a list", A, "up")
    assert asking.votes("sort a list") == [Votes(A, 1, 0, 0)]


def test_the_same_terms_are_the_same_question(store: FeedbackStore) -> None:
    store.record("Sorting the lists", A, "up")
    assert store.votes("list sort") == [Votes(A, 1, 0, 0)]


def test_very_similar_questions_count_less_and_others_not_at_all(store: FeedbackStore) -> None:
    store.record("sort long list of dictionaries", A, "up")
    (near,) = store.votes("sort list of dictionaries")
    assert (near.function, near.ups) == (A, 1) and 0.75 <= near.similarity < 1
    assert store.votes("sort list") == [] and store.votes("compress a folder") == []


def test_counts_never_fall_below_nothing(store: FeedbackStore) -> None:
    store.record("x ray", A, "up", -1)
    store.record("x ray", A, "up")
    assert store.votes("x ray") == [Votes(A, 1, 0, 0)]


def test_a_voter_has_so_many_votes_and_takes_back_only_its_own(store: FeedbackStore) -> None:
    for _ in range(3):
        store.record("sort a list", A, "up", 1, "somebody", 1)
    store.record("sort a list", A, "up", 1, "a program", 10)
    store.record("sort a list", A, "up", 1, "a program", 10)
    assert store.votes("sort a list") == [Votes(A, 3, 0, 0)]
    for _ in range(5):
        store.record("sort a list", A, "up", -1, "a stranger", 1)
        store.record("sort a list", A, "up", -1, "somebody", 1)
    assert store.votes("sort a list") == [Votes(A, 2, 0, 0)]


def test_a_question_without_terms_is_no_question(store: FeedbackStore) -> None:
    assert store.votes("of the ?!") == []


def test_no_count_is_lost_among_many_at_once(store: FeedbackStore) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: store.record("sort a list", A, "up"), range(20)))
    assert store.votes("sort a list") == [Votes(A, 20, 0, 0)]


def test_a_very_long_question_is_bounded(store: FeedbackStore) -> None:
    question = " ".join(f"word{number}" for number in range(500))
    store.record(question, A, "up")
    assert store.votes(question) == [Votes(A, 1, 0, 0)]


def test_searching_goes_on_without_feedback_when_elasticsearch_is_away() -> None:
    client = connect(["http://127.0.0.1:9"]).options(max_retries=0)
    away = ElasticsearchFeedback(client, "treeline-feedback-none")
    assert away.votes("sort a list") == []
    with pytest.raises(EngineUnavailable):
        away.record("sort a list", A, "up")
    client.close()


def test_a_folder_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    with pytest.raises(TreelineError, match="feedback cannot be kept"):
        SqliteFeedback(blocked / "feedback.sqlite3")
