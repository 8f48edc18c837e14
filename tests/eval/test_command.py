"""`treeline eval` from the command line: real runs on small data, and one line for every bad input."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from tests.eval.sets.test_mined import repository  # noqa: F401
from treeline.corpus.analysis import analyse
from treeline.corpus.errors import EncoderMismatch
from treeline.corpus.function import Function
from treeline.engine.embedded import EmbeddedStore
from treeline.engine.protocol import EncoderSpec
from treeline.eval.command import command
from treeline.search.live import LiveSearcher

URL = "https://github.com/o/r/blob/c/{}.py#L1-L2"


@pytest.fixture(autouse=True)
def own_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREELINE_HOME", str(home))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "csn"
    folder.mkdir()
    (folder / "queries.csv").write_text("query\nsort a list\n")
    (folder / "annotationStore.csv").write_text(
        f"Language,Query,GitHubUrl,Relevance,Notes\nPython,sort a list,{URL.format('a')},3,\n"
    )
    return folder


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command, list(arguments))


def said(result: Result) -> str:
    return str(result.exception)


def test_a_file_of_predictions_is_scored_without_an_index(data: Path, tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text(f"query,language,identifier,url\nsort a list,python,f,{URL.format('a')}\n")
    results = ["--results", str(tmp_path / "results"), "--keep", "--json", str(tmp_path / "out.json")]
    result = run("codesearchnet", "--data", str(data), "--score", str(tmp_path / "p.csv"), *results)
    assert result.exit_code == 0, result.output
    document = json.loads((tmp_path / "out.json").read_text())
    assert document["systems"][0]["means"]["ndcg_all"]["mean"] == 1.0
    assert [path.name.endswith("-codesearchnet-file.json") for path in (tmp_path / "results").iterdir()] == [True]


def test_json_on_stdout_is_nothing_but_json(data: Path, tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text(f"query,language,identifier,url\nsort a list,python,f,{URL.format('a')}\n")
    arguments = ["eval", "codesearchnet", "--data", str(data), "--score", str(tmp_path / "p.csv"), "--json", "-"]
    program = Path(__file__).parents[2] / "service" / "cli" / "__main__.py"
    assert program.exists()
    done = subprocess.run(
        [sys.executable, "-m", "treeline.service.cli", *arguments],
        capture_output=True,
        check=True,
        cwd=program.parents[2],
    )
    assert json.loads(done.stdout)["dataset"] == "codesearchnet-file"


def test_what_trec_files_need_is_missed_before_anything_is_measured(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ir_measures", None)  # as if it were not installed
    result = run("codesearchnet", "--data", str(data), "--trec", str(tmp_path / "trec"), "--name", "nowhere")
    assert (
        said(result) == "this needs ir_measures, which is not installed (pip install '.[eval]' in Treeline's checkout)"
    )


def odd_index(home: Path, encoders: list[EncoderSpec]) -> None:
    """One function with a judged URL, and vectors of whatever encoder."""
    code = "def a():\n    return sorted(x)"
    function = Function("o/r", "a.py", "a", code, "python", code, (), "", (), "", "test", URL.format("a"))
    vectors = {spec.name: np.ones((1, spec.dimension), dtype=np.float32) for spec in encoders}
    with EmbeddedStore(home).begin("odd", encoders, "f", fresh=True) as writer:
        writer.write([function], [analyse(function)], vectors)
        writer.publish()


def test_an_index_made_by_another_encoder_is_one_line(data: Path, home: Path) -> None:
    odd_index(home, [EncoderSpec("static", 3)])
    result = run("codesearchnet", "--data", str(data), "--name", "odd")
    assert isinstance(result.exception, EncoderMismatch)
    assert "3 dimensions" in said(result) and "\n" not in said(result)


def test_a_keyword_only_index_is_compared_without_its_dense_lane(data: Path, home: Path, tmp_path: Path) -> None:
    odd_index(home, [])
    out = ["--json", str(tmp_path / "out.json"), "--results", str(tmp_path)]
    files = ["--predictions", str(tmp_path / "model_predictions.csv"), "--trec", str(tmp_path / "trec")]
    result = run("codesearchnet", "--data", str(data), "--name", "odd", "--compare", *out, *files)
    assert result.exit_code == 0, result.output
    names = [system["name"] for system in json.loads((tmp_path / "out.json").read_text())["systems"]]
    assert "keyword" in names and "dense" not in names
    assert URL.format("a") in (tmp_path / "model_predictions.csv").read_text()
    assert {path.name for path in (tmp_path / "trec").iterdir()} == {"codesearchnet.run", "codesearchnet.qrels"}


def test_a_kept_result_is_compared_with_the_next(data: Path, tmp_path: Path) -> None:
    predictions = tmp_path / "p.csv"
    predictions.write_text(f"query,language,identifier,url\nsort a list,python,f,{URL.format('a')}\n")
    kept = ["--results", str(tmp_path / "kept")]
    arguments = ["codesearchnet", "--data", str(data), "--score", str(predictions)]
    first = run(*arguments, *kept, "--keep", "--html", str(tmp_path / "page.html"))
    assert first.exit_code == 0, said(first)
    assert "kept as" in first.output and "written:" in first.output
    assert "<html" in (tmp_path / "page.html").read_text()
    assert len(list((tmp_path / "kept").iterdir())) == 1
    second = run(*arguments, *kept)
    assert "kept as" not in second.output
    assert "No mean moved since the last result" in second.output
    rows = "".join(f"sort a list,python,f,{URL.format(name)}\n" for name in "ba")
    predictions.write_text(f"query,language,identifier,url\n{rows}")
    assert "mrr_covered: 1.000 → 0.500 (-0.500)" in run(*arguments, *kept).output
    assert "last result" not in run(*arguments, "--results", str(tmp_path / "other")).output


def test_an_index_without_judged_urls_is_one_line(data: Path, searcher: LiveSearcher, home: Path) -> None:
    result = CliRunner(env={"TREELINE_HOME": str(home / ".eval")}).invoke(
        command, ["codesearchnet", "--data", str(data), "--name", searcher.info.name]
    )
    assert "no judged URL is in this index" in said(result)


@pytest.mark.parametrize("level", ["file", "symbol"])
def test_mined_cases_are_built_and_evaluated(repository: Path, tmp_path: Path, level: str) -> None:  # noqa: F811
    built = run("mined", str(repository), "--build", str(tmp_path / "cases.jsonl"))
    assert built.exit_code == 0, built.output
    assert len((tmp_path / "cases.jsonl").read_text().splitlines()) == 1
    out = tmp_path / "out.json"
    results = ["--results", str(tmp_path / "results"), "--json", str(out)]
    result = run("mined", str(repository), "--level", level, "--compare", "--ks", "1,3", *results)
    assert result.exit_code == 0, result.output
    document = json.loads(out.read_text())
    assert document["systems"][0]["means"]["hit_3"]["mean"] == 1.0
    assert "+ graph" in {system["name"] for system in document["systems"]}


def test_a_manifest_gives_a_macro_average(repository: Path, tmp_path: Path) -> None:  # noqa: F811
    second = tmp_path / "second"
    subprocess.run(["git", "clone", "-q", str(repository), str(second)], check=True)
    (tmp_path / "manifest.txt").write_text("# two of them\nproject\nsecond  # a clone\n")
    out = tmp_path / "out.json"
    arguments = ["--results", str(tmp_path / "results"), "--json", str(out)]
    result = run("mined", "--manifest", str(tmp_path / "manifest.txt"), *arguments)
    assert result.exit_code == 0, result.output
    groups = json.loads(out.read_text())["systems"][0]["groups"]["mrr"]
    assert set(groups) == {"project", "second", "macro-average"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["codesearchnet", "--data", "/nowhere"], "queries.csv is not there"),
        (["codesearchnet", "--data", "DATA", "--score", "none.csv"], "none.csv is not there"),
        (["codesearchnet", "--data", "DATA", "--name", "nosuch"], "nosuch"),
        (["docstrings", "--data", "/nowhere"], "/nowhere"),
        (["mined"], "no repository given"),
        (["mined", "/nowhere"], "is not a git repository"),
        (["mined", ".", "--ks", "0"], "is not a list of cut-offs"),
        (["mined", ".", "--ks", "x"], "is not a list of cut-offs"),
        (["mined", "--manifest", "/nowhere"], "cannot be read"),
        (["mined", ".", "--cases", "/nowhere"], "cannot be read"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], message: str, data: Path) -> None:
    result = run(*(str(data) if argument == "DATA" else argument for argument in arguments))
    assert result.exit_code != 0
    assert message in said(result)
    assert "\n" not in said(result)


@pytest.mark.parametrize("dataset", ["docstrings", "mined"])
def test_what_makes_its_own_index_takes_no_name_of_one(dataset: str) -> None:
    result = run(dataset, "--name", "mine")
    assert result.exit_code == 2
    assert "No such option" in result.output and "--name" in result.output


def test_a_repository_is_mined_wherever_the_users_indexes_are(
    repository: Path,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TREELINE_ENGINE", "elasticsearch")
    result = run("mined", str(repository), "--results", str(tmp_path / "results"))
    assert result.exit_code == 0, result.output


def test_evaluation_stands_on_search_and_takes_only_options_from_the_command_line() -> None:
    folder = Path(__file__).parents[2] / "eval"
    imported = {
        found
        for file in folder.rglob("*.py")
        for found in re.findall(r"from (treeline\.service[\w.]*) import", file.read_text(encoding="utf-8"))
    }
    assert imported <= {"treeline.service.cli.lazy", "treeline.service.cli.options", "treeline.service.quick"}
