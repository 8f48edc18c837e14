"""From numbers to documents, files, the terminal and the page."""

import io
import re
from dataclasses import asdict
from pathlib import Path

import pytest
from rich.console import Console

from treeline.corpus.errors import InputError
from treeline.corpus.function import Address
from treeline.engine.hits import Hit
from treeline.eval.dataset import Case, DataSet, Metric, Ranking, System, evaluate
from treeline.eval.harness import Output, finish
from treeline.eval.metrics import reciprocal_rank
from treeline.eval.report import results, terminal
from treeline.eval.report.document import Document, summarise
from treeline.eval.report.page import page
from treeline.eval.sets import codesearchnet
from treeline.eval.sets.codesearchnet import CHECKOUT_DATA
from treeline.eval.sets.paper import with_table

OFFICIAL = CHECKOUT_DATA / codesearchnet.QUERIES
NASTY = "</script><script>alert(1)</script>"


def hit(url: str) -> Hit:
    return Hit(url, 1.0, Address("o/r", "[red]p.py", f"f_{url}", "python", url))


def document() -> Document:
    texts = ["one", "two", NASTY]
    cases = [Case(f"q{i}", text, {"a": 1.0}, group="x" if i else "y") for i, text in enumerate(texts)]
    data = DataSet(
        name="tiny",
        about="three questions",
        cases=cases,
        metrics=(
            Metric("mrr", "MRR"),
            Metric("twice", "Twice"),
            Metric("half", "Half", detail=True),
            Metric("n", "n", share=False),
        ),
        headline="mrr",
        measure=lambda case, hits: {
            name: reciprocal_rank([found.id for found in hits], case.relevant) for name in ("mrr", "twice", "half", "n")
        },
        depth=10,
        facts={"functions": 3.0, "engine": "[red]embedded"},
        notes=("a note",),
    )
    worse = System("keyword", "b before a", lambda case, depth: Ranking([hit("b"), hit("a")], 2.0, {"lanes": 1.5}))
    better = System("default", "a first", lambda case, depth: Ranking([hit("a")], 1.0))
    return summarise(evaluate(data, [worse, better]), baseline="keyword", focus="default")


def test_a_document_has_means_intervals_comparisons_and_groups() -> None:
    made = document()
    keyword, default = made["systems"]
    assert keyword["means"]["mrr"] == {"mean": 0.5, "low": 0.5, "high": 0.5, "queries": 3}
    assert default["against_baseline"]["mrr"]["wins"] == 3
    assert "mrr" not in keyword["against_baseline"]
    assert default["groups"]["mrr"] == {"x": 1.0, "y": 1.0, "macro-average": 1.0}
    assert keyword["latency"] == {"p50": 2.0, "p95": 2.0}
    assert keyword["stages"]["lanes"] == {"p50": 1.5, "p95": 1.5}


def test_the_worst_queries_show_what_was_returned() -> None:
    worst = document()["worst"][0]
    assert (worst["system"], worst["value"], worst["expected"]) == ("default", 1.0, ["a"])
    assert worst["returned"][0]["name"] == "f_a"


def test_of_many_single_values_only_the_headlines_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(results.trim(document())["systems"][0]["values"]) == {"mrr", "twice", "half", "n"}
    monkeypatch.setattr("treeline.eval.report.results.MOST_VALUES", 2 * 4 * 3 - 1)  # systems, metrics, questions
    assert results.trim(document())["systems"][0]["values"] == {"mrr": dict.fromkeys(("q0", "q1", "q2"), 0.5)}


def test_the_terminal_shows_the_main_figures_without_reading_markup_in_data() -> None:
    console = Console(file=io.StringIO(), width=200, highlight=False)
    made = document()
    terminal.show(made, console)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "MRR" in text and "default" in text and "+0.500" in text and "3 / 0 / 0" in text
    assert "[red]embedded" in text and "0.500–0.500" in text
    assert "Half" not in text and "Half" in page(results.stamp(made))  # a detail, for files


def test_the_99_questions_take_a_screen_and_no_raw_name() -> None:
    path = next(path for path in results.FOLDER.glob("*-codesearchnet.json"))
    made = results.read(path) | {"metrics": [asdict(metric) for metric in codesearchnet.METRICS]}
    console = Console(file=io.StringIO(), width=100, highlight=False)
    terminal.show(made, console)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert text.count("\n") <= 24 and not re.search(r"[a-z]_[a-z]", text)
    names = re.findall(r"(?m)^system +(.*)$", text)[0].split()
    assert names == ["keyword", "dense", "hybrid", "fused", "default"]
    readme = Path(__file__).parents[3] / "README.md"
    assert f"| | {' | '.join(names)} |" in readme.read_text(encoding="utf-8")


def test_the_papers_table_is_shown_beside_ours() -> None:
    made = with_table(document())
    assert [row["paper"] for row in made["paper"]][:5] == [0.1898, 0.1955, 0.1553, 0.1410, 0.2081]
    console = Console(file=io.StringIO(), width=200, highlight=False)
    terminal.show(made, console)
    assert "0.2081" in console.file.getvalue()  # type: ignore[attr-defined]
    assert "never one column with the other" in page(results.stamp(made))


def test_results_are_kept_under_the_commit_and_compared_with_the_last(tmp_path: Path) -> None:
    first = {**results.stamp(document()), "commit": "aaa", "made": "2026-01-01T00:00:00+00:00"}
    path = results.keep(first, tmp_path)
    assert path.name == "aaa-tiny.json"
    last = results.last("tiny", tmp_path)
    assert last == results.trim(first)
    better = document()
    better["systems"][1]["means"]["mrr"]["mean"] = 0.9
    moved = [change for change in results.changes(better, first) if abs(change.difference) > results.SAME]
    assert [(change.system, change.metric, round(change.difference, 3)) for change in moved] == [
        ("default", "mrr", -0.1)
    ]
    assert results.comparable(better, first)
    console = Console(file=io.StringIO(), width=200, highlight=False)
    terminal.show_changes(moved, first, True, console)
    assert "default, mrr: 1.000 → 0.900 (-0.100)" in console.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize("changed", [True, False])
def test_keeping_a_result_of_changed_code_warns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], changed: bool
) -> None:
    monkeypatch.setattr(results, "_commit", lambda: ("abc", changed))
    finish(document(), Output(results=tmp_path, keep=True))
    assert ("cannot be repeated from its commit" in " ".join(capsys.readouterr().out.split())) == changed


@pytest.mark.parametrize("broken", ["{", '{"format": "of another version"}'])
def test_a_kept_result_that_cannot_be_read_does_not_cost_the_new_one(tmp_path: Path, broken: str) -> None:
    (tmp_path / f"abc-{document()['dataset']}.json").write_text(broken)
    written = Output(str(tmp_path / "out.json"), str(tmp_path / "out.html"), tmp_path, keep=True)
    with pytest.raises(InputError, match="is not a result file"):
        finish(document(), written)
    kept = results.read(next(path for path in tmp_path.glob("*-*.json") if not path.name.startswith("abc")))
    assert kept["systems"][0]["means"] == results.read(tmp_path / "out.json")["systems"][0]["means"]
    assert "<html" in (tmp_path / "out.html").read_text()


def test_tidied_the_newest_of_each_stays(tmp_path: Path) -> None:
    for commit, name in (("aaa", "web-test"), ("bbb", "web-test"), ("aaa", "codesearchnet"), ("bbb", "web-ablation")):
        made = {"commit": commit, "dataset": name, "made": f"2026-01-0{1 + (commit == 'bbb')}T00:00:00+00:00"}
        results.keep({**results.stamp(document()), **made}, tmp_path)
    results.tidy(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        "bbb-web-test.json", "aaa-codesearchnet.json", "bbb-web-ablation.json"
    }  # fmt: skip


def test_a_kept_result_names_no_path_of_the_machine_that_made_it(tmp_path: Path) -> None:
    made = results.stamp(document())
    made["worst"][0]["returned"][0]["url"] = "file:///home/somebody/p.py#L1-L2"
    assert results.read(results.keep(made, tmp_path))["worst"][0]["returned"][0]["url"] == ""
    assert not any("file:" in path.read_text(encoding="utf-8") for path in results.FOLDER.glob("*.json"))


@pytest.mark.parametrize(
    ("name", "words", "answers"), [("web-test", 3, 1), ("docstrings-9", 0, 1), ("codesearchnet", 0, 0)]
)
def test_other_peoples_questions_and_judgements_are_kept_as_numbers(
    tmp_path: Path, name: str, words: int, answers: int
) -> None:
    kept = results.read(results.keep({**results.stamp(document()), "dataset": name}, tmp_path))
    worst = kept["worst"][0]
    assert len(kept["texts"]) == words
    assert (worst["id"], bool(worst["query"]), len(worst["expected"])) == ("q0", bool(words), answers)
    assert worst["returned"][0] == {"name": "f_a", "repo": "o/r", "path": "[red]p.py", "url": "a"}
    assert kept["systems"][0]["values"]["mrr"] == dict.fromkeys(("q0", "q1", "q2"), 0.5)


def test_no_word_of_codesearchnets_questions_is_in_the_kept_results() -> None:
    if not OFFICIAL.is_file():
        pytest.skip("the CodeSearchNet data is not beside the checkout")
    for path in results.FOLDER.glob("*codesearchnet*.json"):
        kept = results.read(path)
        assert kept["texts"] == {} and not any(one["query"] or one["expected"] for one in kept["worst"])
        text = path.read_text(encoding="utf-8")
        assert not [query for query in codesearchnet.read_queries(OFFICIAL) if f'"{query}"' in text]


def test_a_result_of_another_format_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "x-tiny.json").write_text("{}")
    with pytest.raises(InputError, match="not a result file of this version"):
        results.last("tiny", tmp_path)
    (tmp_path / "x-tiny.json").write_text("nonsense")
    with pytest.raises(InputError, match="is not a result file"):
        results.last("tiny", tmp_path)


def test_the_page_is_self_contained_and_escapes_its_data() -> None:
    html = page(results.stamp(document()))
    assert "<script>alert(1)" not in html
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=", html)
    assert 'name=viewport content="width=device-width' in html
    for heading in ("MRR by system", "All measures", "Quality against time", "Where it wins and loses"):
        assert heading in html
    assert html.count("Plotly.newPlot(") >= 4
