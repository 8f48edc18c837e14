"""A load that was broken off, and sources that change before it is taken up again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.ingest.loading import FUNCTIONS, NAME, functions, loaded, record, records_file
from treeline.corpus.errors import InputError
from treeline.engine.embedded import EmbeddedStore
from treeline.ingest import state
from treeline.ingest.pipeline import LoadOptions, load
from treeline.ingest.source import ReadOptions, Unit
from treeline.ingest.sources import open_source


def broken_off(home: Path, source: Path) -> None:
    """Interrupted when everything has been written and nothing published; what was written is checkpointed."""

    def interrupt(_what: str, _done: int, _total: int) -> None:
        raise KeyboardInterrupt

    opened = [open_source(str(source), ReadOptions(kinds=FUNCTIONS))]
    with pytest.raises(KeyboardInterrupt):
        load(EmbeddedStore(home), NAME, opened, LoadOptions(work=home / ".loading", workers=0), interrupt)
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
    journal = state.Journal(path)
    rows = [bytes([number]) * state.ROW for number in range(5)]
    journal.append([state.JournalEntry("unit", "1", number, records=row) for number, row in enumerate(rows)])
    journal.close()
    opened, recovery = state.open_journal(path, state.checkpoint_state(3, []))
    assert [number for number, _ in opened.read()] == [1, 2, 3]
    assert opened.length == 3
    opened.append([state.JournalEntry("unit", "1", 3, records=rows[3])])
    assert [number for number, _ in opened.read()] == [1, 2, 3, 4]
    opened.close()
    done = recovery.progress("unit", "1")
    assert done is not None and done.chunks == 3
    assert recovery.doubtful == {row[:16] for row in rows[3:]}
