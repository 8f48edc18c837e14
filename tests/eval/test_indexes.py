"""Functions read without an index: all that can be read, and a word about the rest."""

import json
from pathlib import Path

import pytest

from treeline.ingest.sources import functions_of, open_source

GOOD = {"repo": "o/r", "path": "a.py", "func_name": "f", "language": "python", "code": "def f(x):\n    return x + 1\n"}


def test_what_is_left_out_is_counted_and_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    lines = [json.dumps(GOOD), "no record", json.dumps({**GOOD, "func_name": "g"}), "{}"]
    (tmp_path / "some.jsonl").write_text("\n".join(lines) + "\n")
    found = list(functions_of(open_source(str(tmp_path / "some.jsonl"))))
    assert [function.func_name for function in found] == ["f", "g"]
    assert f"2 records left out; the first: {tmp_path}/some.jsonl:2:" in caplog.text


def test_where_all_can_be_read_nothing_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "some.jsonl").write_text(json.dumps(GOOD) + "\n")
    assert len(list(functions_of(open_source(str(tmp_path / "some.jsonl"))))) == 1
    assert not caplog.text
