"""What a load promises: everything is in, every record is accounted for, and doing it twice changes nothing."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from tests.ingest.loading import NAME, functions, loaded, names, project, record, records_file
from tests.made_up_source import made_up
from treeline.corpus.errors import EncoderMismatch, InputError
from treeline.engine.embedded import EmbeddedStore
from treeline.ingest import pipeline
from treeline.ingest.pipeline import LoadOptions
from treeline.ingest.source import Chunk, Parsed, Unit
from treeline.service.cli.text import show_summary

TWO_FILES = {
    "numbers.py": "def double(n):\n    return n * 2\n\n\ndef half(n):\n    return n / 2\n",
    "text/words.py": "class Words:\n    def count(self, text):\n        return len(text.split())\n",
}


def test_every_function_of_a_folder_is_found_by_its_name(tmp_path: Path) -> None:
    summary = loaded(tmp_path / "home", project(tmp_path / "demo", TWO_FILES))
    assert names(tmp_path / "home") == ["Words.count", "double", "half"]
    assert (summary.indexed, summary.read, summary.total) == (3, 3, 3)
    assert summary.units == {"read": 2, "unchanged": 0, "removed": 0}


def test_the_same_load_again_publishes_nothing_and_reads_no_file(tmp_path: Path) -> None:
    demo = project(tmp_path / "demo", TWO_FILES)
    first = loaded(tmp_path / "home", demo)
    again = loaded(tmp_path / "home", demo)
    assert not again.published
    assert again.generation == first.generation
    assert (again.unchanged, again.indexed, again.total) == (3, 0, 3)
    assert again.units == {"read": 0, "unchanged": 2, "removed": 0}


def test_two_homes_loaded_from_the_same_source_hold_the_same(tmp_path: Path) -> None:
    demo = project(tmp_path / "demo", TWO_FILES)
    loaded(tmp_path / "one", demo)
    loaded(tmp_path / "two", demo, workers=2)
    assert functions(tmp_path / "one") == functions(tmp_path / "two")


def test_worker_processes_make_the_same_index_as_one_process(tmp_path: Path) -> None:
    body = "x = 1\n    " * 100
    rows = [record(f"function_{n}", f"{body}return {n}") for n in range(2_000)]  # over a megabyte: workers are used
    source = records_file(tmp_path / "many.jsonl", rows)
    alone = loaded(tmp_path / "alone", source)
    shared = loaded(tmp_path / "shared", source, workers=2)
    assert functions(tmp_path / "alone") == functions(tmp_path / "shared")
    assert alone.indexed == shared.indexed == 2_000


def test_a_system_that_does_not_say_which_processors_may_be_used_has_workers_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("os.sched_getaffinity")
    # Without vectors: scikit-learn, which also asks for the processors, takes this for a broken Linux.
    summary = loaded(tmp_path / "home", project(tmp_path / "demo", TWO_FILES), workers=None, encoders=("none",))
    assert summary.indexed == 3


def test_a_record_that_comes_twice_is_indexed_once_and_counted(tmp_path: Path) -> None:
    rows = [record("one"), record("two"), record("one")]
    summary = loaded(tmp_path / "home", records_file(tmp_path / "twice.jsonl", rows))
    assert (summary.read, summary.indexed, summary.duplicate, summary.total) == (3, 2, 1, 2)


def test_another_source_joins_and_the_first_stays(tmp_path: Path) -> None:
    home = tmp_path / "home"
    loaded(home, project(tmp_path / "demo", TWO_FILES))
    summary = loaded(home, records_file(tmp_path / "more.jsonl", [record("extra")]))
    assert names(home) == ["Words.count", "double", "extra", "half"]
    assert (summary.indexed, summary.read, summary.total) == (1, 1, 4)
    assert len(summary.sources) == 2


def test_a_source_can_be_taken_out_again(tmp_path: Path) -> None:
    home = tmp_path / "home"
    source = records_file(tmp_path / "more.jsonl", [record("extra")])
    loaded(home, project(tmp_path / "demo", TWO_FILES), source)
    summary = loaded(home, remove=(str(source),))
    assert names(home) == ["Words.count", "double", "half"]
    assert summary.removed == 1
    with pytest.raises(InputError, match="has no source"):
        loaded(home, remove=("not-there",))


def test_fresh_forgets_everything_else(tmp_path: Path) -> None:
    home = tmp_path / "home"
    loaded(home, project(tmp_path / "demo", TWO_FILES))
    loaded(home, records_file(tmp_path / "more.jsonl", [record("extra")]), fresh=True)
    assert names(home) == ["extra"]


def test_an_empty_source_makes_an_empty_index(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert loaded(tmp_path / "home", tmp_path / "empty").total == 0
    assert not loaded(tmp_path / "home", tmp_path / "empty").published


def test_another_encoder_is_refused_by_name_and_the_index_stays(tmp_path: Path) -> None:
    home, demo = tmp_path / "home", project(tmp_path / "demo", TWO_FILES)
    made = loaded(home, demo, encoders=("none",))
    with pytest.raises(EncoderMismatch, match=r"with encoder none, not static:\d+"):
        loaded(home, demo, encoders=("static",))
    assert EmbeddedStore(home).current(NAME) == made.generation


def test_an_index_keeps_its_own_encoder_when_none_is_named(tmp_path: Path) -> None:
    home = tmp_path / "home"
    loaded(home, project(tmp_path / "demo", TWO_FILES), encoders=("none",))
    summary = loaded(home, records_file(tmp_path / "more.jsonl", [record("extra")]))
    assert summary.encoders == ()
    assert summary.total == 4


def test_side_products_are_stored_with_the_generation(tmp_path: Path) -> None:
    from treeline.graph import callgraph, corpus_clusters, tree

    loaded(tmp_path / "home", project(tmp_path / "demo", TWO_FILES))
    engine = EmbeddedStore(tmp_path / "home").open(NAME)
    for name, load in (("tree", tree.load), ("callgraph", callgraph.load), ("clusters", corpus_clusters.load)):
        stored = engine.artifact(name)
        assert stored is not None, name
        load(stored)
    engine.close()


def test_the_time_of_every_stage_is_told(tmp_path: Path) -> None:
    seconds = loaded(tmp_path / "home", project(tmp_path / "demo", TWO_FILES)).seconds
    assert {"read", "parse", "analyse", "encode", "write", "artifacts", "publish", "total"} <= seconds.keys()


def test_what_is_not_read_on_purpose_is_counted_and_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = "def one():\n    return 1\n"
    files = {"a.py": code, "node_modules/a.js": "let a", "secret/b.py": code, ".treelineignore": "secret/\n"}
    source = project(tmp_path / "source", files)
    first, again = loaded(tmp_path / "home", source), loaded(tmp_path / "home", source)
    assert first.passed_over == again.passed_over == {"installed folder": 1, "ignored folder": 1}
    show_summary(first)
    assert "passed over: 1 × ignored folder, 1 × installed folder" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(1.5, "(1.5 s, 2 units a second)"), (3.0, "(3.0 s, 1 unit a second)"), (9.0, "(9.0 s)")],
)
def test_the_speed_of_a_slow_load_is_told_in_whole_functions_or_not_at_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], seconds: float, told: str
) -> None:
    summary = loaded(tmp_path / "home", project(tmp_path / "demo", TWO_FILES))
    show_summary(replace(summary, seconds={"total": seconds}))
    assert told in capsys.readouterr().out


def test_a_folder_in_a_folder_of_the_index_is_not_added_a_second_time(tmp_path: Path) -> None:
    outer = project(tmp_path / "outer", {"a.py": "def f():\n    return 1\n", "pkg/b.py": "def g():\n    return 2\n"})
    loaded(tmp_path / "home", outer)
    with pytest.raises(InputError, match=r"outer/pkg lies in .*outer, which the index already has"):
        loaded(tmp_path / "home", outer / "pkg")
    assert names(tmp_path / "home") == ["f", "g"]
    loaded(tmp_path / "other", outer / "pkg")
    with pytest.raises(InputError, match=r"add --remove .*outer/pkg"):
        loaded(tmp_path / "other", outer)
    loaded(tmp_path / "other", outer, remove=(str(outer / "pkg"),))
    assert names(tmp_path / "other") == ["f", "g"]


@dataclass(frozen=True)
class CountedUnit:
    """A unit of many chunks that notes how far it was read."""

    read: list[int]
    key: str = "many"
    digest: str = "1"
    size: int = 100 * pipeline.BATCH_BYTES

    def chunks(self) -> Iterator[Chunk]:
        for number in range(100):
            self.read.append(number)
            yield CountedChunk(number)


@dataclass(frozen=True)
class CountedChunk:
    number: int
    size: int = pipeline.BATCH_BYTES

    def parse(self) -> Parsed:
        return Parsed((made_up(self.number),))


@dataclass(frozen=True)
class CountedSource:
    unit: CountedUnit
    name: str = "counted"
    size: int = 100 * pipeline.BATCH_BYTES
    left_out: Mapping[str, int] = field(default_factory=dict)

    def units(self) -> Iterator[Unit]:
        yield self.unit


def test_reading_does_not_run_ahead_of_writing(tmp_path: Path) -> None:
    """Otherwise a large source is in memory as a whole, when the engine is slower than the reader."""
    unit = CountedUnit([])
    ahead: list[int] = []

    def look(what: str, done: int, _total: int) -> None:
        if what == "loading":
            ahead.append(len(unit.read) - done // pipeline.BATCH_BYTES)

    options = LoadOptions(work=tmp_path / "work", encoders=("none",), workers=0)
    summary = pipeline.load(EmbeddedStore(tmp_path / "home"), "counted", [CountedSource(unit)], options, look)
    assert summary.total == 100
    assert max(ahead) <= pipeline.SPARE_BATCHES + 1
