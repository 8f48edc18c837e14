"""CodeSearchNet's per-language zip, read without unpacking it to disk."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import pytest

from tests.ingest.loading import loaded, names
from tests.ingest.reading import read
from tests.ingest.sources.test_codesearchnet import line
from tests.ingest.sources.test_pool import entry, pickled
from treeline.corpus.errors import InputError
from treeline.ingest.source import ReadOptions
from treeline.ingest.sources import open_source

SHARD = "python/final/jsonl/{0}/python_{0}_0.jsonl.gz"


def archive(path: Path, members: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", method) as opened:
        for name, data in members.items():
            opened.writestr(name, data)
    return path


def packed(*lines: bytes) -> bytes:
    return gzip.compress(b"\n".join(lines))


def test_the_shards_are_read_from_inside_and_nothing_appears_beside_it(tmp_path: Path) -> None:
    members = {SHARD.format(part): packed(line(func_name=part)) for part in ("train", "valid", "test")}
    path = archive(tmp_path / "python.zip", members | {"python_licenses.pkl": b"not read"})
    assert {one.func_name for one in read(f"codesearchnet:{path}").functions} == {"train", "valid", "test"}
    only = read(f"codesearchnet:{path}", ReadOptions(partitions=frozenset({"valid"})))
    assert [one.func_name for one in only.functions] == ["valid"]
    assert list(tmp_path.iterdir()) == [path]


def test_archives_of_one_folder_that_have_the_same_names_inside_are_both_read(tmp_path: Path) -> None:
    for name in ("a", "b"):
        archive(tmp_path / f"{name}.zip", {SHARD.format("train"): packed(line(func_name=name))})
    assert loaded(tmp_path / "home", f"codesearchnet:{tmp_path}").indexed == 2
    assert names(tmp_path / "home") == ["a", "b"]


def test_the_pool_inside_is_read_on_request(tmp_path: Path) -> None:
    members = {SHARD.format("train"): packed(line()), "python_dedupe_definitions_v2.pkl": pickled([entry()])}
    path = archive(tmp_path / "python.zip", members, zipfile.ZIP_DEFLATED)
    assert [one.partition for one in read(f"codesearchnet:{path}").functions] == ["train"]
    pool = read(f"codesearchnet:{path}", ReadOptions(partitions=frozenset({"pool"})))
    assert [one.partition for one in pool.functions] == ["pool"]


def test_a_name_that_leads_out_of_the_archive_is_refused_and_the_rest_is_read(tmp_path: Path) -> None:
    escape = "../../python/final/jsonl/train/python_train_1.jsonl.gz"
    path = archive(tmp_path / "python.zip", {SHARD.format("train"): packed(line()), escape: packed(line())})
    parsed = read(f"codesearchnet:{path}")
    assert len(parsed.functions) == 1
    assert ["refused" in problem.reason for problem in parsed.problems] == [True]


def test_a_damaged_member_is_a_problem_and_the_rest_is_read(tmp_path: Path) -> None:
    path = archive(
        tmp_path / "python.zip",
        {SHARD.format("train"): packed(line()), SHARD.format("valid"): packed(*[line(sha=str(n)) for n in range(500)])},
    )
    data = bytearray(path.read_bytes())
    at = data.index(b"python_valid_0.jsonl.gz") + 600
    data[at : at + 50] = b"\xff" * 50
    path.write_bytes(data)
    parsed = read(f"codesearchnet:{path}")
    assert len(parsed.functions) >= 1
    assert parsed.problems
    assert all("python_valid_0" in problem.file for problem in parsed.problems)


def test_a_bomb_in_a_bomb_is_not_unpacked_to_the_end(tmp_path: Path) -> None:
    bomb = gzip.compress(b"{}" * 20_000_000)
    path = archive(tmp_path / "python.zip", {SHARD.format("train"): bomb}, zipfile.ZIP_DEFLATED)
    assert "times its size" in read(f"codesearchnet:{path}").problems[-1].reason


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 but no more", b"\0" * 1_000])
def test_what_is_no_zip_is_refused_in_words(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "python.zip").write_bytes(content)
    with pytest.raises(InputError, match="not a zip"):
        open_source(f"codesearchnet:{tmp_path / 'python.zip'}")
