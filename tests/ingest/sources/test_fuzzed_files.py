"""Files with random damage, in every packed form: problems or an `InputError`, never anything else."""

from __future__ import annotations

import gzip
import io
import zipfile
from pathlib import Path

import pyarrow  # type: ignore[import-untyped]
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from tests.ingest.reading import read
from tests.ingest.sources.test_codesearchnet import line
from tests.ingest.sources.test_parquet import row
from tests.ingest.sources.test_pool import entry, pickled
from treeline.corpus.errors import InputError

COUNT = 20


def zipped() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        shard = gzip.compress(b"\n".join(line(func_name=f"f{number}") for number in range(COUNT)))
        archive.writestr("python/final/jsonl/train/python_train_0.jsonl.gz", shard)
    return buffer.getvalue()


def columns() -> bytes:
    buffer = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist([row(func_name=f"f{number}") for number in range(COUNT)]), buffer)
    return buffer.getvalue()


WHOLE = {
    "train_0.jsonl": b"\n".join(line(func_name=f"f{number}") for number in range(COUNT)),
    "train_0.jsonl.gz": gzip.compress(b"\n".join(line(func_name=f"f{number}") for number in range(COUNT))),
    "python.zip": zipped(),
    "train-0.parquet": columns(),
    "python_dedupe_definitions_v2.pkl": pickled([entry(identifier=f"f{number}") for number in range(COUNT)]),
}


@pytest.mark.parametrize("name", WHOLE)
def test_whole_files_give_all_their_functions(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(WHOLE[name])
    parsed = read(f"codesearchnet:{tmp_path / name}")
    assert (len(parsed.functions), parsed.problems) == (COUNT, ())


@pytest.mark.parametrize("name", WHOLE)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(places=st.lists(st.tuples(st.floats(0, 1), st.binary(min_size=1, max_size=8)), min_size=1, max_size=4))
def test_damage_anywhere_is_reported_and_never_crashes(
    name: str, places: list[tuple[float, bytes]], tmp_path: Path
) -> None:
    data = bytearray(WHOLE[name])
    for share, noise in places:
        at = int(share * len(data))
        data[at : at + len(noise)] = noise
    (tmp_path / name).write_bytes(data)
    try:
        parsed = read(f"codesearchnet:{tmp_path / name}")
    except InputError:
        return
    assert len(parsed.functions) <= COUNT * 2
    for function in parsed.functions:
        function.original_string.encode("utf-8")
