"""Several indexes in one service: listed, asked one by one, and all at once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from tests.ingest.loading import project
from treeline.engine.embedded import EmbeddedStore
from treeline.ingest.pipeline import LoadOptions, load
from treeline.ingest.sources import open_source
from treeline.search.settings import Settings
from treeline.service.app import create_app
from treeline.service.projects import refresh_project

CODE = {
    "shop": {
        "cart.py": 'def total(items):\n    """Add up the prices of what is in the cart."""\n    return sum(items)\n',
        "mail.py": 'def send_receipt(to):\n    """Send a receipt by mail."""\n    return to\n',
    },
    "zoo": {
        "feed.py": 'def feed_lions(zoo):\n    """Feed the lions with fresh meat."""\n    return zoo\n',
        "doors.py": 'def open_cage(cage):\n    """Open the door of a cage."""\n    return cage\n',
    },
    "secret": {"key.py": "def secret_key():\n    return 42\n"},
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("several")
    for name, files in CODE.items():
        folder = project(home / "code" / name, files)
        load(EmbeddedStore(home), name, [open_source(str(folder))], LoadOptions(work=home / ".loading"))
    return home


@pytest.fixture(scope="module")
def client(home: Path) -> Iterator[FlaskClient]:
    app = create_app(Settings(home=str(home), index="shop", indexes="zoo,gone", feedback=False))
    yield app.test_client()
    app.extensions["treeline"].close()


def names(client: FlaskClient, **parameters: str) -> list[str]:
    found = client.get("/api/search", query_string={"k": "3"} | parameters)
    assert found.status_code == 200, found.get_data(as_text=True)
    return [row["func_name"] for row in found.get_json()["results"]]


def test_the_indexes_that_are_served_and_there_are_listed(client: FlaskClient) -> None:
    body = client.get("/api/indexes").get_json()
    assert body["default"] == "shop"
    assert [(row["name"], row["functions"] > 0) for row in body["indexes"]] == [("shop", True), ("zoo", True)]


def test_one_index_is_asked_by_its_name(client: FlaskClient) -> None:
    assert "feed_lions" not in names(client, q="feed the lions")
    assert "feed_lions" in names(client, q="feed the lions", index="zoo")
    assert client.get("/api/status?index=zoo").get_json()["index"]["name"] == "zoo"
    assert client.get("/api/suggest?prefix=feed&index=zoo").get_json()["names"] == ["feed_lions"]


def test_several_are_asked_at_once_and_each_result_says_where_it_is_from(client: FlaskClient) -> None:
    for index in ("all", "shop,zoo"):
        for question, wanted, source in (
            ("feed the lions", "feed_lions", "zoo"),
            ("send a receipt by mail", "send_receipt", "shop"),
        ):
            found = client.get("/api/search", query_string={"q": question, "index": index, "k": 4}).get_json()
            assert [row["rank"] for row in found["results"]] == [1, 2, 3, 4]
            first = next(row for row in found["results"] if row["func_name"] == wanted)
            assert first["index"] == source and first["rank"] <= 2
            assert found["results"][0]["index"] == source
            assert set(found["index"].split(",")) == {"shop", "zoo"}


def test_an_index_that_is_not_there_is_left_out_and_named(client: FlaskClient) -> None:
    [gone] = client.get("/api/search?q=lions&index=all").get_json()["degraded"]
    assert gone["lane"] == "index gone" and "gone" in gone["reason"]


def test_the_pages_of_a_merged_list_follow_each_other(client: FlaskClient) -> None:
    whole = names(client, q="open the cart", index="all", k="6")
    parts = [names(client, q="open the cart", index="all", k="2", offset=str(offset)) for offset in (0, 2, 4)]
    assert [name for part in parts for name in part] == whole


def test_a_function_is_found_in_whichever_index_has_it(client: FlaskClient) -> None:
    found = client.get("/api/search?q=feed+the+lions&index=zoo").get_json()["results"]
    [id_] = [row["id"] for row in found if row["func_name"] == "feed_lions"]
    assert client.get(f"/api/functions/{id_}").get_json()["func_name"] == "feed_lions"
    assert client.get(f"/api/functions/{id_}/similar").status_code == 200
    assert client.get(f"/api/functions/{id_}?index=shop").status_code == 404
    assert client.get(f"/functions/{id_}").status_code == 200
    assert client.get("/files/zoo/feed.py").status_code == 200


def test_an_index_that_is_not_served_is_refused_by_name(client: FlaskClient) -> None:
    refused = client.get("/api/search?q=key&index=secret")
    assert refused.status_code == 400
    assert refused.get_json()["error"]["message"] == "no index 'secret' is served here"
    assert "shop, zoo" in refused.get_json()["error"]["hint"]


def test_a_star_serves_every_index(home: Path) -> None:
    app = create_app(Settings(home=str(home), index="shop", indexes="*", feedback=False))
    served = app.test_client().get("/api/indexes").get_json()["indexes"]
    assert [row["name"] for row in served] == ["shop", "secret", "zoo"]
    app.extensions["treeline"].close()


def test_the_page_has_a_chooser_that_keeps_its_choice(client: FlaskClient, home: Path) -> None:
    page = client.get("/search?q=feed+the+lions&index=all").get_data(as_text=True)
    assert '<option value="all" selected>all</option>' in page and "feed_lions" in page
    assert '<option value="zoo">zoo</option>' in client.get("/").text
    assert "index=all" in page
    alone = create_app(Settings(home=str(home), index="shop", feedback=False))
    assert 'name="index"' not in alone.test_client().get("/search?q=lions").get_data(as_text=True)
    alone.extensions["treeline"].close()


def test_a_project_is_called_by_its_name_and_the_folder_above_where_two_have_it(tmp_path: Path) -> None:
    settings = Settings(home=str(tmp_path / "home"), index="shop.none", indexes="*", feedback=False)
    for folder in ("old/zoo", "new/zoo", "shop"):
        refreshed = refresh_project(settings, project(tmp_path / folder, CODE[Path(folder).name]))
    refreshed = refresh_project(settings, project(tmp_path / "shop", {"prod.env": "KEY=1"}))
    app = create_app(replace(settings, index=refreshed.project.index))
    client = app.test_client()
    titles = re.findall("<option[^>]*>([^<]*)<", client.get("/").text)
    assert titles[0] == "shop" and sorted(titles[1:]) == ["all", "zoo (new)", "zoo (old)"]
    shown = client.get("/search?q=feed+the+lions&index=all").text + client.get("/files/").text
    assert re.search(r"python · zoo \((old|new)\)", shown) and "Index “zoo (new)”" in shown
    assert "Left out: 1 × secret." in shown and "prod.env" not in shown
    assert re.search(r"zoo\.[0-9a-f]{10}(?![^<]*>)", shown) is None
    app.extensions["treeline"].close()


def test_the_page_counts_and_filters_over_all_indexes_asked(client: FlaskClient) -> None:
    functions = sum(row["functions"] for row in client.get("/api/indexes").get_json()["indexes"])
    context = client.application.extensions["treeline"]
    assert context.indexes.functions(["shop", "zoo", "gone"]) == functions
    html = client.get("/search?q=open+the+cart&index=all").get_data(as_text=True)
    assert "repo=shop" in html and "repo=zoo" in html
    assert "python · zoo" in html and "python · shop" in html


def test_the_files_page_lists_the_repositories_of_all_indexes(client: FlaskClient) -> None:
    html = client.get("/files/").get_data(as_text=True)
    assert '/files/shop/"' in html and '/files/zoo/"' in html
    assert html.count("This index cannot be opened.") == 1  # `gone`
    assert '">Indexed parts</th>' in html  # short enough for the numbers to be seen on a phone
    only = client.get("/files/?index=zoo").get_data(as_text=True)
    assert '/files/zoo/"' in only and '/files/shop/"' not in only


def test_where_the_default_index_is_gone_the_others_still_answer(home: Path) -> None:
    app = create_app(Settings(home=str(home), index="gone", indexes="zoo", feedback=False))
    client = app.test_client()
    assert client.get("/api/search?q=lions").status_code == 503
    assert names(client, q="feed the lions", index="all", explain="true")[0] == "feed_lions"
    page = client.get("/search?q=feed+the+lions&index=all", headers={"Accept": "text/html"})
    assert page.status_code == 200 and "feed_lions" in page.text
    assert client.get("/api/map?q=feed+the+lions&index=all").status_code == 200
    app.extensions["treeline"].close()
