"""`python -m benchmarks.repository`: three moments of asking in a repository, timed from the shell."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks import repository
from tests.ingest.loading import project
from treeline.corpus.errors import InputError


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    code = "def handle_errors(error):\n    return str(error)\n"
    return project(tmp_path / "shop", {"a.py": code, "b.py": code.replace("handle", "raise")})


def test_each_moment_is_timed_and_the_repository_is_left_as_it_is(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repository, "SETTLE_S", 0.0)
    before = {path: path.read_bytes() for path in shop.rglob("*")}
    told: list[str] = []
    document = repository.run(shop, rounds=1, semble="", tell=told.append)
    assert [row["moment"] for row in document["spent"]] == list(repository.MOMENTS)
    assert all(row["processor"] > 0 and row["wall"] > 0 for row in document["spent"])
    assert len(told) == 3
    assert {path: path.read_bytes() for path in shop.rglob("*")} == before


def test_a_python_without_semble_is_said(shop: Path) -> None:
    with pytest.raises(InputError, match=r"cannot run semble: .*model2vec"):
        repository.run(shop, rounds=1, semble=sys.executable, tell=print)
