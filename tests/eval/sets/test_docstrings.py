"""Docstring retrieval: the docstring asks, and is nowhere in what is searched."""

import gzip
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner

from treeline.corpus.errors import InputError
from treeline.corpus.function import Address, Function
from treeline.engine.hits import Hit
from treeline.eval.sets import docstrings


def function(number: int, docstring: str) -> Function:
    code = f"def f{number}(x):\n    y = {number}\n    return x + y"
    written = code.replace("\n", f'\n    """{docstring}"""\n', 1)
    url = f"https://github.com/o/r/blob/c/f.py#L{number}-L{number}"
    return Function("o/r", "f.py", f"f{number}", written, "python", code, (), docstring, ("x",), "", "test", url)


FUNCTIONS = [function(number, f"Adds the number {number} to its argument.") for number in range(1, 40)]


def test_the_same_seed_draws_the_same_questions_in_whatever_order_functions_come() -> None:
    one = docstrings.prepare(FUNCTIONS, questions=5, pool=20)
    other = docstrings.prepare(list(reversed(FUNCTIONS)), questions=5, pool=20)
    assert one == other
    assert (len(one.questions), len(one.pool)) == (5, 20)
    assert docstrings.prepare(FUNCTIONS, questions=5, pool=20, seed=14) != one
    assert len(docstrings.prepare(FUNCTIONS, questions=5, pool=3).pool) == 5
    assert len(docstrings.prepare([*FUNCTIONS, *FUNCTIONS], questions=5, pool=None).pool) == len(FUNCTIONS)


def test_nothing_that_is_indexed_holds_a_docstring() -> None:
    for kept in docstrings.prepare(FUNCTIONS, questions=5, pool=None).pool:
        assert kept.docstring == ""
        assert not kept.docstring_tokens
        assert "Adds the number" not in kept.original_string + kept.code


def test_every_question_has_its_function_in_the_pool() -> None:
    experiment = docstrings.prepare(FUNCTIONS, questions=10, pool=12)
    assert {url for url, _ in experiment.questions} <= {kept.url for kept in experiment.pool}


def test_a_question_is_the_first_paragraph() -> None:
    assert docstrings.question(function(1, "Adds one to it.\nIndeed.\n\n:param x: it")) == "Adds one to it. Indeed."
    assert docstrings.question(function(1, "Adds.")) == ""
    assert docstrings.question(function(1, "Adds one.")) == docstrings.question(function(1, "Adds 1 to x1.")) == ""
    assert docstrings.question(function(1, "Adds one, always.")) == "Adds one, always."
    assert docstrings.question(function(1, "word " * 80)).split() == ["word"] * 60
    assert docstrings.question(function(1, "")) == ""


@pytest.mark.parametrize("name", ["__init__", "Class.__str__", "test_adds", "Class.run_tests"])
def test_tests_and_double_underscore_methods_do_not_ask(name: str) -> None:
    assert docstrings.question(replace(function(1, "Adds one to it."), func_name=name)) == ""


def test_one_liners_do_not_ask() -> None:
    code = "def f(x):\n\n    return x + 1\n"  # an empty line does not count
    assert docstrings.question(replace(function(1, "Adds one to it."), code=code)) == ""
    assert docstrings.question(replace(function(1, "Adds one to it."), code=code + "    # so"))


def test_too_few_docstrings_are_one_line() -> None:
    with pytest.raises(InputError, match="only 39 functions have a usable docstring, 999 are needed"):
        docstrings.prepare(FUNCTIONS)


def test_an_answer_scores_by_its_rank() -> None:
    data = docstrings.dataset(docstrings.prepare(FUNCTIONS, questions=1, pool=3), "tiny")
    (url,) = data.cases[0].relevant

    def at(rank: int) -> Mapping[str, float | None]:
        keys = [*(f"other {number}" for number in range(1, rank)), url]
        return data.measure(data.cases[0], [Hit(key, 1.0, Address("o/r", "f.py", "f", "python", key)) for key in keys])

    assert at(1) == {"mrr": 1.0, "ndcg_10": 1.0, "recall_1": 1.0, "recall_10": 1.0}
    assert at(3) == {"mrr": pytest.approx(1 / 3), "ndcg_10": 0.5, "recall_1": 0.0, "recall_10": 1.0}
    assert at(10)["recall_10"] == 1.0
    assert at(11) == {"mrr": pytest.approx(1 / 11), "ndcg_10": 0.0, "recall_1": 0.0, "recall_10": 0.0}
    assert {metric.name: metric.label for metric in data.metrics} == {
        "mrr": "MRR",
        "ndcg_10": "NDCG@10",
        "recall_1": "Recall@1",
        "recall_10": "Recall@10",
    }


def test_the_command_indexes_the_pool_alone_and_asks_its_docstrings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In CodeSearchNet's layout, with a partition that is not asked for."""
    monkeypatch.setenv("TREELINE_HOME", str(tmp_path / "home"))
    verbs = ("sort", "encrypt", "download", "parse", "rotate", "compress")
    for partition in ("test", "train"):
        folder = tmp_path / "data" / "python" / "final" / "jsonl" / partition
        folder.mkdir(parents=True)
        records = []
        for number, verb in enumerate(verbs):
            made = replace(function(number + 1, f"Lets you {verb} the whole thing."), func_name=f"{verb}_it")
            records.append(asdict(replace(made, code=made.code + f"\n    # {verb}", partition=partition)))
        rows = b"".join(orjson.dumps(row) + b"\n" for row in records)
        (folder / f"python_{partition}_0.jsonl.gz").write_bytes(gzip.compress(rows))
    given = ["--data", str(tmp_path / "data"), "--questions", "4", "--json", str(tmp_path / "out.json")]

    def asked(*options: str) -> dict[str, Any]:
        done = CliRunner().invoke(docstrings.command, [*given, *options], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        assert "Recall@10" in done.output and "4 questions" in done.output
        found: dict[str, Any] = orjson.loads((tmp_path / "out.json").read_bytes())
        return found

    some = asked("--pool", "5")
    assert (some["dataset"], some["facts"]["functions"], some["facts"]["questions"]) == ("docstrings-5", 5, 4)
    assert [system["name"] for system in some["systems"]] == ["default"]
    assert some["systems"][0]["means"]["recall_1"]["mean"] == 1.0
    full = asked("--full", "--compare")
    assert (full["dataset"], full["facts"]["functions"]) == ("docstrings-full", 6)
    assert [system["name"] for system in full["systems"]] == ["keyword", "dense", "hybrid", "fused", "default"]
