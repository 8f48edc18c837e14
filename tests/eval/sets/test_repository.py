"""Questions about repositories: how they are read, how an answer is scored, and the command over real folders."""

import json
from collections.abc import Sequence
from math import log2
from pathlib import Path

import pytest
from click.testing import CliRunner

from treeline.corpus.errors import InputError
from treeline.corpus.function import Address
from treeline.engine.hits import Hit
from treeline.eval.command import command
from treeline.eval.sets import repository

FILES = {
    "alpha/src/reader.py": "def read_config(path):\n    return open(path).read()\n\n\ndef other():\n    return 1\n",
    "alpha/src/writer.py": "def write_config(path, text):\n    open(path, 'w').write(text)\n",
    "beta/shape.py": "def area_of_circle(radius):\n    return 3.14 * radius ** 2\n",
}
LISTING = [
    {"name": "alpha", "language": "python", "url": "", "revision": "", "benchmark_root": "src"},
    {"name": "beta", "language": "python", "url": "", "revision": ""},
]


@pytest.fixture
def checkouts(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        file = tmp_path / "checkouts" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return tmp_path / "checkouts"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "questions"
    folder.mkdir()
    (folder / "repos.json").write_text(json.dumps(LISTING))
    alpha = [
        {"query": "read_config", "relevant": ["src/reader.py"], "secondary": ["src/writer.py"], "category": "symbol"},
        {"query": "write the configuration", "relevant": [{"path": "writer.py", "start_line": 1, "end_line": 2}]},
        {"query": "how is it removed", "relevant": ["src/gone.py"], "secondary": []},
    ]
    (folder / "alpha.json").write_text(json.dumps(alpha))
    (folder / "beta.json").write_text(json.dumps([{"query": "area of a circle", "relevant": ["shape.py"]}]))
    return folder


def hits(*places: tuple[str, str, str]) -> list[Hit]:
    return [
        Hit(str(n), 1.0, Address(repo, path, "f", "python", f"file:///x{at}"))
        for n, (repo, path, at) in enumerate(places)
    ]


def scores(
    questions: repository.Questions, number: int, found: Sequence[Hit], together: bool = False
) -> dict[str, float]:
    data = repository.dataset(questions, together=together)
    return {name: value for name, value in data.measure(data.cases[number], found).items() if value is not None}


def test_targets_that_are_gone_are_counted_and_left_out(folder: Path, checkouts: Path) -> None:
    questions = repository.read(folder, checkouts)
    assert [question.id for question in questions.rows] == ["alpha#1", "alpha#2", "beta#1"]
    assert (questions.missing_targets, questions.unanswerable) == (1, 1)


def test_targets_of_which_the_index_has_nothing_are_counted_and_named(folder: Path, checkouts: Path) -> None:
    questions = repository.read(folder, checkouts)
    data = repository.with_losses(
        repository.dataset(questions), questions, {("alpha", "reader.py"), ("beta", "shape.py")}
    )
    assert data.facts[repository.NOT_INDEXED] == 2
    assert data.notes[1:] == ("not in the index: alpha src/writer.py",)


def test_a_target_given_from_the_indexed_folder_is_found_there(folder: Path, checkouts: Path) -> None:
    assert repository.read(folder, checkouts).rows[1].targets == (repository.Target("src/writer.py", (1, 2)),)


def test_secondary_targets_count_and_two_at_one_rank_count_once(folder: Path, checkouts: Path) -> None:
    questions = repository.read(folder, checkouts)
    both = scores(questions, 0, hits(("alpha", "reader.py", "#L1-L2"), ("alpha", "writer.py", "#L1-L2")))
    assert both["ndcg_10"] == pytest.approx(1)
    late = scores(questions, 0, hits(*[("alpha", "reader.py", "#L1-L2")] * 2, ("alpha", "writer.py", "#L1-L2")))
    assert late["ndcg_10"] == pytest.approx((1 + 1 / log2(4)) / (1 + 1 / log2(3)))
    assert (late["hit_1"], late["recall_10"], late["files_10"]) == (1, 1, 2)


def test_a_target_with_lines_wants_a_result_that_overlaps_them(folder: Path, checkouts: Path) -> None:
    questions = repository.read(folder, checkouts)
    found = hits(("alpha", "writer.py", "#L5-L9"), ("alpha", "writer.py", "#L2-L3"))
    assert scores(questions, 1, found)["ndcg_10"] == pytest.approx(1 / log2(3))


def test_by_function_only_functions_take_ranks_and_only_targets_with_lines_or_a_symbol_count(
    folder: Path, checkouts: Path
) -> None:
    questions = repository.at_level(repository.read(folder, checkouts), "function")
    assert [question.id for question in questions.rows] == ["alpha#2"]
    data = repository.dataset(questions, level="function")
    results = [
        Hit("whole", 1.0, Address("alpha", "writer.py", "writer.py", "python", "file:///x#L1-L2", kind="file")),
        *hits(("alpha", "reader.py", "#L1-L2"), ("alpha", "writer.py", "#L1-L2")),
    ]
    values = data.measure(data.cases[0], results)
    assert (values["mrr"], values["hit_1"], values["file_ndcg_10"]) == (0.5, 0.0, 1.0)
    assert values["ndcg_10"] == pytest.approx(1 / log2(3))
    with pytest.raises(InputError, match="measure by file"):
        repository.at_level(repository.read(folder, checkouts, ["beta"]), "function")


def test_only_the_first_ten_results_count(folder: Path, checkouts: Path) -> None:
    questions = repository.read(folder, checkouts)
    found = hits(*[("beta", "other.py", "")] * 10, ("beta", "shape.py", ""))
    assert scores(questions, 2, found)["ndcg_10"] == 0


def test_in_one_index_the_repository_has_to_be_right_too(folder: Path, checkouts: Path) -> None:
    questions = repository.read(folder, checkouts)
    found = hits(("alpha", "shape.py", ""), ("beta", "shape.py", ""))
    assert scores(questions, 2, found, together=True)["ndcg_10"] == pytest.approx(1 / log2(3))
    assert scores(questions, 2, found, together=True)["repository_1"] == 0


@pytest.mark.parametrize("together", [False, True])
def test_every_metric_has_a_name_for_files_and_one_for_people(folder: Path, checkouts: Path, together: bool) -> None:
    data = repository.dataset(repository.read(folder, checkouts), together=together)
    names = {metric.name: (metric.label, metric.share) for metric in data.metrics}
    assert names == {
        "ndcg_10": ("NDCG@10", True),
        "hit_1": ("hit@1", True),
        "recall_10": ("recall@10", True),
        "files_10": ("distinct files@10", False),
        **({"repository_1": ("right repository first", True)} if together else {}),
    }


def test_each_variant_of_an_ablation_has_a_name_and_says_what_differs() -> None:
    variants = {one.name: one for one in repository.ablations()}
    assert len(variants) == len(repository.ablations())
    assert variants["as typed"].about == "without spelling corrections"
    assert variants["fusion: rrf"].switches == {"fusion": "rrf", "rerank": "none"}
    assert variants["re-rank: algorithm2"].switches == {"rerank": "algorithm2"}
    assert all(" " in one.about for one in variants.values())


def test_hand_written_cases_name_files_and_symbols(tmp_path: Path, checkouts: Path) -> None:
    cases = [
        {"query": "open the settings", "relevant_files": ["src/reader.py"], "relevant_symbols": []},
        {
            "query": "open the settings",
            "relevant_files": [],
            "relevant_symbols": ["src/reader.py::read_config", "other"],
        },
    ]
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases/alpha.jsonl").write_text("\n".join(map(json.dumps, cases)))
    questions = repository.read(tmp_path / "cases", checkouts)
    assert [list(map(str, question.targets)) for question in questions.rows] == [
        ["src/reader.py"],
        ["src/reader.py::read_config", "::other"],
    ]
    place = Address("alpha", "src/reader.py", "Class.read_config", "python", "")
    assert questions.rows[1].targets[0].matches(place.path, place)
    assert not questions.rows[1].targets[1].matches(place.path, place)


@pytest.mark.parametrize(
    ("text", "words"),
    [("{", "is not JSON"), ('[{"relevant": []}]', "question 1: not a question"), ("[3]", "not a question")],
)
def test_a_file_that_is_no_list_of_questions_is_named(folder: Path, checkouts: Path, text: str, words: str) -> None:
    (folder / "beta.json").write_text(text)
    with pytest.raises(InputError, match=words):
        repository.read(folder, checkouts)


def test_an_unknown_repository_is_refused_with_the_known_ones(folder: Path, checkouts: Path) -> None:
    with pytest.raises(InputError, match="gamma") as caught:
        repository.read(folder, checkouts, ["gamma"])
    assert "alpha, beta" in str(caught.value.hint)


def test_a_checkout_that_is_not_there_is_named(folder: Path, checkouts: Path) -> None:
    with pytest.raises(InputError, match="is not a folder"):
        repository.read(folder, checkouts / "elsewhere")


@pytest.mark.parametrize("together", [False, True])
def test_the_command_indexes_asks_and_scores(
    folder: Path, checkouts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, together: bool
) -> None:
    monkeypatch.setenv("TREELINE_HOME", str(tmp_path / "home"))
    options = ["--compare", "--json", "-", *(["--together"] if together else [])]
    result = CliRunner().invoke(command, ["repository", str(folder), "--checkouts", str(checkouts), *options])
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["facts"][repository.NOT_INDEXED] == 0
    default = document["systems"][-1]
    assert (default["name"], document["queries"]) == ("default", 3)
    assert set(default["groups"]["ndcg_10"]) == {"alpha", "beta", "macro-average"}
    assert default["breakdowns"]["category"]["symbol"]["queries"] == 1
    assert default["values"]["ndcg_10"]["beta#1"] == 1
    assert 0 < default["macro"]["ndcg_10"]["low"] <= default["macro"]["ndcg_10"]["mean"]
