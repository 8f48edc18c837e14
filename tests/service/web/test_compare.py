"""Comparing two rankings, completing filters, and taking results away as CSV."""

import csv
from io import StringIO
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from treeline.search.settings import Settings
from treeline.service.api.search import complete_value
from treeline.service.evaluation import queries_file


def get(client: FlaskClient, address: str, status: int = 200) -> str:
    reply = client.get(address, headers={"Accept": "text/html"})
    assert reply.status_code == status, reply.text
    return reply.text


def test_two_rankings_stand_side_by_side_with_what_moved(client: FlaskClient) -> None:
    page = get(client, "/compare?q=open+a+file&a=keyword&b=dense")
    assert page.count("data-pair=") == 20
    assert "of the first 10 are in both lists" in page
    assert "only here" in page or "from " in page


def test_one_way_compared_with_itself_moves_nothing(client: FlaskClient) -> None:
    page = get(client, "/compare?q=open+a+file&a=usual&b=usual")
    assert page.count("same place") == 20
    assert "10 of the first 10" in page


def test_without_a_question_it_explains_itself(client: FlaskClient) -> None:
    assert "Ask one question in two ways" in get(client, "/compare")


def test_an_unknown_way_is_refused(client: FlaskClient) -> None:
    assert "choose from" in get(client, "/compare?q=x&a=magic", 400).lower()


def test_a_search_leads_to_its_comparison_and_downloads(client: FlaskClient) -> None:
    page = get(client, "/search?q=open+a+file&repo=system")
    assert 'href="/compare?q=open+a+file&amp;repo=system"' in page
    address = page.split('href="/api/search.csv?')[1].split('"')[0].replace("&amp;", "&")
    rows = list(csv.DictReader(StringIO(client.get(f"/api/search.csv?{address}").text)))
    assert len(rows) > 10
    assert [row["rank"] for row in rows[:2]] == ["1", "2"]
    assert {row["repo"] for row in rows} == {"system"}


def test_a_spreadsheet_runs_nothing_of_the_csv(client: FlaskClient) -> None:
    from treeline.service.api.search import _cell

    assert _cell("=cmd()") == "'=cmd()"
    assert _cell("plain") == "plain"
    assert client.get("/api/search.csv?q=open").headers["Content-Disposition"].startswith("attachment")


@pytest.mark.parametrize(
    ("address", "values"),
    [
        ("filter=repo&prefix=sys", ["system"]),
        ("filter=repo&prefix=EM", ["system"]),
        ("filter=lang&prefix=py", ["python"]),
        ("filter=kind&prefix=cl", ["class"]),
        ("filter=role&prefix=t", ["test"]),
        ("filter=path&prefix=js&repo=text", ["json/"]),
        ("filter=path&prefix=json/d&repo=text", ["json/decoder.py"]),
    ],
)
def test_filters_are_completed(client: FlaskClient, address: str, values: list[str]) -> None:
    assert client.get(f"/api/complete?{address}").get_json()["values"] == values


def test_what_begins_so_comes_before_what_only_contains_it() -> None:
    assert complete_value({"big-flask": 9, "flask": 1, "other": 5}, "fla", anywhere=True) == ["flask", "big-flask"]


def test_the_words_of_downloaded_questions_are_found(tmp_path: Path) -> None:
    assert queries_file(Settings(home=str(tmp_path))) is None
    file = tmp_path / ".cache" / "codesearchnet" / "queries.csv"
    file.parent.mkdir(parents=True)
    file.write_text("query\nread a file\n")
    assert queries_file(Settings(home=str(tmp_path))) == file
