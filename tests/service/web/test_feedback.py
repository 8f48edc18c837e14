"""Feedback over HTTP: kept without a person, explained, with a switch, and bounded."""

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from apiflask import APIFlask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from tests.service.web.library import INDEX
from treeline.search.feedback import Votes
from treeline.search.settings import Settings
from treeline.service.feedback import sqlite
from treeline.service.feedback.sqlite import SqliteFeedback

MakeApp = Callable[[Settings], APIFlask]
QUESTION = "open a file for reading"


def ids(client: FlaskClient, question: str = QUESTION, extra: str = "") -> list[str]:
    answer = client.get(f"/api/search?q={question}&k=20{extra}")
    return [row["id"] for row in answer.get_json()["results"]]


def signal(client: FlaskClient, function: str, kind: str = "up", question: str = QUESTION, undo: bool = False) -> None:
    body = {"query": question, "function": function, "signal": kind, "undo": undo}
    answer = client.post("/api/feedback", json=body)
    assert (answer.status_code, answer.get_json()) == (200, {"recorded": True})


def test_thumbs_up_lift_a_result_and_say_so(app: APIFlask) -> None:
    client = app.test_client()
    before = ids(client)
    for _ in range(10):
        signal(client, before[6])
    answer = client.get(f"/api/search?q={QUESTION}&k=20&explain=true").get_json()["results"]
    place = [row["id"] for row in answer].index(before[6])
    assert 6 - 3 <= place < 6
    assert "10 thumbs up" in answer[place]["why"]["reason"]


def test_it_counts_for_very_similar_questions_and_not_for_others(app: APIFlask) -> None:
    client = app.test_client()
    near, other = "opening files for the reading", "compress a folder into an archive"
    near_before, other_before = ids(client, near), ids(client, other)
    for function in (near_before[5], other_before[5]):
        for _ in range(10):
            signal(client, function)
    assert ids(client, near).index(near_before[5]) < 5
    assert ids(client, other).index(other_before[5]) == 5


def test_while_another_program_holds_the_file_it_is_to_be_sent_again(
    app: APIFlask, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", 0.1)
    client = app.test_client()
    function = ids(client, extra="&feedback=false")[0]
    holding = sqlite3.connect(own_home / ".feedback" / f"{INDEX}.sqlite3", isolation_level=None)
    holding.execute("BEGIN EXCLUSIVE")
    answer = client.post("/api/feedback", json={"query": QUESTION, "function": function, "signal": "up"})
    assert answer.status_code == 503 and answer.headers["Retry-After"]
    assert "database is locked" in answer.get_json()["error"]["message"]
    holding.close()
    signal(client, function)


def test_the_switch_turns_it_off(app: APIFlask) -> None:
    client = app.test_client()
    before = ids(client)
    for _ in range(10):
        signal(client, before[6])
    assert ids(client, extra="&feedback=false") == before
    assert ids(client) != before


def test_a_signal_can_be_taken_back(app: APIFlask) -> None:
    client = app.test_client()
    before = ids(client)
    signal(client, before[6])
    signal(client, before[6], undo=True)
    signal(client, before[6], undo=True)  # and not below nothing
    assert ids(client) == before


def test_switched_off_by_the_setting_nothing_is_kept(own_home: Path, make_app: MakeApp) -> None:
    client = make_app(Settings(home=str(own_home), index=INDEX, feedback=False)).test_client()
    body = {"query": QUESTION, "function": ids(client)[0], "signal": "up"}
    assert client.post("/api/feedback", json=body).get_json() == {"recorded": False}
    assert not (own_home / ".feedback").exists()


def test_it_outlives_the_service_and_many_clients_at_once(app: APIFlask, own_home: Path, make_app: MakeApp) -> None:
    function = ids(app.test_client())[6]

    def votes() -> None:
        for _ in range(10):
            signal(app.test_client(), function)

    threads = [threading.Thread(target=votes) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    again = make_app(Settings(home=str(own_home), index=INDEX))
    here = again.extensions["treeline"]
    (kept,) = here.feedback.votes(QUESTION)
    assert (kept.function, kept.ups) == (function, 60)


def test_only_terms_ids_counts_and_pseudonyms_are_kept(app: APIFlask, own_home: Path) -> None:
    client = app.test_client()
    signal(client, ids(client)[0])
    with sqlite3.connect(own_home / ".feedback" / f"{INDEX}.sqlite3") as kept:
        columns = {
            row[1]
            for (table,) in kept.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            for row in kept.execute(f"PRAGMA table_info({table})")
        }
    kept.close()
    counts = {"id", "terms", "size", "term", "question", "function", "ups", "downs", "opens"}
    assert columns == counts | {"pseudonym", "signal", "count", "one", "salt"}


def test_another_site_cannot_vote_in_its_visitors_name(app: APIFlask) -> None:
    client = app.test_client()
    body = {"query": QUESTION, "function": ids(client)[0], "signal": "up"}
    headers = {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}
    assert client.post("/api/feedback", json=body, headers=headers).status_code == 401


def test_a_vote_changes_the_answers_tag(app: APIFlask) -> None:
    client = app.test_client()
    tag = client.get(f"/api/search?q={QUESTION}").headers["ETag"]
    signal(client, ids(client)[6])
    assert client.get(f"/api/search?q={QUESTION}", headers={"If-None-Match": tag}).status_code == 200


def test_a_search_reads_the_feedback_once(app: APIFlask, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    votes = SqliteFeedback.votes

    def counted(store: SqliteFeedback, question: str) -> list[Votes]:
        read.append(question)
        return votes(store, question)

    monkeypatch.setattr(SqliteFeedback, "votes", counted)
    ids(app.test_client())
    assert read == [QUESTION]


def visitor(app: APIFlask, address: str = "203.0.113.9") -> Callable[..., TestResponse]:
    """Somebody elsewhere with a browser: the page gives a token, its script sends it with every vote."""
    client = app.test_client()
    far = {"REMOTE_ADDR": address}
    client.get(f"/search?q={QUESTION}", environ_base=far, headers={"Accept": "text/html"})
    cookie = client.get_cookie("treeline-token")
    token = cookie.value if cookie else ""

    def vote(function: str, kind: str = "up", *, undo: bool = False, **headers: str) -> TestResponse:
        body = {"query": QUESTION, "function": function, "signal": kind, "undo": undo}
        given = {"X-Treeline-Token": token} | headers
        return client.post("/api/feedback", json=body, headers=given, environ_base=far)

    return vote


def counts(app: APIFlask) -> dict[str, tuple[int, int]]:
    found = app.extensions["treeline"].feedback.votes(QUESTION)
    return {votes.function: (votes.ups, votes.downs) for votes in found}


def test_a_visitor_votes_without_a_key_and_once(app: APIFlask) -> None:
    function = ids(app.test_client())[3]
    vote = visitor(app)
    assert [vote(function).get_json() for _ in range(5)] == [{"recorded": True}] * 5
    assert counts(app) == {function: (1, 0)}
    vote(function, undo=True)
    vote(function, undo=True)
    assert counts(app).get(function, (0, 0)) == (0, 0)


def test_without_the_pages_token_or_from_another_site_nobody_votes(app: APIFlask) -> None:
    function = ids(app.test_client())[3]
    vote = visitor(app)
    assert vote(function, **{"X-Treeline-Token": "guessed-guessed-guessed"}).status_code == 401
    assert vote(function, **{"Sec-Fetch-Site": "cross-site"}).status_code == 401
    assert vote(function, Origin="https://evil.example").status_code == 401
    assert counts(app) == {}


def test_a_stranger_can_neither_wipe_votes_nor_bury_a_result(app: APIFlask) -> None:
    client = app.test_client()
    before = ids(client)
    for _ in range(50):
        signal(client, before[0])
    vote = visitor(app)
    answers = [vote(before[0], undo=True).status_code for _ in range(15)]
    answers += [vote(before[0], "down").status_code, *(vote(other).status_code for other in before[1:6])]
    assert set(answers) <= {200, 429}
    assert counts(app)[before[0]] == (50, 1)
    assert ids(client)[0] == before[0]


def test_a_visitor_who_votes_all_the_time_is_slowed_down(app: APIFlask) -> None:
    function = ids(app.test_client())[3]
    vote = visitor(app)
    assert 429 in {vote(function).status_code for _ in range(60)}


def test_with_a_damaged_store_search_goes_on_and_thumbs_are_refused(own_home: Path, make_app: MakeApp) -> None:
    file = own_home / ".feedback" / f"{INDEX}.sqlite3"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"this is no database, and it is long enough to be taken for one" * 100)
    client = make_app(Settings(home=str(own_home), index=INDEX)).test_client()
    function = ids(client)[0]
    answer = client.post("/api/feedback", json={"query": QUESTION, "function": function, "signal": "up"})
    assert answer.status_code == 503
    assert "feedback cannot be kept" in answer.get_json()["error"]["message"]


def test_a_store_that_was_removed_is_not_written_to(app: APIFlask, own_home: Path) -> None:
    client = app.test_client()
    function = ids(client)[0]
    signal(client, function)
    for file in (own_home / ".feedback").iterdir():
        file.unlink()
    signal(client, function)
    assert counts(app) == {function: (1, 0)}
