"""The official files are read as the official evaluation reads them, and bad ones are refused in one line."""

from pathlib import Path

import pytest

from treeline.corpus.errors import InputError
from treeline.corpus.function import Address
from treeline.engine.hits import Hit
from treeline.eval.dataset import evaluate
from treeline.eval.sets import codesearchnet
from treeline.eval.sets.runs import Predictions

URL = "https://github.com/o/r/blob/c/{}.py#L1-L2"
A, B, C = URL.format("a"), URL.format("b"), URL.format("c")


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def annotations(tmp_path: Path) -> Path:
    rows = ["Language,Query,GitHubUrl,Relevance,Notes", f"Python,sort a list,{A},3,", f"Python,sort a list,{A},2,"]
    rows += [f'Python,sort a list,{B},0,"no, it reverses"', f"Python,read a file,{C},0,", f"Java,sort a list,{C},1,"]
    return write(tmp_path / "annotationStore.csv", "\n".join(rows) + "\n")


def hit(url: str, repo: str = "o/r") -> Hit:
    return Hit(url, 1.0, Address(repo, "p", "f", "python", url))


def test_relevance_is_the_mean_over_annotators(annotations: Path) -> None:
    assert codesearchnet.read_judgements(annotations)["python"]["sort a list"] == {A: 2.5, B: 0.0}


def test_languages_are_judged_apart(annotations: Path) -> None:
    judged = codesearchnet.read_judgements(annotations)
    data = codesearchnet.dataset(["sort a list", "read a file"], judged, {"python", "java"}, lambda url: True)
    assert {(case.text, case.group) for case in data.cases} == {
        ("sort a list", "java"),
        ("sort a list", "python"),
        ("read a file", "python"),
    }


def test_covered_counts_only_judged_urls_in_the_index(annotations: Path) -> None:
    judged = {"python": {"q": {A: 3.0, C: 3.0}}}
    data = codesearchnet.dataset(["q"], judged, {"python"}, lambda url: url != C)
    measured = data.measure(data.cases[0], [hit(A), hit(B)])
    assert measured["ndcg_all_covered"] == pytest.approx(1)
    assert measured["ndcg_all"] == pytest.approx(1 / (1 + 0.6309297535714575))
    assert data.facts["python: judged URLs in the index"] == 1


def test_a_query_without_a_positive_is_left_out_of_the_mean(annotations: Path) -> None:
    judged = codesearchnet.read_judgements(annotations)
    data = codesearchnet.dataset(["sort a list", "read a file"], judged, {"python"}, lambda url: True)
    run = Predictions({("python", "sort a list"): [hit(A).address]}, 0).system("run")
    measured = evaluate(data, [run]).systems[0]
    assert set(measured.values["ndcg_all"]) == {"python #1"}


def test_distinct_repositories_are_counted_over_ten_results(annotations: Path) -> None:
    judged = codesearchnet.read_judgements(annotations)
    data = codesearchnet.dataset(["sort a list", "read a file"], judged, {"python"}, lambda url: True)
    hits = [hit(URL.format(i), f"o/r{i % 4}") for i in range(10)] + [hit(A, "o/other")]
    assert data.measure(data.cases[0], hits)["repositories_10"] == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no column"),
        ("Language,Query,GitHubUrl,Relevance\n", "has no annotations"),
        (f"Language,Query,GitHubUrl,Relevance\nPython,q,{A},high\n", "record 2: relevance 'high' is not a number"),
        (f"Language,Query,GitHubUrl,Relevance\nPython,q,{A}\n", "relevance None is not a number"),
    ],
)
def test_broken_annotations_are_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        codesearchnet.read_judgements(write(tmp_path / "a.csv", text))


def test_an_annotated_query_that_is_not_in_the_query_file_is_refused(annotations: Path) -> None:
    with pytest.raises(InputError, match="'read a file'"):
        codesearchnet.dataset(["sort a list"], codesearchnet.read_judgements(annotations), {"python"}, bool)


def test_an_index_in_another_language_is_refused(annotations: Path) -> None:
    judged = codesearchnet.read_judgements(annotations)
    with pytest.raises(InputError, match="no annotated query is in ruby"):
        codesearchnet.dataset(["sort a list", "read a file"], judged, {"ruby"}, bool)


@pytest.mark.shared
def test_the_official_files_are_99_queries_and_989_judged_python_urls() -> None:
    folder = Path(__file__).parents[4] / "shared" / "codesearchnet"
    if not folder.is_dir():
        pytest.skip("the CodeSearchNet data is not beside the checkout")
    queries = codesearchnet.read_queries(folder / codesearchnet.QUERIES)
    judged = codesearchnet.read_judgements(folder / codesearchnet.ANNOTATIONS)
    assert len(queries) == 99
    assert sum(map(len, judged["python"].values())) == 989
    assert set(judged) == {"python", "java", "go", "javascript", "php", "ruby"}


def test_unjudged_results_cost_places_in_all_and_none_within() -> None:
    judged = {"python": {"q": {A: 3.0}}}
    data = codesearchnet.dataset(["q"], judged, {"python"}, lambda url: True)
    measured = data.measure(data.cases[0], [hit(B), hit(C), hit(A)])
    for ending in ("", "_covered", "_covered_list_10"):
        assert measured[f"ndcg_within{ending}"] == pytest.approx(1.0), ending
        assert measured[f"ndcg_all{ending}"] == pytest.approx(0.5), ending


def test_coverage_counts_judged_urls_that_are_indexed_and_queries_with_an_answer_among_them() -> None:
    judged = {"sort": {"a": 1.0, "b": 0.0}, "read": {"c": 0.0, "d": 3.0}, "parse": {"e": 2.0, "f": 0.0}}
    assert codesearchnet.coverage_of(judged, {"a", "c", "e", "f"}.__contains__) == codesearchnet.Coverage(
        judged=6, present=4, queries=3, with_answer=2
    )
