"""The text of indexed files is kept with the index, shared between generations, and read without the folder."""

import shutil
from contextlib import closing
from pathlib import Path

import pytest

from tests.ingest.loading import NAME, loaded, project
from treeline.corpus.errors import TreelineError
from treeline.engine.embedded import EmbeddedStore
from treeline.engine.texts import FileTexts
from treeline.ingest import texts
from treeline.ingest.source import ReadOptions

START = {
    "src/a.py": "def stays():\n    return 'the same'\n",
    "src/deep/b.py": "def other():\n    return 'untouched'\n",
    "README.md": "# Demo\n\nA demo.\n",
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    loaded(tmp_path / "home", project(tmp_path / "demo", START))
    return tmp_path / "home"


def read(home: Path, path: str) -> bytes | None:
    with closing(EmbeddedStore(home).open(NAME)) as engine:
        return FileTexts(engine).read("demo", path)


def paths(home: Path, folder: str = "") -> list[str]:
    with closing(EmbeddedStore(home).open(NAME)) as engine:
        return [file.path for file in FileTexts(engine).files("demo", folder)]


def segments(home: Path) -> list[str]:
    """Those with something in them."""
    current = home / NAME / (home / NAME / "current").read_text()
    return sorted(file.name for file in (current / "artifacts").glob("files-*") if file.stat().st_size)


def test_a_file_can_be_read_when_its_folder_is_gone(home: Path, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "demo")
    assert read(home, "src/a.py") == START["src/a.py"].encode()
    assert paths(home) == sorted(START)
    assert paths(home, "src/") == ["src/a.py", "src/deep/b.py"]
    assert read(home, "../secret") is None


def test_an_entry_has_size_lines_and_language(home: Path) -> None:
    with closing(EmbeddedStore(home).open(NAME)) as engine:
        kept = FileTexts(engine)
        assert kept.entry("demo", "src/a.py") == ("src/a.py", "python", 35, 2)
        assert kept.repositories() == [("demo", 3, sum(map(len, START.values())))]


def test_an_edit_adds_a_segment_and_shares_the_old_one(home: Path, tmp_path: Path) -> None:
    before = segments(home)
    loaded(home, project(tmp_path / "demo", {"src/deep/b.py": "def other():\n    return 'new'\n"}))
    assert read(home, "src/deep/b.py") == b"def other():\n    return 'new'\n"
    assert read(home, "src/a.py") == START["src/a.py"].encode()
    assert len(segments(home)) == len(before) + 1


def test_a_file_that_is_gone_is_no_longer_kept(home: Path, tmp_path: Path) -> None:
    (tmp_path / "demo" / "src" / "deep" / "b.py").unlink()
    loaded(home, tmp_path / "demo")
    assert read(home, "src/deep/b.py") is None
    assert paths(home) == ["README.md", "src/a.py"]


def test_many_edits_do_not_leave_many_segments(home: Path, tmp_path: Path) -> None:
    for number in range(texts.MOST_SMALL + 4):
        loaded(home, project(tmp_path / "demo", {f"c{number}.py": f"def c{number}():\n    return {number}\n"}))
    assert len(segments(home)) <= texts.MOST_SMALL + 1
    assert all(read(home, f"c{number}.py") for number in range(texts.MOST_SMALL + 4))
    assert read(home, "src/a.py") == START["src/a.py"].encode()


def test_texts_are_kept_by_several_workers_and_in_several_segments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts, "SEGMENT_BYTES", 30)
    loaded(tmp_path / "home", project(tmp_path / "demo", START), workers=2)
    assert len(segments(tmp_path / "home")) > 1
    assert all(read(tmp_path / "home", path) == text.encode() for path, text in START.items())


def test_nothing_is_kept_where_it_is_switched_off(tmp_path: Path) -> None:
    loaded(tmp_path / "home", project(tmp_path / "demo", START), read=ReadOptions(keep_texts=False))
    assert paths(tmp_path / "home") == []


def test_what_is_over_the_limit_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "MOST_BYTES", 60)
    loaded(tmp_path / "home", project(tmp_path / "demo", START))
    assert len(paths(tmp_path / "home")) == 1


def test_a_damaged_frame_is_said(home: Path) -> None:
    current = home / NAME / (home / NAME / "current").read_text()
    [segment] = [current / "artifacts" / name for name in segments(home)]
    engine = EmbeddedStore(home).open(NAME)
    with closing(engine):
        kept = FileTexts(engine)
        data = bytearray(segment.read_bytes())
        data[5:] = bytes(len(data) - 5)
        segment.write_bytes(data)
        with pytest.raises(TreelineError, match="the kept text of README"):
            kept.read("demo", "README.md")
