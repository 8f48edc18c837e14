"""Files of questions whose answer is known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import judged, web
from lab.training.data import essence
from lab.training.examples import match_answers, read_answers
from tests.encoder.functions import FUNCTIONS
from treeline.corpus.errors import InputError
from treeline.encoder.static import MODEL_FOLDER

WRITTEN = web.QUERIES.with_name("written_queries.jsonl")


def test_questions_go_to_the_function_of_their_address(tmp_path: Path) -> None:
    file = tmp_path / "asked.jsonl"
    file.write_text(
        '{"query": "parse csv", "url": "b"}\n{"query": "mail it", "url": "gone"}\n{"query": "rows", "url": "b"}\n',
        encoding="utf-8",
    )
    functions = [replace(function, url=url) for function, url in zip(FUNCTIONS, "abc", strict=False)]
    assert match_answers(read_answers([file]), functions) == [("parse csv", 1), ("rows", 1)]


def test_the_questions_that_come_with_it_ask_nothing_that_is_measured() -> None:
    answered = read_answers([MODEL_FOLDER.parent / "questions" / "codesearchnet.jsonl.gz"])
    asked = {essence(question) for questions in answered.values() for question in questions}
    assert len(asked) > 20_000
    measured = {question.query for question in (*web.read(), *web.read(WRITTEN))}
    measured |= {question.query for question in judged.read()}
    assert not asked & {essence(question) for question in measured}


@pytest.mark.parametrize("line", ["parse csv", '{"query": "parse csv"}', '["parse csv", "b"]'])
def test_a_line_without_question_or_answer_is_named(tmp_path: Path, line: str) -> None:
    file = tmp_path / "asked.jsonl"
    file.write_text('{"query": "a", "url": "b"}\n' + line, encoding="utf-8")
    with pytest.raises(InputError, match="line 2"):
        read_answers([file])
