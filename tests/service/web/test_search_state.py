"""A search's state: links keep it, a function's page leads back to it, and what is wrong with it is told."""

import html
import re
from collections.abc import Callable
from pathlib import Path

from apiflask import APIFlask
from flask.testing import FlaskClient
from pytest import mark

from tests.service.web.library import INDEX
from treeline.search.settings import Settings
from treeline.service.pages.search import rephrase

HTML = {"Accept": "text/html"}
NARROWED = "q=return&mode=keyword&rerank=none&fusion=score_sum&expand=true&repo=text&page=2"


def page(client: FlaskClient, address: str, status: int = 200) -> str:
    answer = client.get(address, headers=HTML)
    assert answer.status_code == status
    return answer.get_data(as_text=True)


def links(text: str, pattern: str) -> list[str]:
    return [html.unescape(found) for found in re.findall(f'href="({pattern})"', text)]


def test_a_functions_page_leads_back_to_the_list_it_was_opened_from(client: FlaskClient) -> None:
    opened = links(page(client, f"/search?{NARROWED}"), '/functions/[0-9a-f]{32}[?][^"]*')[0]
    assert f"/search?{NARROWED}" in links(page(client, opened), '/search[^"]*')


def test_a_filter_in_the_question_is_set_like_one_of_the_page(client: FlaskClient) -> None:
    text = page(client, "/search?q=repo:text+return+-url&repo=web")  # which was set before
    assert ">\nreturn -url</textarea>" in text
    assert '<input type="hidden" name="repo" value="text">' in text
    assert "Results that contain “url” are excluded." in text
    opened = links(text, '/functions/[0-9a-f]{32}[?][^"]*')[0]
    assert opened.endswith("?q=return+-url&repo=text")
    assert "There is no word to look for (only repo text)" in page(client, "/search?q=repo:text", 400)


def test_nothing_but_a_search_becomes_the_way_back(client: FlaskClient) -> None:
    function = client.get("/api/search?q=parse+url&k=1").get_json()["results"][0]["id"]
    text = page(client, f"/functions/{function}?q=x&repo=//evil.example&next=https://evil.example&page=javascript:1")
    (back,) = re.findall('<p class="back"><a href="([^"]*)"', text)
    assert html.unescape(back) == "/search?q=x&repo=%2F%2Fevil.example&page=javascript%3A1"


def test_pages_filters_and_forms_keep_how_the_question_was_asked(client: FlaskClient) -> None:
    text = page(client, "/search?q=return&fusion=score_sum&expand=true")
    assert "/search?q=return&fusion=score_sum&expand=true&page=2" in links(text, '/search[^"]*')
    assert "/search?q=return&fusion=score_sum&expand=true&repo=text" in links(text, '/search[^"]*')
    forms = re.findall('<form[^>]* action="/search".*?</form>', text, re.S)
    assert len(forms) == 3
    switches = next(form for form in forms if "data-switches" in form)
    assert '<option value="score_sum" selected>' in switches and 'name="expand" value="true" checked' in switches
    others = [form for form in forms if form is not switches]
    assert all('name="fusion" value="score_sum"' in form and 'name="expand" value="true"' in form for form in others)


def test_links_keep_what_differs_from_the_settings_and_leave_out_the_rest(
    library: Path, make_app: Callable[[Settings], APIFlask]
) -> None:
    settings = Settings(home=str(library), index=INDEX, mode="keyword", diversity=0.25, feedback=False)
    client = make_app(settings).test_client()
    text = page(client, "/search?q=return&mode=hybrid&diversity=0.5")
    assert "/search?q=return&mode=hybrid&diversity=0.5&page=2" in links(text, '/search[^"]*')
    text = page(client, "/search?q=return&mode=keyword&quality=fast&diversity=0.25&page=1")
    assert "/search?q=return&page=2" in links(text, '/search[^"]*')
    assert '<select name="mode" data-usual="keyword">' in text and '<option value="keyword" selected>' in text


def test_a_parameter_that_no_search_has_is_told_and_left_out(client: FlaskClient) -> None:
    text = page(client, "/search?q=return&k=50&utm_source=x&<b>=1")
    assert "Ignored" in text
    assert "<code>k</code>, <code>utm_source</code>, <code>&lt;b&gt;</code>" in text
    assert not [link for link in links(text, '/[^"]*[?][^"]*') if "utm_source" in link]
    assert "Ignored" not in page(client, "/search?q=return&page=2&map=off")


def test_a_wrong_question_keeps_the_box_and_the_switches(client: FlaskClient) -> None:
    text = page(client, "/search?q=return&repo=text&rerank=telepathy", 400)
    assert "No re-ranking method is called" in text and "data-switches" in text and 'value="return"' in text
    assert 'name="repo" value="text"' in text.split("data-switches")[1]


def test_the_page_offers_one_number_in_place_of_the_methods(client: FlaskClient) -> None:
    text = page(client, "/search?q=return&diversity=1")
    assert '<input type="range" name="diversity" min="0" max="1" step="0.25" value="1"' in text
    assert 'name="rerank"' not in text and "algorithm2" not in text
    assert "diversity" in page(client, "/search?q=return&diversity=7", 400)


@mark.parametrize(
    ("question", "look", "asked"),
    [
        ("open a file", "", "open a file"),
        ("raise ValueError", "text", '"raise ValueError"'),
        ('"quoted already"', "text", '"quoted already"'),
        ('say "hi"', "text", '"say \\"hi\\""'),
        ("/retr(y|ies)/", "text", "/retr(y|ies)/"),
        ("heappush", "callers", "what calls heappush"),
        ("who uses heappush", "callers", "who uses heappush"),
    ],
)
def test_a_way_of_looking_phrases_the_question(question: str, look: str, asked: str) -> None:
    assert rephrase(question, look) == asked


@mark.parametrize("look", ["", "text", "callers"])
def test_every_control_answers_and_the_map_asks_the_same(client: FlaskClient, look: str) -> None:
    text = page(client, f"/search?q=heappush&look={look}")
    assert f'name="look" value="{look}" checked' in text
    (address,) = re.findall('data-map-api="([^"]*)"', text)
    assert client.get(address.replace("&amp;", "&")).status_code == 200
