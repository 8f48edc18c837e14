"""No page and no agents' tool takes long over a hostile file, and none answers with a fault."""

from pathlib import Path

from tests.fuzz.hostile_files import measure


def test_hostile_files_in_every_language_are_shown_in_time(tmp_path: Path) -> None:
    assert measure(tmp_path, per_language=1).faults == []
