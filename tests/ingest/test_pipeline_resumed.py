"""A load that was broken off, and sources that change before it is taken up again."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.ingest.loading import FUNCTIONS, NAME, functions, loaded, project, record, records_file
from treeline.corpus.errors import InputError
from treeline.engine.embedded import EmbeddedStore
from treeline.ingest.journal import (
    Journal,
    JournalDamaged,
    JournalEntry,
    checkpoint_state,
    open_journal,
    remove_journals,
)
from treeline.ingest.pipeline import LoadOptions, load
from treeline.ingest.source import Chunk, ReadOptions, Unit
from treeline.ingest.sources import open_source
from treeline.ingest.state import ROW


def broken_off(home: Path, source: Path, *, fresh: bool = False) -> None:
    """Interrupted when everything has been written and nothing published; what was written is checkpointed."""

    def interrupt(_what: str, _done: int, _total: int) -> None:
        raise KeyboardInterrupt

    opened = [open_source(str(source), ReadOptions(kinds=FUNCTIONS))]
    options = LoadOptions(work=home / ".loading", workers=0, fresh=fresh)
    with pytest.raises(KeyboardInterrupt):
        load(EmbeddedStore(home), NAME, opened, options, interrupt)
    assert list((home / ".loading").glob("*.journal"))


def shard(folder: Path, commit: str) -> Path:
    """The same two functions at some commit."""
    return records_file(
        folder / "records.jsonl",
        [record(name, sha=commit * 40, url=f"https://example.org/{commit}/{name}.py#L1-L2") for name in ("f", "g")],
    )


def test_a_file_that_went_back_to_what_it_was_has_its_old_addresses_again(tmp_path: Path) -> None:
    home = tmp_path / "home"
    loaded(home, shard(tmp_path, "a"))
    broken_off(home, shard(tmp_path, "b"))
    loaded(home, shard(tmp_path, "a"))
    assert {function.sha for function in functions(home).values()} == {"a" * 40}


def test_a_file_that_went_back_has_its_old_addresses_also_beside_one_that_changed_again(tmp_path: Path) -> None:
    """The interrupted load gave the engine both files; the one that is as in the index must be written again."""
    home = tmp_path / "home"

    def files(above_f: int, above_g: int) -> Path:
        """The same two functions, each with some empty lines above."""
        code = "def {}():\n    return 1\n"
        texts = {f"{name}.py": "\n" * lines + code.format(name) for name, lines in (("f", above_f), ("g", above_g))}
        return project(tmp_path / "files", texts)

    loaded(home, files(0, 0))
    broken_off(home, files(1, 1))
    assert loaded(home, files(0, 2)).resumed
    assert {one.func_name: one.url.rpartition("#")[2] for one in functions(home).values()} == {
        "f": "L1-L2",
        "g": "L3-L4",
    }


def test_what_is_done_is_not_read_again(tmp_path: Path) -> None:
    home = tmp_path / "home"
    loaded(home, shard(tmp_path, "a"))
    broken_off(home, shard(tmp_path, "b"))
    read: list[str] = []
    opened = open_source(str(tmp_path / "records.jsonl"), ReadOptions(kinds=FUNCTIONS))

    @dataclass(frozen=True)
    class Watched:
        """Notes of which units the text is read."""

        unit: Unit

        def chunks(self) -> Iterator[Chunk]:
            read.append(self.unit.key)
            yield from self.unit.chunks()

        def __getattr__(self, name: str) -> Any:
            return getattr(self.unit, name)

    @dataclass(frozen=True)
    class Source:
        name: str = opened.name
        size: int = opened.size
        left_out: Mapping[str, int] = field(default_factory=dict)

        def units(self) -> Iterator[Any]:
            return map(Watched, opened.units())

    summary = load(EmbeddedStore(home), NAME, [Source()], LoadOptions(work=home / ".loading", workers=0))
    assert (summary.resumed, summary.updated) == (True, 2)
    assert not read


def test_a_file_that_changed_twice_has_its_newest_addresses(tmp_path: Path) -> None:
    home = tmp_path / "home"
    loaded(home, shard(tmp_path, "a"))
    broken_off(home, shard(tmp_path, "b"))
    loaded(home, shard(tmp_path, "c"))
    assert {function.sha for function in functions(home).values()} == {"c" * 40}


def test_what_was_done_is_taken_up_when_nothing_has_changed(tmp_path: Path) -> None:
    home = tmp_path / "home"
    loaded(home, shard(tmp_path, "a"))
    broken_off(home, shard(tmp_path, "b"))
    summary = loaded(home, tmp_path / "records.jsonl")
    assert (summary.resumed, summary.updated) == (True, 2)
    assert {function.sha for function in functions(home).values()} == {"b" * 40}


def test_the_journal_of_an_index_whose_name_begins_alike_is_left_alone(tmp_path: Path) -> None:
    """`small` finishes while `small-old` is being loaded."""
    work = tmp_path / "home" / ".loading"
    work.mkdir(parents=True)
    theirs = work / f"{NAME}-old-{'0' * 24}.journal"
    ours = work / f"{NAME}-{'0' * 24}.journal"
    theirs.touch()
    ours.touch()
    loaded(tmp_path / "home", shard(tmp_path, "a"))
    assert theirs.exists()
    assert not ours.exists()


@pytest.mark.parametrize("fresh", [False, True])
def test_a_journal_left_after_publishing_is_removed_by_the_next_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh: bool
) -> None:
    """The disk becomes read-only between the pointer and the journal; nothing is left to do for the next load."""
    home = tmp_path / "home"
    loaded(home, shard(tmp_path, "a"))

    def fail(_journal: Journal) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    with monkeypatch.context() as patched, pytest.raises(OSError, match="Read-only"):
        patched.setattr(Journal, "remove", fail)
        loaded(home, shard(tmp_path, "b"), fresh=fresh)
    assert list((home / ".loading").glob("*.journal"))
    assert not loaded(home, tmp_path / "records.jsonl").published
    assert not list((home / ".loading").glob("*.journal*"))
    assert {function.sha for function in functions(home).values()} == {"b" * 40}


def test_a_load_of_another_source_without_changes_leaves_an_interrupted_one_to_be_resumed(tmp_path: Path) -> None:
    home, other = tmp_path / "home", project(tmp_path / "other", {"other.py": "def other():\n    return 1\n"})
    loaded(home, shard(tmp_path, "a"), other)
    broken_off(home, shard(tmp_path, "b"))
    assert not loaded(home, other).published
    assert loaded(home, tmp_path / "records.jsonl").resumed


@pytest.mark.parametrize("fresh", [False, True])
def test_a_load_from_nothing_and_an_update_do_not_resume_each_other(tmp_path: Path, fresh: bool) -> None:
    home = tmp_path / "home"
    loaded(home, shard(tmp_path, "a"))
    broken_off(home, shard(tmp_path, "b"), fresh=fresh)
    assert not loaded(home, tmp_path / "records.jsonl", fresh=not fresh).resumed
    broken_off(home, shard(tmp_path, "c"), fresh=fresh)
    assert loaded(home, tmp_path / "records.jsonl", fresh=fresh).resumed


def test_a_load_that_another_one_overtook_says_so(tmp_path: Path) -> None:
    home = tmp_path / "home"
    loaded(home, shard(tmp_path, "a"))
    (tmp_path / "more").mkdir()
    late = open_source(str(shard(tmp_path / "more", "b")), ReadOptions())

    @dataclass(frozen=True)
    class Overtaken:
        name: str = "late"
        size: int = 0
        left_out: Mapping[str, int] = field(default_factory=dict)

        def units(self) -> Iterator[Unit]:
            loaded(home, shard(tmp_path, "c"))
            yield from late.units()

    with pytest.raises(InputError, match="changed by another load meanwhile"):
        load(EmbeddedStore(home), NAME, [Overtaken()], LoadOptions(work=home / ".loading", workers=0))
    assert {function.sha for function in functions(home).values()} == {"c" * 40}
    assert loaded(home, tmp_path / "more" / "records.jsonl").published


def test_what_came_after_the_checkpoint_is_cut_off_the_journal(tmp_path: Path) -> None:
    path = tmp_path / "a.journal"
    journal = Journal(path)
    rows = [bytes([number]) * ROW for number in range(5)]
    entries = [JournalEntry("unit", "1", number, records=row) for number, row in enumerate(rows)]
    journal.append(entries[:3])
    checkpoint = checkpoint_state(journal, [])
    journal.append(entries[3:])
    journal.close()
    opened, recovery = open_journal(path, checkpoint)
    assert [number for number, _ in opened.read()] == [1, 2, 3]
    assert opened.length == 3
    opened.append([JournalEntry("unit", "1", 3, records=rows[3])])
    assert [number for number, _ in opened.read()] == [1, 2, 3, 4]
    opened.close()
    done = recovery.progress("unit", "1")
    assert done is not None and done.chunks == 3
    assert recovery.doubtful == {row[:16] for row in rows[3:]}


def test_what_a_kill_leaves_beside_a_journal_goes_with_it(tmp_path: Path) -> None:
    """SQLite has a rollback journal for the moment in which it turns to write-ahead logs."""
    names = [f"{NAME}-{'0' * 24}.journal{end}" for end in ("", "-wal", "-shm", "-journal")]
    for name in names:
        (tmp_path / name).touch()
    remove_journals(tmp_path, NAME)
    assert not list(tmp_path.iterdir())
    journal = Journal(tmp_path / names[0])
    (tmp_path / names[-1]).touch()
    journal.remove()
    assert not list(tmp_path.iterdir())


def test_a_checkpoint_is_not_taken_up_with_another_journal(tmp_path: Path) -> None:
    """As long as the right one, it would count files as read that the engine may not have."""
    checkpoints = []
    for name in ("a", "b"):
        with closing(Journal(tmp_path / name)) as journal:
            journal.append([JournalEntry(name, "1", 0)])
            checkpoints.append(checkpoint_state(journal, []))
    (tmp_path / "copy").write_bytes((tmp_path / "a").read_bytes())
    for name in ("a", "copy"):
        opened, recovery = open_journal(tmp_path / name, checkpoints[0])
        opened.close()
        assert recovery.progress("a", "1") is not None
    with pytest.raises(JournalDamaged, match="not the one that the load went on with"):
        open_journal(tmp_path / "a", checkpoints[1])
