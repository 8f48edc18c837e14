"""The same question again is answered from memory, and never with what has changed since."""

from apiflask import APIFlask
from flask.testing import FlaskClient

from service.answer import Answer, Degradation, Query
from service.answer_cache import AnswerCache


def timings(client: FlaskClient, address: str) -> dict[str, float]:
    found: dict[str, float] = client.get(address).get_json()["timings"]
    return found


def answer(text: str, degraded: bool = False) -> Answer:
    left_out = (Degradation("dense", "slow"),) if degraded else ()
    return Answer(Query(text), (), 0, "mixed", (), left_out, {"keyword": 1.0, "total": 2.0})


def test_the_second_time_says_that_it_came_from_memory(app: APIFlask) -> None:
    client = app.test_client()
    assert "keyword" in timings(client, "/api/search?q=parse+url")
    assert timings(client, "/api/search?q=parse+url").keys() == {"cache", "total"}
    assert "cache" in timings(client, "/api/map?q=parse+url")
    assert "keyword" in timings(client, "/api/search?q=parse+url&mode=keyword")


def test_a_vote_makes_it_search_again(app: APIFlask) -> None:
    client = app.test_client()
    row = client.get("/api/search?q=parse+url").get_json()["results"][3]
    client.post("/api/feedback", json={"query": "parse url", "function": row["id"], "signal": "up"})
    assert "keyword" in timings(client, "/api/search?q=parse+url")


def test_the_least_recently_used_goes_first() -> None:
    cache = AnswerCache(2)
    for key in ("a", "b", "a", "c"):
        cache.get(key, lambda: answer("x"))
    assert len(cache) == 2
    assert "keyword" in cache.get("b", lambda: answer("x")).timings


def test_a_degraded_answer_is_not_kept() -> None:
    cache = AnswerCache(2)
    cache.get("a", lambda: answer("x", degraded=True))
    assert len(cache) == 0


def test_a_size_of_nothing_keeps_nothing() -> None:
    cache = AnswerCache(0)
    cache.get("a", lambda: answer("x"))
    assert "keyword" in cache.get("a", lambda: answer("x")).timings
