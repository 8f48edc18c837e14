"""The web and the judged questions: well formed, asked nowhere else, and scored by their answers' ranks."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import click
import orjson
import pytest
from click.testing import CliRunner

from benchmarks import judged, web
from benchmarks.judged import DOES_IT, GRADES, JudgedQuestion
from benchmarks.web import WebQuestion
from lab.training.data import essence
from lab.training.grammar import mistype
from tests.eval.scoring import at_rank, scores
from treeline.corpus.analysis import analyse
from treeline.corpus.errors import InputError
from treeline.corpus.function import Function
from treeline.engine.embedded import EmbeddedStore
from treeline.eval.dataset import DataSet
from treeline.eval.sets.codesearchnet import CHECKOUT_DATA, read_queries

URL = "https://github.com/o/r/blob/c/{}.py#L1-L2"
beside = pytest.mark.skipif(not CHECKOUT_DATA.is_dir(), reason="the CodeSearchNet data is not beside the checkout")
OTHERS = [f"x{number}" for number in range(20)]


def test_there_are_about_two_hundred_web_questions_in_two_halves_with_addresses_only() -> None:
    questions = web.read()
    assert len({question.query.lower() for question in questions}) == len(questions) >= 200
    halves = Counter(question.split for question in questions)
    assert set(halves) == {"dev", "test"}
    assert min(halves.values()) > 0.4 * len(questions)
    for row in map(json.loads, web.QUERIES.read_text(encoding="utf-8").splitlines()):
        assert set(row) == {"query", "split", "answers"} and row["answers"]
        for answer in row["answers"]:
            assert set(answer) == {"repo", "path", "func_name", "url"}
            assert f"/{answer['repo']}/blob/" in answer["url"]


@beside
def test_no_web_question_is_one_of_the_99() -> None:
    official = {query.lower() for query in read_queries(CHECKOUT_DATA / "queries.csv")}
    assert not official & {question.query.lower() for question in web.read()}


@pytest.mark.shared
@beside
def test_every_answer_is_in_the_test_or_valid_partition() -> None:
    known = {
        orjson.loads(line)["url"]  # only the addresses: to parse 34,000 functions takes a minute
        for partition in ("test", "valid")
        for shard in sorted(CHECKOUT_DATA.glob(f"*/final/jsonl/{partition}/*.jsonl.gz"))
        for line in gzip.decompress(shard.read_bytes()).splitlines()
    }
    assert {url for question in web.read() for url in question.urls} <= known


def test_written_questions_are_web_questions_of_the_dev_half() -> None:
    written = web.read(web.QUERIES.with_name("written_queries.jsonl"))
    assert len(written) > 1_000
    assert {question.split for question in written} == {"dev"}
    assert all(len(question.urls) == 1 for question in written)
    assert not {question.query for question in written} & {question.query for question in web.read()}


def test_every_judged_question_has_known_grades_and_most_a_right_answer() -> None:
    questions = judged.read()
    assert len(questions) > 150
    assert len({question.query for question in questions}) == len(questions)
    for question in questions:
        assert set(question.grades.values()) <= set(GRADES)
        assert all(url.startswith("https://") for url in question.grades)
    answered = [question for question in questions if max(question.grades.values()) >= DOES_IT]
    assert len(answered) > 0.9 * len(questions)
    of_web = {essence(question.query) for question in web.read()}
    assert not of_web & {essence(question.query) for question in questions}


def test_grades_of_what_no_annotator_saw_join_the_annotations(tmp_path: Path) -> None:
    (tmp_path / "queries.csv").write_text("query\n" + "".join(f"query {number}\n" for number in range(1, 100)))
    header = "Language,Query,GitHubUrl,Relevance,Notes\n"
    (tmp_path / "annotationStore.csv").write_text(
        f"{header}Python,query 1,u,3,\nPython,query 1,u,2,\nGo,query 1,v,3,\n"
    )
    first, *others = judged.read_annotated(tmp_path)
    assert (first.query, first.grades["u"], "v" in first.grades) == ("query 1", 2.5, False)
    assert sum(len(one.grades) for one in (first, *others)) == 521
    assert {grade for one in others for grade in one.grades.values()} == set(GRADES)


def test_a_mistyped_question_differs_in_one_word_and_is_the_same_every_time() -> None:
    questions = web.read()
    slipped = web.misspell(questions)
    assert slipped == web.misspell(questions)
    assert [one.urls for one in slipped] == [one.urls for one in questions]
    changed = [
        sum(word != other for word, other in zip(one.query.split(), slip.query.split(), strict=True))
        for one, slip in zip(questions, slipped, strict=True)
    ]
    assert set(changed) <= {0, 1}
    assert sum(changed) > 0.95 * len(questions)  # a doubled letter or a swap may give the same word


def test_only_a_longer_word_is_mistyped_by_one_letter() -> None:
    for seed in range(50):
        words = mistype("read the spreadsheet", Random(seed)).split()
        assert words[:2] == ["read", "the"]
        assert abs(len(words[2]) - len("spreadsheet")) <= 1
    assert mistype("a b c", Random(0)) == "a b c"


def web_set(questions: list[WebQuestion], indexed: Callable[[str], bool]) -> DataSet:
    return web.dataset(questions, "dev", indexed, "tiny")


def judged_set(questions: list[JudgedQuestion], indexed: Callable[[str], bool]) -> DataSet:
    return judged.dataset(questions, indexed, "tiny")


def test_questions_without_an_answer_in_the_index_are_counted() -> None:
    of_web = web_set([WebQuestion("a", "dev", ("u",)), WebQuestion("b", "dev", ("v", "w"))], {"v"}.__contains__)
    assert [(case.id, case.text, set(case.relevant)) for case in of_web.cases] == [("#2", "b", {"v"})]
    # A function that is only related answers nothing.
    judged_ones = [JudgedQuestion("q", {"a": 3, "b": 1, "c": 0}), JudgedQuestion("nobody", {"a": 1})]
    of_judged = judged_set(judged_ones, {"a", "b", "c"}.__contains__)
    assert [case.id for case in of_judged.cases] == ["#1"]
    assert (of_judged.facts["questions"], of_judged.facts["judged functions"]) == (1, 3)
    for data in (of_web, of_judged):
        assert data.facts["questions without an answer in the index"] == 1
    with pytest.raises(InputError, match="none of the 1 questions"):
        web_set([WebQuestion("a", "dev", ("u",))], lambda url: False)
    with pytest.raises(InputError, match="none of the 1 questions"):
        judged_set([JudgedQuestion("q", {"a": 3})], lambda url: False)


@pytest.mark.parametrize(
    ("ranking", "expected"),
    [
        (["u", "v", "x"], {"mrr": 1, "ndcg_10": 1, "recall_10": 1, "hit_1": 1, "hit_10": 1, "repositories_10": 3}),
        (["x", "u", *OTHERS[:8], "v"], {"mrr": 0.5, "recall_10": 0.5, "hit_1": 0, "hit_10": 1}),
        (at_rank(11, "u"), {"mrr": 1 / 11, "recall_10": 0, "hit_10": 0, "ndcg_10": 0, "repositories_10": 10}),
    ],
)
def test_web_answers_score_by_their_ranks_up_to_the_tenth(ranking: list[str], expected: dict[str, float]) -> None:
    found = scores(web_set([WebQuestion("a", "dev", ("u", "v"))], {"u", "v"}.__contains__), ranking)
    assert {name: found[name] for name in expected} == pytest.approx(expected)
    assert set(found) == {metric.name for metric in web.METRICS}


@pytest.mark.parametrize(
    ("grades", "ranking", "expected"),
    [
        ({"a": 3, "b": 1, "c": 0}, "abc", {"ndcg_10": 1, "mrr": 1, "judged_10": 1, "repositories_10": 3}),
        (
            {"a": 3, "b": 1, "c": 0},
            "xca",
            {"mrr": 1 / 3, "judged_10": 2 / 3, "precision_5": 1 / 5, "ndcg_10": 7 / 2 / (7 + 1 / 1.5849625)},
        ),
        ({"a": 2, "b": 3, "c": 1}, [*at_rank(10, "a"), "b"], {"judged_10": 0.1}),
        ({"a": 2, "b": 3, "c": 1}, [*at_rank(11, "a"), "b"], {"judged_10": 0, "ndcg_10": 0}),
        ({"a": 2, "b": 3, "c": 1}, ["c", "a", "b", *OTHERS], {"mrr": 0.5}),  # related is not right
        ({"a": 2, "b": 3, "c": 1}, ["a", "a", "b", *OTHERS], {"precision_5": 2 / 5}),
        ({"a": 2, "b": 3, "c": 1}, [*at_rank(5, "a"), "b"], {"precision_5": 1 / 5}),
        ({"a": 2, "b": 3, "c": 1}, [], {"judged_10": 0}),
    ],
)
def test_judged_answers_score_by_grade_among_the_first_ten(
    grades: dict[str, int], ranking: list[str] | str, expected: dict[str, float]
) -> None:
    found = scores(judged_set([JudgedQuestion("q", grades)], lambda url: True), ranking)
    assert {name: found[name] for name in expected} == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("module", [web, judged])
@pytest.mark.parametrize(
    ("text", "message"),
    [("{}\n", "line 1"), ("x", "line 1"), ("", "has no questions"), ('{"query": "q", "grades": 3}', "line 1")],
)
def test_a_broken_file_is_named(module: ModuleType, tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "q.jsonl").write_text(text)
    with pytest.raises(InputError, match=message):
        module.read(tmp_path / "q.jsonl")


@pytest.fixture
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TREELINE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def index(own_home: Path) -> None:
    """Three functions with known addresses, and no vectors."""
    functions = []
    for name, docstring in (("sort_list", "Sort a list."), ("read_csv", "Read a table."), ("open_door", "Open it.")):
        code, url = f"def {name}(x):\n    return x", URL.format(name)
        functions.append(Function("o/r", f"{name}.py", name, code, "python", code, (), docstring, (), "", "test", url))
    with EmbeddedStore(own_home).begin("tiny", [], "f", fresh=True) as writer:
        writer.write(functions, [analyse(function) for function in functions], {})
        writer.publish()


@pytest.mark.usefixtures("index")
def test_the_commands_ask_an_index(tmp_path: Path) -> None:
    rows = [("sort a list", "sort_list", "dev"), ("read a table", "read_csv", "dev"), ("open a door", "none", "test")]
    graded = [{"query": text, "grades": {URL.format(name): 3}} for text, name, _ in rows]
    answered = [{"query": text, "split": half, "answers": [{"url": URL.format(name)}]} for text, name, half in rows]
    for file, content in (("judged.jsonl", graded), ("web.jsonl", answered)):
        (tmp_path / file).write_text("".join(json.dumps(row) + "\n" for row in content))

    def figures(command: click.Command, *options: str) -> dict[str, Any]:
        out = ["--name", "tiny", "--json", str(tmp_path / "out.json"), "--results", str(tmp_path / "kept")]
        result = CliRunner().invoke(command, [*options, *out])
        assert result.exit_code == 0, result.exception
        assert "MRR" in result.output, "the figures are shown, too"
        document: dict[str, Any] = json.loads((tmp_path / "out.json").read_text())
        return document

    found = figures(judged.command, "--questions", str(tmp_path / "judged.jsonl"))
    assert (found["dataset"], found["facts"]["questions"]) == ("judged", 2)
    assert found["facts"]["index"] == "3 functions, embedded" and found["facts"]["encoder"] == "none"
    assert found["systems"][0]["means"]["mrr"]["mean"] == 1.0
    full = ("--full", "--questions", str(tmp_path / "web.jsonl"))
    found = figures(web.command, *full)
    assert (found["dataset"], found["facts"]["questions"]) == ("web-dev-full", 2)
    assert found["facts"]["pool"] == "index tiny"
    assert found["systems"][0]["means"]["mrr"]["mean"] == 1.0
    found = figures(web.command, *full, "--split", "all", "--mistyped", "--compare")
    assert found["dataset"] == "web-all-mistyped-full"
    assert found["facts"]["questions without an answer in the index"] == 1
    assert [system["name"] for system in found["systems"]] == ["as typed", "keyword", "fused", "default"]
    assert CliRunner().invoke(web.command, [*full, "--name", "tiny", "--split", "test"]).exit_code != 0


@pytest.mark.usefixtures("own_home")
@pytest.mark.parametrize(
    ("options", "message"),
    [(("--questions", "/nowhere"), "cannot be read"), (("--full", "--name", "nosuch"), "nosuch")],
)
def test_bad_input_is_one_line(options: tuple[str, ...], message: str) -> None:
    refused = CliRunner().invoke(web.command, options).exception
    assert message in str(refused) and "\n" not in str(refused)


@pytest.mark.usefixtures("own_home")
def test_pools_are_made_only_on_the_embedded_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREELINE_ENGINE", "elasticsearch")
    refused = CliRunner().invoke(web.command, ["--data", str(tmp_path)]).exception
    assert isinstance(refused, InputError) and "--engine embedded" in str(refused.hint)
