"""`python -m benchmarks.releases`: a revision and the checkout, over indexes of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import releases
from tests.ingest.loading import project
from treeline.corpus.errors import InputError

TEXTS = ("how are errors handled", "raise errors")


@pytest.mark.slow
def test_a_revision_and_the_checkout_are_asked_the_same(tmp_path: Path) -> None:
    if not (releases.ROOT / ".git").exists():
        pytest.skip("this is no git checkout")
    shop = project(tmp_path / "shop", {"a.py": "def handle_errors(error):\n    return str(error)\n"})
    told: list[str] = []
    found = releases.run("HEAD", str(shop), tmp_path / "homes", rounds=1, texts=TEXTS, tell=told.append)
    assert len(told) == len(found["rows"]) + 1
    assert all(row[name] > 0 for row in found["rows"].values() for name in (releases.OLD, releases.NEW))
    assert 0.1 < found["ratio"] < 10


def test_what_is_no_revision_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'no-such-thing' is no revision"):
        releases.run("no-such-thing", ".", tmp_path, rounds=1, texts=TEXTS, tell=print)
