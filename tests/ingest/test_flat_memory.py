"""Reading takes as much memory for a big source as for a small one."""

from __future__ import annotations

import gzip
import os
import pickle
import resource
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

from tests.ingest.loading import functions, project
from tests.ingest.sources.test_codesearchnet import line
from tests.ingest.sources.test_pool import entry
from treeline.engine.embedded.store import EmbeddedStore
from treeline.graph.facts import PackedFacts
from treeline.ingest.journal import Journal, JournalEntry
from treeline.ingest.project import find_project, refresh
from treeline.ingest.sources import open_source
from treeline.ingest.state import Entry, Manifest, State, entry_key


def peak(spec: str) -> int:
    tracemalloc.start()
    try:
        for unit in open_source(spec).units():
            for chunk in unit.chunks():
                del chunk
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_shard_ten_times_as_long_takes_no_more_memory(tmp_path: Path) -> None:
    sizes = []
    for number, count in enumerate((2_000, 20_000)):
        path = tmp_path / f"{number}.jsonl.gz"
        with gzip.open(path, "wb", compresslevel=1) as file:
            for index in range(count):
                file.write(line(func_name=f"f{index}", docstring=f"{index:08}" * 30) + b"\n")
        sizes.append(peak(str(path)))
    assert sizes[1] < sizes[0] * 1.5


def test_a_pool_four_times_as_long_takes_no_more_memory(tmp_path: Path) -> None:
    sizes = []
    for number, count in enumerate((1_200, 4_800)):
        path = tmp_path / f"{number}.pkl"
        with path.open("wb") as file:
            pickle.dump([entry(identifier=f"f{index}", docstring=f"{index:08}" * 30) for index in range(count)], file)
        sizes.append(peak(f"codesearchnet:{path}"))
    assert sizes[1] < sizes[0] * 1.5


def test_the_facts_of_a_large_repository_are_never_all_in_memory(tmp_path: Path) -> None:
    units, facts = 200, bytes(500_000)
    keys = [entry_key("source", f"{number}.py") for number in range(units)]
    journal = Journal(tmp_path / "loading.journal", new=True)
    for key in keys:
        packed: PackedFacts = (("repo", facts),)
        journal.append([JournalEntry(key, "digest", 0, facts=packed), JournalEntry(key, "digest", 1, end=True)])
    manifest = Manifest({key: Entry("source", "digest") for key in keys})
    state = State()
    tracemalloc.start()
    try:
        state.replace(manifest, journal.facts(manifest))
        assert tracemalloc.get_traced_memory()[1] < 20 * len(facts)
    finally:
        tracemalloc.stop()
        journal.close()
    assert sum(map(len, state.facts()["repo"])) == units * len(facts)
    state.close()


def test_a_file_of_a_gigabyte_is_left_out_in_one_line_and_never_read(tmp_path: Path) -> None:
    folder, home = project(tmp_path / "code", {"small.py": "def small(x):\n    return x\n"}), tmp_path / "home"
    with (folder / "large.py").open("wb") as file:
        file.truncate(1_000_000_000)
    tracemalloc.start()
    try:
        refresh(find_project(folder, home), EmbeddedStore(home), home, encoders=("none",))
        assert tracemalloc.get_traced_memory()[1] < 100_000_000
    finally:
        tracemalloc.stop()
    index = find_project(folder, home).index
    assert {one.func_name for one in functions(home, index).values() if one.kind == "function"} == {"small"}
    (line,) = (home / ".loading" / f"{index}.rejects.jsonl").read_text(encoding="utf-8").splitlines()
    assert "large.py" in line
    assert "over the limit" in line


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the limit does not count mapped memory")
def test_a_repository_of_thousands_of_units_is_indexed_and_searched_in_400_megabytes_a_process(tmp_path: Path) -> None:
    body = "".join(f"    total += x * {number}  # {'step ' * 6}\n" for number in range(25))
    for number in range(400):
        units = (f"def price_{number}_{unit}(x, total=0):\n{body}    return total\n" for unit in range(12))
        project(tmp_path / "code", {f"part{number % 20}/price{number}.py": "\n\n".join(units)})
    answer = subprocess.run(
        [sys.executable, "-m", "treeline.service.cli", "--wait", "price_7_3"],
        cwd=tmp_path / "code",
        env={**os.environ, "TREELINE_HOME": str(tmp_path / "home")},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (400_000_000, 400_000_000)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.startswith("part7/price7.py:")
