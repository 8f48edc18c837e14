"""Reading takes as much memory for a big shard as for a small one."""

from __future__ import annotations

import gzip
import pickle
import tracemalloc
from pathlib import Path

from tests.ingest.sources.test_codesearchnet import line
from tests.ingest.sources.test_pool import entry
from treeline.ingest.sources import open_source


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
