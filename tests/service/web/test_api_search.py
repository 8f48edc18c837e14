"""GET /api/search and /api/suggest: what people build on."""

from collections.abc import Callable
from pathlib import Path

from apiflask import APIFlask
from flask.testing import FlaskClient
from pytest import mark

from tests.service.web.library import INDEX
from treeline.search.settings import Settings


def names(client: FlaskClient, address: str) -> list[str]:
    answer = client.get(address)
    assert answer.status_code == 200, answer.get_data(as_text=True)
    return [row["func_name"] for row in answer.get_json()["results"]]


def test_finds_a_function_by_what_it_does(client: FlaskClient) -> None:
    answer = client.get("/api/search?q=wrap+a+paragraph+of+text+into+lines&k=5").get_json()
    assert "textwrap.py" in {row["path"] for row in answer["results"][:3]}


def test_an_answer_says_what_happened_on_the_way(client: FlaskClient) -> None:
    answer = client.get("/api/search?q=parse+url&k=3&explain=true").get_json()
    assert {"keyword", "dense", "fusion", "rerank", "fetch", "total"} <= answer["timings"].keys()
    assert answer["route"] and answer["generation"] and answer["total"] >= 3
    why = answer["results"][0]["why"]
    assert abs(sum(one["share"] for one in why["contributions"]) - why["score"]) < 1e-9


def test_the_best_quality_reads_the_first_results_with_the_question(client: FlaskClient) -> None:
    def lanes(address: str) -> list[set[str]]:
        rows = client.get(address).get_json()["results"]
        assert all(
            abs(sum(one["share"] for one in row["why"]["contributions"]) - row["why"]["score"]) < 1e-9 for row in rows
        )
        return [{one["lane"] for one in row["why"]["contributions"]} for row in rows]

    address = "/api/search?q=wrap+a+paragraph+of+text+into+lines&k=10&explain=true"
    assert all(
        "reading" in found for found in lanes(f"{address}&quality=best")[:8]
    )  # what was not read may end the page
    assert not any("reading" in found for found in lanes(address))
    page = client.get("/search?q=wrap+a+paragraph+of+text&quality=best").get_data(as_text=True)
    assert "Read with the question" in page and 'name="quality" value="best"' in page


def test_what_was_looked_for_is_said_where_words_are_mistyped(client: FlaskClient) -> None:
    answer = client.get("/api/search?q=wrap+a+paragrpah+of+text").get_json()
    assert answer["query"] == "wrap a paragrpah of text"
    words = [{"typed": "paragrpah", "corrected": "paragraph"}]
    assert answer["corrections"] == {"text": "wrap a paragraph of text", "words": words}
    assert client.get("/api/search?q=wrap+a+paragrpah+of+text&as_typed=true").get_json()["corrections"] is None


@mark.parametrize("rerank", ["default", "none"])
def test_every_result_says_its_cluster(client: FlaskClient, rerank: str) -> None:
    rows = client.get(f"/api/search?q=parse+url&k=20&explain=true&rerank={rerank}").get_json()["results"]
    assert all(isinstance(row["why"]["cluster"], int) for row in rows)
    one = rows[0]
    alike = client.get(f"/api/functions/{one['id']}/similar").get_json()
    assert alike["cluster"] == one["why"]["cluster"]


def test_explanations_and_code_come_only_when_asked_for(client: FlaskClient) -> None:
    row = client.get("/api/search?q=parse+url&k=1&code=false").get_json()["results"][0]
    assert "why" not in row and "code" not in row


def test_pages_put_together_are_the_whole_list(client: FlaskClient) -> None:
    whole = names(client, "/api/search?q=open+a+file&k=60")
    paged: list[str] = []
    offset: int | None = 0
    while offset is not None and offset < 60:
        answer = client.get(f"/api/search?q=open+a+file&k=20&offset={offset}").get_json()
        paged += [row["func_name"] for row in answer["results"]]
        offset = answer["next_offset"]
    assert paged[:60] == whole


def test_the_last_page_has_no_next_offset(client: FlaskClient) -> None:
    total = client.get("/api/search?q=cookies&mode=keyword").get_json()["total"]
    last = client.get(f"/api/search?q=cookies&mode=keyword&k=300&offset={total - 1}").get_json()
    assert last["next_offset"] is None
    assert client.get("/api/search?q=cookies&offset=9999").get_json()["results"] == []


def test_no_page_leads_to_one_that_is_refused(library: Path, make_app: Callable[[Settings], APIFlask]) -> None:
    client = make_app(Settings(home=str(library), index=INDEX, feedback=False, max_offset=20)).test_client()
    pages = [client.get(f"/api/search?q=open+a+file&k=20&offset={offset}").get_json() for offset in (0, 20)]
    assert pages[1]["total"] > 40
    assert [page["next_offset"] for page in pages] == [20, None]


def test_filters_narrow_and_facets_count(client: FlaskClient) -> None:
    answer = client.get("/api/search?q=parse&repo=text&k=50").get_json()
    assert {row["repo"] for row in answer["results"]} == {"text"}
    assert answer["facets"]["repo"] == [
        {"value": "text", "count": sum(c["count"] for c in answer["facets"]["language"])}
    ]
    below = client.get("/api/search?q=parse&repo=text&path=json/&k=50").get_json()
    assert all(row["path"].startswith("json/") for row in below["results"])


def test_facets_count_all_results_whichever_page_is_asked_for(client: FlaskClient) -> None:
    whole = client.get("/api/search?q=retry+with+backoff&k=3").get_json()
    assert whole["total"] > 100  # more than is re-ranked
    for name in ("language", "repo"):
        assert sum(row["count"] for row in whole["facets"][name]) == whole["total"]
    last = client.get(f"/api/search?q=retry+with+backoff&k=3&offset={whole['total'] - 1}").get_json()
    assert last["facets"] == whole["facets"]


@mark.parametrize("mode", ["keyword", "dense", "hybrid"])
def test_every_mode_answers(client: FlaskClient, mode: str) -> None:
    assert names(client, f"/api/search?q=heap+push&mode={mode}")


def test_a_structural_question_has_an_exact_answer_and_says_which_results_are_it(client: FlaskClient) -> None:
    answer = client.get("/api/search?q=what+calls+heappush&k=50").get_json()
    exact = answer["exact"]
    assert (exact["symbol"], exact["relations"], exact["direction"], exact["known"]) == (
        "heappush",
        ["calls"],
        "in",
        True,
    )
    assert exact["functions"] >= 1
    assert exact["answer"].endswith("heappush defined in this index")
    relations = [row["relation"] for row in answer["results"]]
    assert relations == ["calls"] * exact["functions"] + [""] * (len(relations) - exact["functions"])
    assert client.get("/api/search?q=heap+push").get_json()["exact"] is None


def test_an_unknown_symbol_is_said_to_be_unknown(client: FlaskClient) -> None:
    exact = client.get("/api/search?q=who+calls+nonexistent_fn").get_json()["exact"]
    assert (exact["known"], exact["functions"]) == (False, 0)
    assert exact["answer"].startswith("no function called nonexistent_fn in this index")


def test_a_filter_that_nothing_passes_is_told_what_is_near_it(client: FlaskClient) -> None:
    answer = client.get("/api/search?q=parse&language=pyton").get_json()
    assert answer["hints"] == ["language pyton: there is none; near it: python"]
    assert client.get("/api/search?q=parse&language=python").get_json()["hints"] == []
    page = client.get("/search?q=parse&language=pyton").get_data(as_text=True)
    assert "Language pyton: there is none; near it: python." in page


def test_filters_and_excluded_words_may_stand_in_the_question(client: FlaskClient) -> None:
    answer = client.get("/api/search", query_string={"q": "parse lang:PY -url"}).get_json()
    beside = client.get("/api/search", query_string={"q": "parse -url", "language": "python"}).get_json()
    assert answer["query"] == "parse"
    assert {name: value for name, value in answer["filters"].items() if value} == {"language": "python"}
    assert answer["excluded"] == ["url"]
    assert answer["results"] and answer["results"] == beside["results"]
    assert not [row for row in answer["results"] if "url" in row["func_name"]]
    both = client.get("/api/search", query_string={"q": "parse lang:py", "language": "go"}).get_json()
    assert both["filters"]["language"] == "go,python"


def test_a_question_that_is_too_long_is_told_its_length(client: FlaskClient) -> None:
    problem = client.post("/api/search", json={"q": "x" * 100_001}).get_json()["error"]
    assert problem["message"] == "the question has 100,001 characters, at most 100,000 are read"


def test_a_pasted_issue_is_answered(client: FlaskClient) -> None:
    issue = "wrap() loses a line\n\n" + "When a paragraph of text is wrapped, a line is lost. -wrap lang:go\n" * 200
    answer = client.post("/api/search", json={"q": issue, "k": 5, "language": "python"}).get_json()
    assert answer["route"] == "issue" and answer["excluded"] == []
    assert "textwrap.py" in {row["path"] for row in answer["results"]}
    assert any(hint.startswith("read as an issue: its first line") for hint in answer["hints"])
    assert client.post("/api/search", json={"q": "wrap", "nonsense": 1}).status_code == 422


@mark.parametrize("question", ["!!!", "_ _", "\N{PARTY POPPER}"])
def test_a_question_without_a_word_is_refused(client: FlaskClient, question: str) -> None:
    answer = client.get("/api/search", query_string={"q": question})
    assert (answer.status_code, answer.get_json()["error"]["code"]) == (400, "bad_input")
    assert "no word" in answer.get_json()["error"]["message"]
    assert client.get("/api/search", query_string={"q": "排序"}).status_code == 200


def test_re_rankers_are_chosen_by_name(client: FlaskClient) -> None:
    plain = client.get("/api/search?q=open+a+file&rerank=none&k=20").get_json()["results"]
    other = client.get("/api/search?q=open+a+file&rerank=algorithm1&k=20").get_json()["results"]
    assert [row["id"] for row in plain] != [row["id"] for row in other]


def test_an_unchanged_answer_need_not_be_sent_again(client: FlaskClient) -> None:
    first = client.get("/api/search?q=parse+url")
    again = client.get("/api/search?q=parse+url", headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.data) == (304, b"")
    other = client.get("/api/search?q=parse+urls+now", headers={"If-None-Match": first.headers["ETag"]})
    assert other.status_code == 200


def test_names_are_suggested_as_one_types(client: FlaskClient) -> None:
    found = client.get("/api/suggest?prefix=heap").get_json()["names"]
    assert found and all(name.lower().startswith("heap") for name in found)
    assert client.get("/api/suggest?prefix=zzzzzz").get_json()["names"] == []


@mark.parametrize(
    ("prefix", "names"),
    [
        ("JSONDecoder.ra", ["JSONDecoder.raw_decode"]),
        ("shutil.mo", ["shutil.move"]),
        ("json.decoder.py_s", ["json.decoder.py_scanstring"]),
        ("json.jsond", ["json.JSONDecoder", "json.JSONDecodeError"]),
        ("shutil.zzz", []),
    ],
)
def test_names_are_suggested_of_a_class_or_module(client: FlaskClient, prefix: str, names: list[str]) -> None:
    found = client.get(f"/api/suggest?prefix={prefix}").get_json()["names"]
    assert sorted(found) == sorted(names)
