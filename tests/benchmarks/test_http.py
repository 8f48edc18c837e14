"""`python -m benchmarks.http` measures a server that computes every answer, then one that keeps them."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks import http
from tests.search.small_index import small_store


def test_both_ways_of_answering_are_measured_and_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_store(tmp_path)
    monkeypatch.setenv("TREELINE_HOME", str(tmp_path))
    monkeypatch.setattr(http, "WARM_UP", 0.5)
    told: list[str] = []
    found = http.run("small", clients=[2], seconds=2, tool="threads", tell=told.append)
    assert [line for line in told if line.endswith(":")] == [http.COMPUTED, http.KEPT]
    for steps in (found["steps"], found["kept_steps"]):
        assert [step["clients"] for step in steps] == [2]
        assert steps[0]["errors"] == 0 and steps[0]["requests"] > 0 and steps[0]["cpu_ms"] > 0


def test_the_engine_that_is_named_is_the_one_that_is_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_store(tmp_path)
    monkeypatch.setenv("TREELINE_HOME", str(tmp_path))
    monkeypatch.setenv("TREELINE_ENGINE", "elasticsearch")
    monkeypatch.setenv("TREELINE_ELASTICSEARCH_URL", "http://127.0.0.1:9")  # nobody answers there
    monkeypatch.setattr(http, "WARM_UP", 0.5)
    monkeypatch.setattr(http, "SECONDS", 0.5)
    monkeypatch.setattr(http, "START_SECONDS", 120.0)
    result = CliRunner().invoke(http.command, ["--engine", "embedded", "--name", "small", "--clients", "1"])
    assert result.exit_code == 0, result.exception
    assert http.KEPT in result.output
