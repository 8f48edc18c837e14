"""`python -m benchmarks.agents`: tokens an agent reads until an answer shows the right file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import agents
from benchmarks.agents import Shown
from tests.ingest.loading import project
from treeline.corpus.errors import InputError
from treeline.eval.sets.repository import Question, Repository, Target
from treeline.search.settings import Settings

FILES = {
    "shop/cart.py": 'def total(items):\n    """Add up what is in the cart."""\n    return sum(items)\n',
    "shop/mail.py": 'def send_receipt(to):\n    """Send a receipt by mail."""\n    return to\n' + "# mail\n" * 200,
    "shop/stock.py": "def restock(cart):\n    return cart\n",
}


@pytest.fixture
def asked(tmp_path: Path) -> tuple[Path, Path]:
    project(tmp_path / "checkouts" / "shop", FILES)
    (tmp_path / "questions").mkdir()
    rows = [{"query": "how is a receipt sent by mail", "relevant": ["shop/mail.py"], "category": "semantic"}]
    (tmp_path / "questions" / "shop.json").write_text(json.dumps(rows), encoding="utf-8")
    return tmp_path / "questions", tmp_path / "checkouts"


def question(target: str, inner: str = "") -> Question:
    return Question(Repository("shop", "", Path(), inner), 1, "x", (Target(target),), "semantic")


def words(text: str) -> int:
    return len(text.split())


def test_every_answer_is_paid_for_up_to_the_one_with_the_right_file() -> None:
    answers = [Shown("one two", ["a.py"]), Shown("three four five", ["b.py", "src/c.py"]), Shown("six", ["d.py"])]
    assert agents.tokens_to(question("b.py"), answers, words) == 5
    assert agents.tokens_to(question("a.py"), answers, words) == 2
    assert agents.tokens_to(question("lib/src/c.py", "lib"), answers, words) == 5
    assert agents.tokens_to(question("e.py"), answers, words) == agents.LIMIT


def test_grep_looks_for_the_rarest_words_and_reads_the_best_file_first(asked: tuple[Path, Path]) -> None:
    files = agents._Files(asked[1] / "shop")
    assert files.rare("how is a receipt sent by mail")[:2] == ["mail", "receipt"]
    assert [path for path, _ in files.ranked("receipt by mail")] == ["shop/mail.py"]
    repository = Repository("shop", "", asked[1] / "shop")
    asks = Question(repository, 1, "receipt by mail", (Target("shop/mail.py"),), "semantic")
    [lines] = agents.grep_lines(repository, [asks])
    assert next(iter(lines)).text.startswith("shop/mail.py:1:def send_receipt(to):\n")
    [windows] = agents.grep_windows(repository, [asks])
    listed, read = list(windows)
    assert listed.text == "shop/mail.py" and not listed.files
    assert read.files == ["shop/mail.py"] and read.text.count("\n") == agents.WINDOW - 1
    [files_read] = agents.grep_files(repository, [asks])
    assert list(files_read)[1].text.count("\n") == 202


def test_treeline_is_asked_as_an_agent_asks_and_every_way_is_told(asked: tuple[Path, Path], tmp_path: Path) -> None:
    told: list[str] = []
    settings = Settings(home=str(tmp_path / "home"), encoder="none")
    found = agents.run(*asked, only=(), semble="", tokenizer="", settings=settings, tell=told.append)
    by_way = {row["way"]: row for row in found["ways"]}
    assert set(by_way) == {"treeline", "grep, lines", "grep, windows", "grep, files"}
    assert by_way["treeline"]["within"]["500"] == 1.0 and 0 < by_way["treeline"]["mean"] < by_way["grep, files"]["mean"]
    assert found["tokenizer"] == "4 characters each" and found["tools_tokens"] > 500
    assert any(line.startswith("treeline ") for line in told)


def test_code_in_an_answer_is_not_counted_as_a_file() -> None:
    answer = (
        "[0a1b2c3d] o/r src/a.py:1-2 f: x\n1 evil.py:3-4 y\n| other.py:1-2 z\nb c.py:5-9 class C\n… more with offset=8"
    )
    assert agents.PLACE.findall(answer) == ["src/a.py", "b c.py"]


def test_a_file_that_is_no_tokenizer_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match=r"x\.json is not a tokenizer\.json"):
        agents.counter(str(tmp_path / "x.json"))
