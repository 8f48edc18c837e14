"""Questions for a shape and a topic: who is asked for, and that search finds them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner

from benchmarks import shape
from treeline.corpus.function import Address
from treeline.engine.hits import Hit
from treeline.ingest.sources import open_source

CODE = """
def walk_tree(node):
    while node:
        node = node.next

def copy_tree(node):
    return Node(node.kids)

def show_tree(node):
    print(node)

def size_of_tree(node):
    return 1 + sum(size_of_tree(kid) for kid in node.kids) if node.kids else 1
"""


@pytest.fixture
def source(tmp_path: Path) -> str:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "tree.py").write_text(CODE)
    return str(tmp_path / "code")


def test_a_topic_that_others_share_asks_for_the_one_with_the_shape(source: str) -> None:
    functions, shapes = shape.read([open_source(source)])
    (asked,) = shape.questions(functions, shapes, seed=3)
    assert [asked] == list(shape.questions(functions, shapes, seed=3))
    names = {function.id: function.func_name for function in functions}
    assert asked.shape == "~recursion"
    assert "tree" in asked.text
    assert [names[answer] for answer in asked.answers] == ["size_of_tree"]


def test_answers_score_by_their_ranks_up_to_the_tenth() -> None:
    data = shape.dataset([shape.Asked("recursive tree", "~recursion", ("a",))], "tiny")

    def measured(rank: int) -> Mapping[str, float | None]:
        ids = [*(f"x{number}" for number in range(1, rank)), "a"]
        return data.measure(data.cases[0], [Hit(id_, 1.0, Address("o/r", "p", "f", "python", "u")) for id_ in ids])

    assert measured(1) == {"mrr": 1.0, "ndcg_10": 1.0, "hit_1": 1.0, "hit_10": 1.0}
    assert measured(3) == {"mrr": pytest.approx(1 / 3), "ndcg_10": 0.5, "hit_1": 0.0, "hit_10": 1.0}
    assert measured(10)["hit_10"] == 1.0
    assert measured(11) == {"mrr": pytest.approx(1 / 11), "ndcg_10": 0.0, "hit_1": 0.0, "hit_10": 0.0}
    assert (data.cases[0].id, data.cases[0].group) == ("#1", "~recursion")


def test_search_answers_by_shape(source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No function says "recursive"; by its words any of the four could be meant."""
    monkeypatch.setenv("TREELINE_HOME", str(tmp_path / "home"))
    written = tmp_path / "shape.json"
    ran = CliRunner().invoke(shape.command, [source, "--json", str(written)], catch_exceptions=False)
    assert ran.exit_code == 0, ran.output
    (system,) = orjson.loads(written.read_bytes())["systems"]
    assert system["means"]["hit_1"]["mean"] == 1.0
