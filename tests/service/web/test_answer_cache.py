"""The same question again is answered from memory, and never with what has changed since."""

from apiflask import APIFlask
from flask.testing import FlaskClient

from tests.search.small_index import plan_of
from treeline.search.answer import Answer, AnswerCache
from treeline.search.lanes.lane_set import Degradation


def timings(client: FlaskClient, address: str) -> dict[str, float]:
    found: dict[str, float] = client.get(address).get_json()["timings"]
    return found


def answer(text: str, degraded: bool = False, unsure: bool = False) -> Answer:
    left_out = (Degradation("dense", "slow"),) if degraded else ()
    return Answer(plan_of(text, unsure=unsure), (), 0, (), left_out, {"keyword": 1.0, "total": 2.0})


def test_the_second_time_says_that_it_came_from_memory(app: APIFlask) -> None:
    client = app.test_client()
    assert "keyword" in timings(client, "/api/search?q=parse+url")
    assert timings(client, "/api/search?q=parse+url").keys() == {"cache", "total"}
    assert "cache" in timings(client, "/api/map?q=parse+url")
    assert "keyword" in timings(client, "/api/search?q=parse+url&mode=keyword")


def test_an_answer_without_explanations_is_not_given_to_who_wants_them(app: APIFlask) -> None:
    client = app.test_client()
    for address, kept in (("", False), ("&explain=true", False), ("&explain=true", True), ("", True)):
        assert ("cache" in timings(client, f"/api/search?q=convert+string{address}")) == kept
    rows = client.get("/api/search?q=convert+string&explain=true").get_json()["results"]
    assert any(row["why"]["reason"] for row in rows) and rows[1]["why"]["tree_distance"] is not None


def test_a_vote_makes_it_search_again(app: APIFlask) -> None:
    client = app.test_client()
    row = client.get("/api/search?q=parse+url").get_json()["results"][3]
    client.post("/api/feedback", json={"query": "parse url", "function": row["id"], "signal": "up"})
    assert "keyword" in timings(client, "/api/search?q=parse+url")


def test_the_least_recently_used_goes_first() -> None:
    cache = AnswerCache(2)
    for key in ("a", "b", "a", "c"):
        cache.get(key, "1", lambda: answer("x"))
    assert len(cache) == 2
    assert "keyword" in cache.get("b", "1", lambda: answer("x")).timings


def test_a_degraded_answer_is_not_kept() -> None:
    cache = AnswerCache(2)
    cache.get("a", "1", lambda: answer("x", degraded=True))
    assert len(cache) == 0


def test_an_answer_to_what_may_be_typed_wrong_is_not_kept() -> None:
    cache = AnswerCache(2)
    cache.get("a", "1", lambda: answer("x", unsure=True))
    assert len(cache) == 0


def test_a_size_of_nothing_keeps_nothing() -> None:
    cache = AnswerCache(0)
    cache.get("a", "1", lambda: answer("x"))
    assert "keyword" in cache.get("a", "1", lambda: answer("x")).timings


def test_a_new_generation_lets_the_answers_of_the_old_one_go() -> None:
    cache = AnswerCache(2)
    cache.get("a", "1", lambda: answer("x"))
    cache.get("b", "2", lambda: answer("x"))
    assert len(cache) == 1


def test_an_answer_that_comes_after_its_generation_has_gone_is_not_kept() -> None:
    cache = AnswerCache(2)

    def slow() -> Answer:
        cache.get("b", "2", lambda: answer("x"))
        return answer("x")

    cache.get("a", "1", slow)
    assert len(cache) == 1
