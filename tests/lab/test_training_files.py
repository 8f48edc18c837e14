"""The files of questions that the training commands read: one a line, and a line ends where JSON lines end."""

import json
from pathlib import Path

import pytest

from lab.train import read_lines
from lab.training.examples import read_answers

# What ends a line for Unicode, and is a letter of a string for JSON.
QUESTION = "sort\u2028these\u2029lines\x85now"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    row = json.dumps({"query": QUESTION, "url": "a"}, ensure_ascii=False)
    path = tmp_path / "asked.jsonl"
    path.write_bytes(f"{row}\r\n{row}\n".encode())
    return path


def test_a_question_may_have_any_letter_in_it(file: Path) -> None:
    assert read_lines((file,)) == (QUESTION, QUESTION)
    assert read_answers([file]) == {"a": [QUESTION, QUESTION]}


def test_lines_of_text_are_questions_too(tmp_path: Path) -> None:
    path = tmp_path / "asked.txt"
    path.write_text("parse csv\n\n  read rows \n", encoding="utf-8")
    assert read_lines((path,)) == ("parse csv", "read rows")
