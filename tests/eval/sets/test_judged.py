"""The judged questions: well formed, none of the 99 or of the web questions, and measured as they were judged."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from lab.training.data import essence
from treeline.corpus.errors import InputError
from treeline.corpus.function import Address
from treeline.engine.hits import Hit
from treeline.eval.sets import judged, web
from treeline.eval.sets.judged import DOES_IT, GRADES, JudgedQuestion


def test_every_question_has_a_right_answer_and_known_grades() -> None:
    questions = judged.read()
    assert len(questions) > 150
    assert len({question.query for question in questions}) == len(questions)
    for question in questions:
        assert set(question.grades.values()) <= set(GRADES)
        assert all(url.startswith("https://") for url in question.grades)
    answered = [question for question in questions if max(question.grades.values()) >= DOES_IT]
    assert len(answered) > 0.9 * len(questions)


def test_no_question_is_asked_elsewhere() -> None:
    asked = {essence(question.query) for question in web.read()}
    assert not asked & {essence(question.query) for question in judged.read()}


def test_better_answers_in_front_count_more() -> None:
    questions = [JudgedQuestion("q", {"a": 3, "b": 1, "c": 0}), JudgedQuestion("nobody", {"a": 1})]
    data = judged.dataset(questions, {"a", "b", "c"}.__contains__, "tiny")
    assert [case.id for case in data.cases] == ["#1"]
    assert data.facts["questions without an answer in the index"] == 1
    best, worse = (
        data.measure(data.cases[0], [Hit(url, 1.0, Address("o/r", "p", "f", "python", url)) for url in urls])
        for urls in ("abc", "xca")
    )
    assert best["ndcg_10"] == best["mrr"] == pytest.approx(1.0)
    assert best["judged_10"] == pytest.approx(1.0)
    assert worse["mrr"] == pytest.approx(1 / 3)
    assert worse["judged_10"] == pytest.approx(2 / 3)
    assert worse["precision_5"] == pytest.approx(1 / 5)
    assert worse["ndcg_10"] == pytest.approx(7 / 2 / (7 + 1 / 1.5849625), rel=1e-3)


def test_only_the_first_ten_answers_count_each_once() -> None:
    data = judged.dataset([JudgedQuestion("q", {"a": 2, "b": 3, "c": 1})], lambda url: True, "tiny")

    def measured(urls: list[str]) -> Mapping[str, float | None]:
        hits = [Hit(url, 1.0, Address(f"o/{url}", "p", "f", "python", url)) for url in urls]
        return data.measure(data.cases[0], hits)

    others = [f"x{number}" for number in range(20)]
    tenth, eleventh = measured([*others[:9], "a", "b"]), measured([*others[:10], "a", "b"])
    assert tenth["judged_10"] == 0.1 and eleventh["judged_10"] == 0.0
    assert tenth["ndcg_10"] and eleventh["ndcg_10"] == 0.0
    assert measured(["c", "a", "b", *others])["mrr"] == 0.5  # related is not right
    assert measured(["a", "a", "b", *others])["precision_5"] == pytest.approx(2 / 5)
    assert measured([*others[:4], "a", "b"])["precision_5"] == pytest.approx(1 / 5)
    assert measured([])["judged_10"] == 0.0
    assert measured(["a", "b", "c"])["repositories_10"] == 3
    assert data.facts["judged functions"] == 3 and data.facts["questions"] == 1


def test_an_index_without_any_answer_is_one_line() -> None:
    with pytest.raises(InputError, match="none of the 1 questions"):
        judged.dataset([JudgedQuestion("q", {"a": 3})], lambda url: False, "tiny")


@pytest.mark.parametrize(("text", "message"), [("{}\n", "line 1"), ('{"query": "q", "grades": 3}', "line 1")])
def test_a_broken_file_is_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "q.jsonl").write_text(text)
    with pytest.raises(InputError, match=message):
        judged.read(tmp_path / "q.jsonl")
