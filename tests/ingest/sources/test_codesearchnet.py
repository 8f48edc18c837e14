"""CodeSearchNet's own layout: what is whole goes in, what is broken is reported with file and line."""

from __future__ import annotations

import gzip
import json
from hashlib import sha1
from pathlib import Path

import pytest

from tests.ingest.reading import read
from treeline.corpus.errors import InputError
from treeline.ingest.source import ReadOptions
from treeline.ingest.sources import open_source

SOURCE = 'def add(a, b):\n    """Add two numbers."""\n    return plus(a, b)'


def record(**changes: object) -> dict[str, object]:
    return {
        "repo": "owner/name",
        "path": "pkg/sums.py",
        "func_name": "Sums.add",
        "original_string": SOURCE,
        "language": "python",
        "code": SOURCE,
        "code_tokens": ["def", "add"],
        "docstring": "Add two numbers.",
        "docstring_tokens": ["Add", "two", "numbers", "."],
        "sha": "0" * 40,
        "partition": "train",
        "url": f"https://github.com/owner/name/blob/{'0' * 40}/pkg/sums.py#L11-L13",
    } | changes


def shard(folder: Path, lines: list[bytes], partition: str = "train", number: int = 0) -> Path:
    path = folder / f"python/final/jsonl/{partition}/python_{partition}_{number}.jsonl.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(b"\n".join(lines) + b"\n"))
    return path


def line(**changes: object) -> bytes:
    return json.dumps(record(**changes)).encode()


def test_a_record_becomes_a_function_whose_code_is_without_its_docstring(tmp_path: Path) -> None:
    shard(tmp_path, [line()])
    (function,) = read(f"codesearchnet:{tmp_path}").functions
    assert function.original_string == SOURCE
    assert function.code == "def add(a, b):\n    return plus(a, b)"
    assert function.docstring == "Add two numbers."
    assert function.code_tokens == ("def", "add")
    assert function.partition == "train"


def test_the_references_of_a_record_carry_its_stored_name_and_the_lines_of_its_url(tmp_path: Path) -> None:
    shard(tmp_path, [line()])
    (facts,) = read(f"codesearchnet:{tmp_path}").facts
    assert (facts.repo, facts.path) == ("owner/name", "pkg/sums.py")
    (call,) = facts.references
    assert (call.relation, call.source, call.target, call.line) == ("calls", "Sums.add", "plus", 13)


def test_the_language_folder_its_parent_and_a_single_shard_are_all_read(tmp_path: Path) -> None:
    path = shard(tmp_path, [line()])
    for where in (tmp_path, tmp_path / "python", tmp_path / "python/final/jsonl/train", path):
        assert len(read(f"codesearchnet:{where}").functions) == 1


def test_a_folder_in_the_data_sets_own_layout_needs_no_prefix(tmp_path: Path) -> None:
    shard(tmp_path, [line()])
    for where in (tmp_path, tmp_path / "python"):
        assert open_source(str(where)).name == open_source(f"codesearchnet:{where}").name
    assert not read(str(tmp_path / "python/final")).functions  # a folder like any other


def test_only_the_wanted_partitions_are_read(tmp_path: Path) -> None:
    shard(tmp_path, [line()])
    shard(tmp_path, [line(partition="test")], "test")
    only = read(f"codesearchnet:{tmp_path}", ReadOptions(partitions=frozenset({"test"})))
    assert [function.partition for function in only.functions] == ["test"]


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (b'{"repo": "owner/name", ', "broken JSON"),
        (b'{"repo": "\xff\xfe"}', "not UTF-8"),
        (b"[1, 2]", "a JSON list, not an object"),
        (b"[" * 200_000, "broken JSON"),
        (line(func_name=None), "missing func_name"),
        (line(path=7), "path is not text"),
        (line(original_string="def f():\n" + "  x = 1\n" * 150_000), "over the limit"),
        (b'{"repo": "\\ud800"}', "broken JSON"),
    ],
)
def test_a_bad_line_is_reported_with_its_number_and_the_rest_goes_in(
    tmp_path: Path, broken: bytes, reason: str
) -> None:
    path = shard(tmp_path, [line(), broken, line(func_name="second")])
    parsed = read(f"codesearchnet:{tmp_path}")
    assert [function.func_name for function in parsed.functions] == ["Sums.add", "second"]
    (problem,) = parsed.problems
    assert (problem.file, problem.line) == (str(path), 2)
    assert reason in problem.reason


def test_a_ten_megabyte_function_is_skipped_without_holding_it(tmp_path: Path) -> None:
    shard(tmp_path, [line(), line(original_string="x" * 10_000_000), line(func_name="second")])
    parsed = read(f"codesearchnet:{tmp_path}")
    assert len(parsed.functions) == 2
    assert [problem.line for problem in parsed.problems] == [2]


def test_what_comes_before_the_break_of_a_truncated_gzip_goes_in(tmp_path: Path) -> None:
    path = shard(
        tmp_path, [line(func_name=f"f{number}", sha=sha1(str(number).encode()).hexdigest()) for number in range(2_000)]
    )
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    parsed = read(f"codesearchnet:{tmp_path}")
    assert 500 < len(parsed.functions) < 1_500
    assert parsed.problems[-1].file == str(path)
    assert parsed.problems[-1].line >= len(parsed.functions)


def test_a_file_that_is_no_gzip_is_a_problem_of_that_file(tmp_path: Path) -> None:
    shard(tmp_path, [line()], number=0)
    bad = shard(tmp_path, [line()], number=1)
    bad.write_bytes(b"not packed")
    parsed = read(f"codesearchnet:{tmp_path}")
    assert len(parsed.functions) == 1
    assert [problem.file for problem in parsed.problems] == [str(bad)]


def test_a_bomb_is_not_unpacked_to_the_end(tmp_path: Path) -> None:
    path = shard(tmp_path, [line()])
    path.write_bytes(gzip.compress(b"{}" * 50_000_000))
    assert "times its size" in read(f"codesearchnet:{tmp_path}").problems[-1].reason


def test_the_division_into_chunks_is_the_same_each_time_and_adds_up_to_the_size(tmp_path: Path) -> None:
    shard(tmp_path, [line(func_name=f"f{number}") for number in range(1_500)])
    (unit,) = open_source(f"codesearchnet:{tmp_path}").units()
    first, second = list(unit.chunks()), list(unit.chunks())
    assert first == second
    assert len(first) == 3
    assert sum(chunk.size for chunk in first) == unit.size


def test_the_digest_follows_the_content(tmp_path: Path) -> None:
    def digest() -> str:
        (unit,) = open_source(f"codesearchnet:{tmp_path}").units()
        return unit.digest

    shard(tmp_path, [line()])
    before = digest()
    assert before == digest()
    shard(tmp_path, [line(sha="1")])
    assert digest() != before


def test_a_folder_without_shards_is_refused_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no CodeSearchNet shards"):
        open_source(f"codesearchnet:{tmp_path}")
    with pytest.raises(InputError, match="does not exist"):
        open_source(f"codesearchnet:{tmp_path / 'nowhere'}")
