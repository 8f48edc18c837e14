"""The dashboard, from files in the shape that `treeline eval` writes."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from apiflask import APIFlask
from flask.testing import FlaskClient

from tests.service.web.library import INDEX
from treeline.search.settings import Settings

HTML = {"Accept": "text/html"}


def run(dataset: str = "codesearchnet", made: str = "2026-01-02T03:04:05") -> dict[str, object]:
    def system(name: str, mean: float) -> dict[str, object]:
        return {
            "name": name,
            "about": f"the {name} one",
            "means": {"ndcg": {"mean": mean, "low": mean - 0.05, "high": mean + 0.05, "queries": 2}},
            "latency": {"p50": 4.2, "p95": 9.9},
            "against_baseline": {"ndcg": {"difference": 0.1, "low": 0, "high": 1, "p": 0.01, "wins": 1, "losses": 0}},
            "values": {"ndcg": {"1": mean, "2": None}},
        }

    return {
        "format": 1,
        "dataset": dataset,
        "about": "The 99 queries",
        "headline": "ndcg",
        "commit": "abcdef0123456789",
        "changed": False,
        "made": made,
        "queries": 2,
        "facts": {"index": "182,431 functions, embedded"},
        "metrics": [{"name": "ndcg", "label": "NDCG within", "share": True}],
        "baseline": "keyword",
        "focus": "default",
        "systems": [system("keyword", 0.7), system("default", 0.812)],
        "worst": [{"system": "default", "query": "1", "value": 0.0, "expected": ["x"], "returned": []}],
        "texts": {"1": "sort <b>things</b>"},
    }


@pytest.fixture
def results(tmp_path: Path) -> Path:
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / "abc-codesearchnet.json").write_text(json.dumps(run()))
    (folder / "abc-mined.json").write_text(json.dumps(run("mined", "2026-05-01")))
    (folder / "broken.json").write_text("{")
    return folder


@pytest.fixture
def dashboard(results: Path, library: Path, make_app: Callable[[Settings], APIFlask]) -> FlaskClient:
    settings = Settings(home=str(library), index=INDEX, feedback=False, eval_results=str(results))
    return make_app(settings).test_client()


def test_it_shows_systems_intervals_and_single_queries(dashboard: FlaskClient) -> None:
    html = dashboard.get("/eval", headers=HTML).get_data(as_text=True)
    assert "0.812" in html and "0.762–0.862" in html and "9.9 ms" in html and "1 won, 0 lost" in html
    assert "sort &lt;b&gt;things&lt;/b&gt;" in html and "<b>things" not in html
    assert "broken.json" in html


def numbered(numbers: Sequence[str] = ("1", "2")) -> dict[str, object]:
    """A run as it is kept of CodeSearchNet's questions: by number, with what was returned."""
    systems = [
        {"name": name, "means": {"ndcg": {"mean": mean}}, "values": {"ndcg": {f"python #{n}": mean for n in numbers}}}
        for name, mean in (("keyword", 0.5), ("default", 0.75))
    ]
    returned = [
        {"name": "sort_all", "repo": "o/r", "path": "a.py", "url": "https://github.com/o/r/blob/1/a.py#L1-L2"},
        {"name": "bad", "repo": "o/r", "path": "b.py", "url": "javascript:alert(1)"},
    ]
    worst = [{"system": "default", "id": "python #1", "query": "", "value": 0.25, "expected": [], "returned": returned}]
    other = {"name": "mrr", "label": "MRR", "share": True}
    metrics = [{"name": "ndcg", "label": "NDCG within", "share": True}, other]
    return {**run(), "metrics": metrics, "systems": systems, "worst": worst, "texts": {}}


def page_of(results: Path, settings: Settings, make_app: Callable[[Settings], APIFlask]) -> str:
    results.mkdir()
    (results / "abc-codesearchnet.json").write_text(json.dumps(numbered()))
    return make_app(settings).test_client().get("/eval", headers=HTML).get_data(as_text=True)


def test_questions_go_by_number_where_their_words_are_not_at_hand(
    library: Path, tmp_path: Path, make_app: Callable[[Settings], APIFlask]
) -> None:
    settings = Settings(home=str(library), index=INDEX, feedback=False, eval_results=str(tmp_path / "results"))
    html = page_of(tmp_path / "results", settings, make_app)
    assert '<th scope="row">python #2</th><td>0.500</td><td>0.750</td><td>+0.250</td>' in html
    assert "TREELINE_EVAL_DATA" in html
    assert "<summary>python #1 <small>default 0.250" in html
    assert 'href="https://github.com/o/r/blob/1/a.py#L1-L2"' in html and "<code>sort_all</code></a>" in html
    assert "<code>bad</code>" in html and "javascript:" not in html
    assert "metric=ndcg#queries" in html and "metric=mrr" not in html  # of which no single value was kept


def test_their_words_come_from_the_official_file(
    library: Path, tmp_path: Path, make_app: Callable[[Settings], APIFlask]
) -> None:
    (tmp_path / "queries.csv").write_text("query\nsort <a> list\n\nsort <a> list\nread a file \n")
    settings = Settings(
        home=str(library), index=INDEX, feedback=False, eval_results=str(tmp_path / "results"), eval_data=str(tmp_path)
    )
    html = page_of(tmp_path / "results", settings, make_app)
    assert '<a href="/compare?q=read%20a%20file">read a file</a></th><td>0.500</td>' in html
    assert "<summary>sort &lt;a&gt; list <small>" in html and "python #" not in html


@pytest.mark.parametrize("content", [None, "question\n"])
def test_an_official_file_that_cannot_be_read_is_named(
    library: Path, tmp_path: Path, make_app: Callable[[Settings], APIFlask], content: str | None
) -> None:
    if content is not None:
        (tmp_path / "queries.csv").write_text(content)
    settings = Settings(
        home=str(library), index=INDEX, feedback=False, eval_results=str(tmp_path / "results"), eval_data=str(tmp_path)
    )
    html = page_of(tmp_path / "results", settings, make_app)
    assert "could not be read" in html and str(tmp_path / "queries.csv") in html and "python #1" in html


def test_runs_are_chosen_by_name(dashboard: FlaskClient) -> None:
    assert "2026-05-01" in dashboard.get("/eval?run=abc-mined", headers=HTML).get_data(as_text=True)
    assert dashboard.get("/eval?run=nothing", headers=HTML).status_code == 404
    assert dashboard.get("/eval?metric=nothing", headers=HTML).status_code == 404


def test_the_front_page_tells_what_is_indexed_and_since_when_and_no_metric(dashboard: FlaskClient) -> None:
    html = dashboard.get("/", headers=HTML).get_data(as_text=True)
    assert "<span>functions, classes and other parts</span>" in html and re.search(
        r"<b>\d{4}-\d\d-\d\d</b><span>last indexed</span>", html
    )
    assert "0.812" not in html and "NDCG" not in html and 'href="/eval">Evaluation</a>' in html


def test_the_api_has_the_figures_newest_first_and_names_what_cannot_be_read(dashboard: FlaskClient) -> None:
    answer = dashboard.get("/api/eval").get_json()
    assert [one["dataset"] for one in answer["runs"]] == ["mined", "codesearchnet"]
    assert answer["unreadable"] == ["broken.json"]
    assert "values" not in answer["runs"][0]["systems"][0]


def test_without_any_file_it_says_how_to_make_one(
    library: Path, tmp_path: Path, make_app: Callable[[Settings], APIFlask]
) -> None:
    settings = Settings(home=str(library), index=INDEX, feedback=False, eval_results=str(tmp_path / "none"))
    html = make_app(settings).test_client().get("/eval", headers=HTML).get_data(as_text=True)
    assert "treeline eval codesearchnet --keep" in html  # which alone writes a file there
    assert "Evaluation</a>" not in html  # nor is it in anybody's menu
