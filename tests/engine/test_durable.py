"""A failing disk is told in words a person can act on, however little the text index says of it."""

import os
import resource
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.engine.functions import ENCODER, SAMPLE, write
from treeline.corpus.errors import InputError, TreelineError
from treeline.engine.durable import WriterLock, disk_errors, is_locked, write_atomically
from treeline.engine.embedded import EmbeddedStore

GAVE_UP = "An index writer was killed.. A worker thread encountered an error (io::Error most likely) or panicked."


@pytest.fixture
def limited_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def told(path: Path, words: str, kind: type[Exception] = ValueError) -> str:
    with pytest.raises(TreelineError) as error, disk_errors(path):
        raise kind(words)
    return str(error.value)


@pytest.mark.usefixtures("limited_files")
@pytest.mark.parametrize(
    ("words", "kind"), [(GAVE_UP, ValueError), ("127926 requested and 12160 written", OSError)], ids=["text", "array"]
)
def test_a_write_that_failed_under_a_file_size_limit_names_it(
    tmp_path: Path, words: str, kind: type[Exception]
) -> None:
    assert "over the allowed size" in told(tmp_path, words, kind)


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        (GAVE_UP, "A worker thread"),
        ("System error.'Failed to spawn segment merging thread'", "starts no more threads"),
        ("System error.'Something else'", "the text index failed"),
        ("IoError: No space left on device", "the disk is full"),
    ],
)
def test_the_cause_is_named_where_the_text_index_has_one_and_else_quoted(
    tmp_path: Path, words: str, cause: str
) -> None:
    assert cause in told(tmp_path, words)


def test_another_error_is_left_alone(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="field missing"), disk_errors(tmp_path):
        raise ValueError("field missing")


def test_where_no_folder_can_be_made_another_is_suggested() -> None:
    folder = Path("/proc/treeline")
    with pytest.raises(TreelineError, match=r"No such file or directory.*TREELINE_HOME"), disk_errors(folder):
        folder.mkdir()


def observed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Every fsync and rename from now on, in order: a killed process keeps the page cache, so only this shows them."""
    steps: list[tuple[str, str]] = []
    sync, replace, rename = os.fsync, os.replace, os.rename

    def note_sync(descriptor: int) -> None:
        steps.append(("sync", Path(f"/proc/self/fd/{descriptor}").readlink().name))
        sync(descriptor)

    def note_rename(way: Callable[..., None], source: str | Path, target: str | Path) -> None:
        steps.append(("rename", Path(target).name))
        way(source, target)

    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(os, "replace", partial(note_rename, replace))
    monkeypatch.setattr(os, "rename", partial(note_rename, rename))
    return steps


def test_a_file_is_synced_renamed_and_its_folder_synced_in_this_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = observed(monkeypatch)
    write_atomically(tmp_path / "current", b"000001")
    assert steps == [("sync", ".current.new"), ("rename", "current"), ("sync", tmp_path.name)]


def test_a_generation_is_synced_before_it_is_renamed_and_the_pointer_moves_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = EmbeddedStore(tmp_path)
    with store.begin("x", [ENCODER], "f") as writer:
        write(writer, SAMPLE)
        steps = observed(monkeypatch)
        writer.publish()
    published, pointed = steps.index(("rename", "000001")), steps.index(("rename", "current"))
    synced = {name for kind, name in steps[:published] if kind == "sync"}
    files = {path.name for path in (tmp_path / "x" / "000001").rglob("*") if not path.name.endswith(".lock")}
    assert files <= synced, "some file is renamed before it is on the disk"
    assert steps[published + 1 : pointed] == [("sync", "x"), ("sync", ".current.new")]
    assert steps[pointed + 1 :] == [("sync", "x")]


def test_a_checkpoint_is_on_the_disk_before_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = EmbeddedStore(tmp_path)
    with store.begin("x", [ENCODER], "f") as writer:
        write(writer, SAMPLE)
        steps = observed(monkeypatch)
        writer.checkpoint(b"state")
    named = steps.index(("rename", "checkpoint.json"))
    synced = {name for kind, name in steps[:named] if kind == "sync"}
    parts = [path for path in (tmp_path / "x" / "building").iterdir() if path.name.startswith(("part-", "dead-"))]
    wanted = {file.name for part in parts for file in ([part] if part.is_file() else part.iterdir())}
    assert wanted and wanted <= synced


def test_one_writer_at_a_time_even_in_one_process(tmp_path: Path) -> None:
    with WriterLock(tmp_path / "lock"):
        assert is_locked(tmp_path / "lock")
        with pytest.raises(InputError, match="being written by another process"):
            WriterLock(tmp_path / "lock")
    WriterLock(tmp_path / "lock").release()
    assert not is_locked(tmp_path / "lock") and not is_locked(tmp_path / "none")


def test_a_patient_writer_gets_the_lock_when_the_other_releases_it(tmp_path: Path) -> None:
    first = WriterLock(tmp_path / "lock")
    held = threading.Event()

    def wait() -> None:
        with WriterLock(tmp_path / "lock", wait_s=60):
            held.set()

    waiting = threading.Thread(target=wait)
    waiting.start()
    assert not held.is_set()
    first.release()
    waiting.join(60)
    assert held.is_set()


def test_the_lock_of_a_removed_index_does_not_lock_the_next_one(tmp_path: Path) -> None:
    removed = WriterLock(tmp_path / "lock")
    (tmp_path / "lock").unlink()
    WriterLock(tmp_path / "lock").release()
    removed.release()
