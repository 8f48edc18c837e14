"""Learning to rank: questions from hidden docstrings, weights that prefer what answers, and the command as a whole."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from tests.graph.trees import address
from tests.rerank.candidates import ranked
from treeline.corpus.function import Function
from treeline.eval.hidden_docstrings import grade, questions
from treeline.eval.ranker_training import Example, before, fit, ndcg, sweep
from treeline.eval.train_ranker import command
from treeline.graph.hyperbolic import Floats
from treeline.rerank.features import NAMES

VERBS = ["parse", "write", "compress", "download", "resize", "encrypt", "validate", "render"]
THINGS = ["json file", "email address", "zip archive", "html page", "image", "password", "date string", "chart"]


def function(repo: str, verb: str, thing: str, partition: str) -> Function:
    name = f"{verb}_{thing.replace(' ', '_')}"
    code = f"def {name}(value):\n    {thing.split()[0]} = {verb}(value)\n    return {thing.split()[0]}\n"
    return Function(
        repo, f"src/{verb}.py", name, code, "python", code, tuple(code.split()),
        f"{verb.capitalize()} the {thing} that was given.", (), "", partition, f"https://example.org/{repo}/{name}#L1-L3",
    )  # fmt: skip


@pytest.fixture
def corpus() -> list[Function]:
    return [
        function(f"owner/{partition}{copy}", verb, thing, partition)
        for partition in ("valid", "test")
        for copy in range(2)
        for verb in VERBS
        for thing in THINGS
    ]


def test_a_question_is_answered_by_every_function_whose_hidden_docstring_says_the_same(corpus: list[Function]) -> None:
    found = questions(corpus, "valid", 20)
    assert len(found) == 20
    for question in found:
        assert sum(value == 3.0 for value in question.grades.values()) == 4  # two copies in each partition


def test_grades_rise_with_similarity() -> None:
    assert [grade(similarity) for similarity in (0.3, 0.5, 0.7, 0.9)] == [0.0, 1.0, 2.0, 3.0]


def lists(count: int, seed: int = 0) -> list[Example]:
    """Lists in which the column `dense_score` tells the answer and all others are noise."""
    random = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        table: Floats = random.random((30, len(NAMES)))
        gains = np.zeros(30)
        gains[table[:, NAMES.index("dense_score")].argmax()] = 7.0
        found.append(Example(ranked([address(f"o/r{i % 4}", f"f{i}.py", f"f{i}") for i in range(30)]), table, gains))
    return found


def test_the_column_that_tells_the_answer_gets_the_weight() -> None:
    weights = fit(lists(200))
    others = [abs(weight) for name, weight in weights.items() if name != "dense_score"]
    assert weights["dense_score"] > 5 * max(others)


def test_the_sweep_shows_what_variety_costs() -> None:
    held_out = lists(50, seed=1)
    rows = sweep(held_out, fit(lists(200)), 1.0)
    assert rows[0][1] > before(held_out)[1]
    assert rows[-1][2] >= rows[0][2]


def test_ndcg_by_hand() -> None:
    example = Example([], np.zeros((3, 1)), np.array([0.0, 7.0, 1.0]))
    assert ndcg(example, [1, 2, 0]) == 1.0
    assert ndcg(example, [0, 1, 2]) == pytest.approx((7 / np.log2(3) + 1 / 2) / (7 + 1 / np.log2(3)))


def test_the_command_writes_weights_that_say_where_they_come_from(corpus: list[Function], tmp_path: Path) -> None:
    source = tmp_path / "corpus.jsonl"
    rows = []
    for one in corpus:
        row = {
            name: getattr(one, name) for name in ("repo", "path", "func_name", "language", "partition", "url", "sha")
        }
        signature, body = one.code.split("\n", 1)
        row["original_string"] = row["code"] = f'{signature}\n    """{one.docstring}"""\n{body}'
        row |= {"docstring": one.docstring, "code_tokens": list(one.code_tokens), "docstring_tokens": []}
        rows.append(json.dumps(row))
    source.write_text("\n".join(rows) + "\n")
    out = tmp_path / "weights.json"
    done = CliRunner().invoke(command, [str(source), "--questions", "40", "--out", str(out)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    stored = json.loads(out.read_text())
    assert set(stored["columns"]) == set(NAMES)
    assert "valid docstrings" in stored["made"]
    assert str(tmp_path) not in stored["made"]
