"""The pages without a browser: their state is the URL, and every state is designed."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from apiflask import APIFlask
from flask.testing import FlaskClient

from tests.service.web.library import INDEX
from treeline.corpus.function import Address
from treeline.engine.embedded import EmbeddedStore
from treeline.ingest.pipeline import LoadOptions, load
from treeline.ingest.sources import open_source
from treeline.search.answer import Answer
from treeline.search.lanes.lane_set import Degradation
from treeline.search.query import Query
from treeline.search.searcher import Reorder
from treeline.search.settings import Settings
from treeline.service.api.search import cluster_places
from treeline.service.present.highlight import WHOLE_LENGTH
from treeline.service.present.text import sentence, summary

HTML = {"Accept": "text/html"}


def page(client: FlaskClient, address: str, status: int = 200) -> str:
    answer = client.get(address, headers=HTML)
    assert answer.status_code == status
    return answer.get_data(as_text=True)


def test_the_front_page_shows_live_figures_and_six_questions(client: FlaskClient) -> None:
    html = page(client, "/")
    functions = client.get("/api/status").get_json()["index"]["functions"]
    assert f"<b>{functions:,}</b>" in html
    assert html.count('<li><a href="/search?q=') == 6


def test_a_question_at_the_root_is_answered_where_answers_are(client: FlaskClient) -> None:
    moved = client.get("/?q=parse+url&language=python&_scheme=ftp&endpoint=x")
    assert moved.status_code == 302
    assert moved.location == "/search?q=parse+url&language=python&_scheme=ftp&endpoint=x"
    assert client.get("/?q=caf%C3%A9+\u2713").location.startswith("/search?q=caf%C3%A9")


def test_results_carry_code_reasons_and_links(client: FlaskClient) -> None:
    html = page(client, "/search?q=parse+url")
    assert html.count('<li class="result"') == 10
    assert html.count("Why here") == 10 and '<rect class="bar"' in html
    assert "<mark>" in html and re.search(r'href="/functions/[0-9a-f]{32}\?q=parse\+url"', html)


def test_a_question_typed_wrong_says_what_was_looked_for_and_leads_back(client: FlaskClient) -> None:
    html = page(client, "/search?q=wrap+a+paragrpah&mode=keyword")
    assert "Searched for “paragraph” instead of “paragrpah”." in html
    assert "<mark>paragraph</mark>" in html
    assert re.search(r'href="/functions/[0-9a-f]{32}\?q=wrap\+a\+paragraph&amp;mode=keyword"', html)
    as_typed = "/search?q=wrap+a+paragrpah&amp;mode=keyword&amp;as_typed=true"
    assert f'<a href="{as_typed}">Search as typed</a>' in html
    html = page(client, as_typed.replace("&amp;", "&"))
    assert "Searched for" not in html
    asking, switches = re.findall(r"<form.*?</form>", html, re.DOTALL)[:2]
    assert "as_typed" not in asking  # the next question is another one
    assert "as_typed" in switches


def test_an_exact_answer_is_told_from_what_only_shares_words_with_it(client: FlaskClient) -> None:
    page = client.get("/search?q=what+calls+heappush").get_data(as_text=True)
    assert "heappush defined in this index." in page
    assert re.search(r'id="found">[\d,]+ answers? from the call graph<span class="quiet">, [\d,]+ others?</span>', page)
    exact, below, rest = page.partition('<p class="below">By keyword or meaning, not from the call graph.</p>')
    assert below
    assert exact.count('<span class="relation"') >= 1
    assert '<span class="relation"' not in rest
    library = client.get("/search?q=what+calls+len").get_data(as_text=True)
    assert library.count('<p class="below">With len( in the code, not resolved by the call graph.</p>') == 1
    relation = '<span class="relation" title="The call is in its code; the call graph does not lead to it">unresolved<'
    assert relation in library
    unknown = client.get("/search?q=who+calls+nonexistent_fn").get_data(as_text=True)
    assert "No function called nonexistent_fn in this index" in unknown


def test_links_change_one_thing_of_the_state_and_keep_the_rest(client: FlaskClient) -> None:
    html = page(client, "/search?q=return&mode=keyword&repo=text&page=2")
    assert 'href="/search?q=return&amp;mode=keyword&amp;repo=text&amp;page=3"' in html
    assert 'href="/search?q=return&amp;mode=keyword"' in html  # the filter taken off


def test_paging_goes_on_where_the_last_page_ended(client: FlaskClient) -> None:
    first = re.findall(r'data-id="([0-9a-f]{32})" data-rank="(\d+)"', page(client, "/search?q=open+a+file"))
    second = re.findall(r'data-id="([0-9a-f]{32})" data-rank="(\d+)"', page(client, "/search?q=open+a+file&page=2"))
    assert [int(rank) for _, rank in first + second] == list(range(1, 21))
    assert not {one for one, _ in first} & {one for one, _ in second}
    assert "This list ends before page 900" in page(client, "/search?q=open+a+file&page=900")


def test_an_answer_that_was_kept_tells_how_many_and_no_time(client: FlaskClient) -> None:
    first, again = (page(client, "/search?q=an+answer+to+keep").partition('id="found">')[2] for _ in range(2))
    assert re.match(r"The best [\d,]+ of [\d,]+<span class=\"quiet\"> in [\d.]+ ms</span>", first)
    assert re.match(r"The best [\d,]+ of [\d,]+<span class=\"quiet\"> </span>", again)


def test_nothing_found_says_what_to_try(client: FlaskClient) -> None:
    html = page(client, "/search?q=parse&language=klingon&mode=keyword")
    assert "Nothing found" in html and "Search without the filters" in html and "Search by meaning" in html


def test_what_nothing_is_called_is_said_once(client: FlaskClient) -> None:
    html = page(client, "/search?q=xyzzyQux")
    assert "Nothing here is called <code>xyzzyQux</code>" in html and "Nothing here answers" not in html


def test_an_empty_question_explains_how_to_ask(client: FlaskClient) -> None:
    html = page(client, "/search?mode=dense")
    assert "Ask for code" in html
    assert html.count('<li><a href="/search?q=') == 6 and "&amp;mode=dense" in html


@pytest.mark.parametrize("address", ["/search?q=x&page=0", "/search?q=x&page=two", "/search?q=x&mode=telepathy"])
def test_a_wrong_address_says_what_is_wrong(client: FlaskClient, address: str) -> None:
    assert "That did not work" in page(client, address, 400)


def test_nonsense_is_told_to_be_answered_by_meaning_alone(client: FlaskClient) -> None:
    said = "Nothing here contains these words; what follows is the nearest by meaning."
    assert said in page(client, "/search?q=qwertyzxcv")
    assert said not in page(client, "/search?q=parse")


def test_a_result_by_a_near_spelling_is_said_and_one_that_is_not_shown_is_not(client: FlaskClient) -> None:
    assert "widened to near spellings" in page(client, "/search?q=prse&as_typed=1&mode=keyword")
    assert "widened" not in page(client, "/search?q=parse&mode=keyword&k=1")


def test_a_lane_that_was_left_out_is_named(app: APIFlask, monkeypatch: pytest.MonkeyPatch) -> None:
    searcher = app.extensions["treeline"].searcher
    search: Callable[[Query], Answer] = searcher.search

    def degraded(query: Query, reorder: Reorder | None = None) -> Answer:
        return replace(search(query), degraded=(Degradation("dense", "took longer than 3 s"),))

    monkeypatch.setattr(searcher, "search", degraded)
    answer = app.test_client().get("/search?q=parse", headers=HTML)
    html = answer.get_data(as_text=True)
    assert "Meaning was left out.</b> Took longer than 3 s." in html
    again = app.test_client().get("/api/search?q=parse")
    assert "ETag" not in again.headers and again.headers["Cache-Control"] == "no-store"


def test_what_matches_an_expression_is_marked_in_the_list_and_on_its_page(client: FlaskClient) -> None:
    html = client.get("/search", query_string={"q": "/def heap\\w+/"}).text
    first = html.partition('<li class="result"')[2]
    assert (
        "".join(re.findall("<mark>(.*?)</mark>", first.partition("</pre>")[2].partition("</code>")[0]))
        == "def heappush"
    )
    (function,) = re.findall(r'href="(/functions/[^"]*)" data-open', first)[:1]
    assert "<mark>heappush</mark>" in page(client, function.replace("&amp;", "&"))


def test_an_expression_that_took_too_long_leads_to_less_code(app: APIFlask, monkeypatch: pytest.MonkeyPatch) -> None:
    searcher = app.extensions["treeline"].searcher
    search: Callable[[Query], Answer] = searcher.search
    cut = "looking for /open/ took too long: there may be more"
    monkeypatch.setattr(
        searcher, "search", lambda query, reorder=None: replace(search(query), hints=(cut,), cut_short=cut)
    )
    html = app.test_client().get("/search?q=/open/", headers=HTML).text
    assert "there may be more. Look in <a href=" in html
    assert re.search(r'Look in <a href="/search\?q=%2Fopen%2F&amp;repo=\w+">', html)


def test_a_functions_page_shows_its_place_its_callers_and_its_like(client: FlaskClient) -> None:
    rows = client.get("/api/search?q=heappush&mode=keyword").get_json()["results"]
    found = next(row for row in rows if row["func_name"] == "heappush")
    html = page(client, f"/functions/{found['id']}?q=heappush")
    crumbs = re.findall(r'<li class="on-(\w+)"', html)
    assert crumbs == ["repository", "file", "function"]
    assert "Results for “heappush”" in html and "Beside it in the tree" in html and "heappop" in html
    assert re.search(r"Calls</h2><ul.*_siftdown", html, re.S)
    assert 'class="gutter"' in html


def test_callers_and_callees_over_the_api(client: FlaskClient) -> None:
    rows = client.get("/api/search?q=_siftdown&mode=keyword").get_json()["results"]
    found = next(row for row in rows if row["func_name"] == "_siftdown")
    neighbours = client.get(f"/api/functions/{found['id']}/neighbours").get_json()
    assert "heappush" in {one["name"] for one in neighbours["callers"]}
    assert (neighbours["unresolved_calls"], neighbours["all_unresolved_calls"]) == (0, True)


def test_calls_that_were_not_resolved_are_counted_beside_the_callers(client: FlaskClient) -> None:
    rows = client.get("/api/search?q=JSONEncoder.encode&mode=keyword").get_json()["results"]
    found = next(row for row in rows if row["func_name"] == "JSONEncoder.encode")
    written = client.get(f"/api/functions/{found['id']}/neighbours").get_json()["unresolved_calls"]
    assert written > 1
    told = f'<a href="/search?q=what+calls+encode">{written} functions have encode( in the code</a>'
    assert told in page(client, f"/functions/{found['id']}")


def test_similar_functions_are_near_and_not_the_same(client: FlaskClient) -> None:
    rows = client.get("/api/search?q=parse+url").get_json()["results"]
    similar = client.get(f"/api/functions/{rows[0]['id']}/similar?k=5").get_json()
    scores = [one["score"] for one in similar["results"]]
    assert len(scores) == 5 and scores == sorted(scores, reverse=True)
    assert any(one["same_cluster"] for one in similar["results"])
    assert rows[0]["id"] not in {one["id"] for one in similar["results"]}
    fewer = client.get(f"/api/functions/{rows[0]['id']}/similar?k=2").get_json()
    assert fewer["results"] == similar["results"][:2]


@pytest.mark.parametrize("about", ["", "/similar", "/neighbours"])
def test_what_is_known_of_a_function_is_not_sent_twice(client: FlaskClient, about: str) -> None:
    function = client.get("/api/search?q=parse+url&k=1").get_json()["results"][0]["id"]
    first = client.get(f"/api/functions/{function}{about}")
    held = {"If-None-Match": first.headers["ETag"]}
    again = client.get(f"/api/functions/{function}{about}", headers=held)
    assert (again.status_code, again.data) == (304, b"")
    assert client.get(f"/api/functions/{function}/similar?k=2", headers=held).status_code == 200


def test_the_map_holds_the_results_inside_the_disk(client: FlaskClient) -> None:
    drawn = client.get("/api/map?q=open+a+file").get_json()
    functions = [node for node in drawn["nodes"] if node["id"]]
    assert sorted(node["rank"] for node in functions) == list(range(1, len(functions) + 1))
    assert sorted(node["before"] for node in functions) == list(range(1, len(functions) + 1))
    assert all(node["x"] ** 2 + node["y"] ** 2 < 1 for node in drawn["nodes"])
    assert all(node["parent"] is None or node["parent"] < place for place, node in enumerate(drawn["nodes"]))
    assert len({node["cluster"] for node in functions}) > 1
    listed = client.get("/api/search?q=open+a+file&k=10").get_json()["results"]
    best = sorted(functions, key=lambda node: int(node["rank"]))[:10]
    assert [node["id"] for node in best] == [row["id"] for row in listed]


def test_a_cluster_is_named_by_the_innermost_place_that_holds_most_of_it() -> None:
    paths = ("src/in/read.py", "src/in/json.py", "src/out/mail.py", "src/out/mail.py", "src/out/news.py")
    names = ("read", "read", "Mail.send", "Mail.drop", "send")
    units = [Address("shop", path, name, "python", "") for path, name in zip(paths, names, strict=True)]
    assert cluster_places(units, [0, 0, 1, 1, 1]) == ["src/in", "mail.py/Mail"]
    assert cluster_places([units[0], units[0]._replace(repo="other")], [0, 0]) == [""]
    assert cluster_places(units, [None] * 5) == []


def test_a_file_is_called_by_its_whole_name_and_a_method_after_its_class(client: FlaskClient) -> None:
    title = '<span class="scope">{}</span>{}</a></h2>'
    assert title.format("", "textwrap.py") in page(client, "/search?q=textwrap.py")
    assert title.format("TextWrapper.", "wrap") in page(client, "/search?q=TextWrapper.wrap")


@pytest.mark.parametrize(
    ("question", "reading"),
    [
        ("open a file", "a description"),
        ("/def heap\\w+/", "a regular expression"),
        ('"heap[parent]"', "exact text"),
        ("TextWrapper.wrap", "a name"),
    ],
)
def test_the_way_a_question_was_understood_says_what_it_means_for_the_list(
    client: FlaskClient, question: str, reading: str
) -> None:
    shown = client.get("/search", query_string={"q": question}).text
    assert re.search(f"<summary>understood as {reading}.*?</summary><div><p>[^<]{{20,}}</p><dl>", shown)


def test_copies_of_one_function_are_one_result_with_their_places(
    tmp_path: Path, make_app: Callable[[Settings], APIFlask]
) -> None:
    for name in ("one", "two"):
        (tmp_path / "demo" / name).mkdir(parents=True)
        (tmp_path / "demo" / name / "pay.py").write_text("def pay_invoice(sum):\n    return transfer(sum)\n")
    load(EmbeddedStore(tmp_path / "home"), INDEX, [open_source(str(tmp_path / "demo"))], LoadOptions(work=tmp_path))
    client = make_app(Settings(home=str(tmp_path / "home"), index=INDEX)).test_client()
    page = client.get("/search?q=pay_invoice&kind=function&diversity=0").text
    assert "The same in 1 more place" in page
    assert page.count('<li class="result"') == 1 and "Result </span>1–2<" in page
    assert "one/pay.py" in page
    assert "two/pay.py" in page


def test_what_is_not_there_is_a_page_with_a_search_box(client: FlaskClient) -> None:
    html = page(client, "/functions/" + "0" * 32, 404)
    assert "Not found" in html and 'role="search"' in html
    assert "an id changes with its code" in html
    for address in ("/nowhere", "/eval?run=x"):
        assert "function" not in page(client, address, 404).partition('class="status"')[2].partition("<form")[0]
    assert "There is nothing at this address." in page(client, "/nowhere", 404)


def test_what_the_counts_beside_filters_count_is_said(client: FlaskClient) -> None:
    """A filter searches again: among more functions than are listed, it finds more than were counted."""
    assert "Counts are of the results on all pages" in page(client, "/search?q=parse")
    assert "A filter searches again" in page(client, "/search?q=parse")
    schemas = client.get("/openapi.json").get_json()["components"]["schemas"]
    assert "a filter searches again" in schemas["SearchBody.FacetsBody"]["description"]


def test_a_function_that_is_too_long_to_show_says_how_much_is_missing(
    tmp_path: Path, make_app: Callable[[Settings], APIFlask]
) -> None:
    source = tmp_path / "long"
    source.mkdir()
    (source / "a.py").write_text("def long():\n" + "    call(1)\n" * (WHOLE_LENGTH // 10))
    options = LoadOptions(work=tmp_path / "work", workers=0)
    load(EmbeddedStore(tmp_path / "home"), "long", [open_source(str(source))], options)
    client = make_app(Settings(home=str(tmp_path / "home"), index="long", feedback=False)).test_client()
    found = client.get("/api/search?q=long").get_json()["results"][0]["id"]
    for address in (f"/functions/{found}", f"/functions/{found}/code"):
        assert re.search(r"[\d,]+ more lines not shown; the button copies all of it", page(client, address))


def test_an_empty_index_says_so_and_how_to_fill_it(tmp_path: Path, make_app: Callable[[Settings], APIFlask]) -> None:
    nothing = tmp_path / "nothing.jsonl"
    nothing.write_text("")
    options = LoadOptions(work=tmp_path / "work", workers=0)
    load(EmbeddedStore(tmp_path / "home"), "bare", [open_source(str(nothing))], options)
    client = make_app(Settings(home=str(tmp_path / "home"), index="bare")).test_client()
    for address in ("/", "/search?q=parse"):
        html = page(client, address)
        assert "Index “bare” is empty" in html and "treeline index FOLDER --name bare" in html
        assert "Nothing here answers" not in html and "data-until-ready" not in html


def test_keys_are_told_only_where_they_work(client: FlaskClient) -> None:
    assert "<kbd>" not in page(client, "/") + page(client, "/docs") + page(client, "/eval")
    assert "<kbd>/</kbd>" in page(client, "/search") and "<kbd>w</kbd>" not in page(client, "/search")
    assert "<kbd>w</kbd>" in page(client, "/search?q=parse")


def test_an_engine_that_is_away_is_not_called_an_empty_index(
    tmp_path: Path, make_app: Callable[[Settings], APIFlask]
) -> None:
    away = {"engine": "elasticsearch", "elasticsearch_url": "http://127.0.0.1:9"}
    client = make_app(Settings(home=str(tmp_path), **away)).test_client()  # type: ignore[arg-type]
    for address, status in (("/", 200), ("/search?q=parse", 503)):
        html = page(client, address, status)
        assert "The index cannot be reached" in html and "nothing to search yet" not in html
        assert "Connection refused." in html and "Start it, or set TREELINE_ELASTICSEARCH_URL." in html


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("make one with `treeline index`", "Make one with <code>treeline index</code>."),
        ("what now?", "What now?"),
        ("TREELINE_HOME is <b>", "TREELINE_HOME is &lt;b&gt;."),
        ("a `b", "A `b."),
        ("", ""),
    ],
)
def test_a_message_becomes_a_sentence(text: str, shown: str) -> None:
    assert str(sentence(text)) == shown


@pytest.mark.parametrize(
    ("docstring", "shown"),
    [
        (".. raw:: html\n\n  <p>Find the <code>shape</code>.</p>\n  <p>More.</p>\n\n:param x: a", "Find the shape."),
        (".. deprecated:: 2.0\n   Use other. It is better.", "Use other."),
        (".. warning:: Not for everyone. Beware.", "Not for everyone."),
        (".. raw:: html", ""),
        ("Wrap it in <p> tags, ``width`` wide.", "Wrap it in <p> tags, `width` wide."),
        ("Make a :class:`~shapes.Box` of it.", "Make a `shapes.Box` of it."),
        ("Quote it with ```.", "Quote it with ```."),
        ("```````\n\nRead cookies. More.", "Read cookies."),
    ],
)
def test_a_summary_is_free_of_markup(docstring: str, shown: str) -> None:
    assert summary(docstring) == shown


def test_what_a_summary_marks_as_code_is_shown_as_code(client: FlaskClient) -> None:
    told = re.search(
        r'<p class="summary"[^>]*>(Return the Python.*?)</p>', page(client, "/search?q=JSONDecoder.decode")
    )
    assert told and "<code>" in told[1] and "`" not in told[1]


@pytest.mark.parametrize("docstring", [":param x: a thing", "@param x a thing", "Args:\n    x: a thing"])
def test_a_list_of_parameters_is_no_summary(docstring: str) -> None:
    assert summary(docstring) == "" and summary(f"Does it. {docstring}") == "Does it."


def test_thumbs_are_shown_only_where_they_count(client: FlaskClient, app: APIFlask) -> None:
    assert "data-vote" not in page(client, "/search?q=parse")  # feedback is off there
    assert "data-vote" in page(app.test_client(), "/search?q=parse")


def test_the_reference_lists_every_operation(client: FlaskClient) -> None:
    html = page(client, "/docs")
    for path in client.get("/openapi.json").get_json()["paths"]:
        assert path in html
    assert f"at most {Settings().max_query_length:,} characters" in html
