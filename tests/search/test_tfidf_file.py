"""The kept TF-IDF matrix: read back when it is whole and of this generation, made again otherwise."""

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from tests.search.small_index import NAME, parsed, publish, small_store
from treeline.engine.durable import is_locked
from treeline.engine.protocol import IndexInfo
from treeline.search.lanes import tfidf
from treeline.search.lanes.tfidf import cached_matrix, path_of
from treeline.search.live import LiveSearcher

INFO = IndexInfo(name="some", engine="embedded", generation="000001", functions=3, encoders=(), created="today")


class Maker:
    """Counts how often the matrix was made."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> bytes:
        self.times += 1
        return b"matrix" * 100


def test_the_second_time_it_is_read(tmp_path: Path) -> None:
    make = Maker()
    assert cached_matrix(tmp_path, INFO, make) == cached_matrix(tmp_path, INFO, make)
    assert make.times == 1


def test_it_is_made_by_one_process_at_a_time_also_in_a_folder_that_is_there(tmp_path: Path) -> None:
    locked: list[bool] = []

    def make() -> bytes:
        locked.append(is_locked(path_of(tmp_path, INFO).parent / "lock"))
        return b"matrix"

    cached_matrix(tmp_path, INFO, make)
    cached_matrix(tmp_path, replace(INFO, generation="000002"), make)
    assert locked == [True, True]


@pytest.mark.parametrize("damage", [b"", b"short", b"x" * 616])
def test_a_damaged_file_is_never_believed(tmp_path: Path, damage: bytes) -> None:
    make = Maker()
    whole = cached_matrix(tmp_path, INFO, make)
    path_of(tmp_path, INFO).write_bytes(damage)
    assert cached_matrix(tmp_path, INFO, make) == whole
    assert cached_matrix(tmp_path, INFO, make) == whole
    assert make.times == 2


@pytest.mark.parametrize("change", [{"generation": "000002"}, {"created": "tomorrow"}, {"engine": "elasticsearch"}])
def test_another_generation_has_its_own_in_place_of_the_old_one(tmp_path: Path, change: dict[str, str]) -> None:
    make = Maker()
    other = replace(INFO, **change)  # type: ignore[arg-type]  # each is a text
    cached_matrix(tmp_path, INFO, make)
    cached_matrix(tmp_path, other, make)
    assert make.times == 2
    assert path_of(tmp_path, other).exists()
    assert not path_of(tmp_path, INFO).exists()


def test_the_file_is_told_by_the_indexs_own_identity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = path_of(tmp_path, INFO)
    monkeypatch.setattr(IndexInfo, "identity", "another")
    assert path_of(tmp_path, INFO) != before


def test_where_nothing_can_be_written_it_is_made_every_time(tmp_path: Path) -> None:
    make = Maker()
    (tmp_path / tfidf.FOLDER).write_text("a file where a folder should be")
    assert cached_matrix(tmp_path, INFO, make) == cached_matrix(tmp_path, INFO, make) == make()


def test_two_at_once_make_it_once(tmp_path: Path) -> None:
    make = Maker()
    both = threading.Barrier(2)

    def ask() -> None:
        both.wait()
        cached_matrix(tmp_path, INFO, make)

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert make.times == 1


def test_forgetting_leaves_other_indexes_alone(tmp_path: Path) -> None:
    other = replace(INFO, name="other")
    for info in (INFO, other):
        cached_matrix(tmp_path, info, Maker())
    tfidf.forget(tmp_path, INFO.name)
    assert not path_of(tmp_path, INFO).exists()
    assert path_of(tmp_path, other).exists()


def test_a_searcher_uses_what_another_one_kept_and_a_new_generation_makes_its_own(tmp_path: Path) -> None:
    store = small_store(tmp_path / "home")

    def told_while_preparing() -> list[int]:
        told: list[int] = []
        searcher = LiveSearcher(store, NAME, cache=tmp_path / "cache")
        searcher.prepare("tfidf", lambda _what, done, _total: told.append(done))
        searcher.close()
        return told

    assert told_while_preparing()
    assert not told_while_preparing()
    publish(store, *parsed())
    assert told_while_preparing()
