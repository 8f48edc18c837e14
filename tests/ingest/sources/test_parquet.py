"""CodeSearchNet as Hugging Face has it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow  # type: ignore[import-untyped]
import pytest
from pyarrow import parquet

from tests.ingest.reading import read
from tests.ingest.sources.test_codesearchnet import SOURCE
from treeline.ingest.source import MAX_RATIO
from treeline.ingest.sources import shards

URL = f"https://github.com/owner/name/blob/{'a' * 40}/pkg/sums.py#L11-L13"


def row(**changes: object) -> dict[str, object]:
    return {
        "repository_name": "owner/name",
        "func_path_in_repository": "pkg/sums.py",
        "func_name": "add",
        "whole_func_string": SOURCE,
        "language": "python",
        "func_code_string": SOURCE,
        "func_code_tokens": ["def", "add"],
        "func_documentation_string": "Add two numbers.",
        "func_documentation_tokens": ["Add"],
        "split_name": "train",
        "func_code_url": URL,
    } | changes


def table(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    return path


def test_rows_become_functions(tmp_path: Path) -> None:
    path = table(tmp_path / "python/train-00000-of-00001.parquet", [row(func_name=f"f{n}") for n in range(1_200)])
    for where in (path, tmp_path):
        functions = read(f"codesearchnet:{where}").functions
        assert len(functions) == 1_200
        assert functions[0].repo == "owner/name"
        assert functions[0].sha == "a" * 40
        assert functions[0].docstring == "Add two numbers."
        assert functions[0].code == "def add(a, b):\n    return plus(a, b)"
        assert functions[0].partition == "train"


def test_the_shares_of_the_chunks_add_up_to_the_size(tmp_path: Path) -> None:
    from treeline.ingest.sources import open_source

    path = table(tmp_path / "train-0.parquet", [row(func_name=f"f{n}") for n in range(1_200)])
    (unit,) = open_source(f"codesearchnet:{path}").units()
    assert sum(chunk.size for chunk in unit.chunks()) == unit.size


def test_only_the_code_column_is_enough_of_a_function(tmp_path: Path) -> None:
    short = {key: value for key, value in row().items() if key not in ("whole_func_string", "func_code_tokens")}
    (function,) = read(f"codesearchnet:{table(tmp_path / 'train-0.parquet', [short])}").functions
    assert function.original_string == SOURCE
    assert not function.code_tokens


def test_bad_rows_are_reported_by_number(tmp_path: Path) -> None:
    path = table(tmp_path / "train-0.parquet", [row(), row(func_name=None), row()])
    parsed = read(f"codesearchnet:{path}")
    assert len(parsed.functions) == 2
    assert [(problem.line, problem.reason) for problem in parsed.problems] == [(2, "missing func_name")]


def test_text_that_is_not_utf8_is_reported_by_row(tmp_path: Path) -> None:
    rows = pyarrow.Table.from_pylist([row(), row(), row()])
    names = pyarrow.array([b"f", b"\xff\xfe", b"g"], pyarrow.binary()).view(pyarrow.string())
    rows = rows.set_column(rows.schema.get_field_index("func_name"), "func_name", names)
    parquet.write_table(rows, tmp_path / "train-0.parquet")
    parsed = read(f"codesearchnet:{tmp_path / 'train-0.parquet'}")
    assert [function.func_name for function in parsed.functions] == ["f", "g"]
    assert [problem.line for problem in parsed.problems] == [2]


@pytest.mark.parametrize("damage", ["empty", "words", "cut", "middle"])
def test_a_damaged_file_is_a_problem(tmp_path: Path, damage: str) -> None:
    path = table(tmp_path / "train-0.parquet", [row(func_name=f"f{n}") for n in range(3_000)])
    whole = path.read_bytes()
    half = len(whole) // 2
    path.write_bytes(
        {
            "empty": b"",
            "words": b"not parquet at all",
            "cut": whole[:half],
            "middle": whole[: half // 2] + b"\xff" * half + whole[half // 2 + half :],
        }[damage]
    )
    parsed = read(f"codesearchnet:{path}")
    assert parsed.problems
    assert parsed.problems[0].file == str(path)


BOMBS = {
    "one text in every row": lambda arrow: arrow.DictionaryArray.from_arrays(
        arrow.array([0] * 300, arrow.int32()), ["x" * 2_000_000]
    ),
    "texts that pack well": lambda arrow: arrow.array(["x" * 2_000_000] * 300, arrow.large_string()),
}


@pytest.mark.parametrize("kind", [*BOMBS, "tokens"])
def test_a_bomb_is_not_unpacked(tmp_path: Path, kind: str) -> None:
    """Each file has some kilobytes, and unpacks to half a gigabyte."""
    if kind == "tokens":
        columns = {
            "code": pyarrow.array(["def f(): pass"]),
            "code_tokens": pyarrow.ListArray.from_arrays([0, 40_000_000], pyarrow.repeat("a", 40_000_000)),
        }
    else:
        columns = {"code": BOMBS[kind](pyarrow)}
    path, rows = tmp_path / "bomb.parquet", len(columns["code"])
    for name, value in (("repo", "a/b"), ("path", "f.py"), ("func_name", "f"), ("language", "python")):
        columns[name] = pyarrow.array([value] * rows)
    dictionary = kind != "texts that pack well"
    parquet.write_table(pyarrow.table(columns), path, compression="zstd", use_dictionary=dictionary)
    assert path.stat().st_size < 300_000
    program = (
        "import resource, sys; from tests.ingest.reading import read\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "parsed = read(f'codesearchnet:{sys.argv[1]}')\n"
        "used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before\n"
        "print(len(parsed.functions), len(parsed.problems) > 0, used // 1024)"
    )
    said = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
    functions, refused, megabytes = said.stdout.split()
    assert (functions, refused) == ("0", "True")
    assert int(megabytes) < 250


def group(size: int = 0, rows: int = 0, **column: int) -> Any:
    """What a file says of a group of rows with one column."""
    told = {"total_uncompressed_size": 0, "total_compressed_size": 0, "num_values": 0, **column}
    return SimpleNamespace(
        total_byte_size=size, num_rows=rows, num_columns=1, column=lambda number: SimpleNamespace(**told)
    )


@pytest.mark.parametrize(
    ("most", "more", "said"),
    [
        ({"size": shards.MAX_GROUP_BYTES}, "size", "is over"),
        (
            {"total_compressed_size": 10, "total_uncompressed_size": 10 * MAX_RATIO + shards.SLACK_BYTES},
            "total_uncompressed_size",
            "unpacks to more than",
        ),
        ({"rows": 10, "num_values": 10 * shards.MAX_VALUES + shards.SLACK_VALUES}, "num_values", "values in 10 rows"),
    ],
)
def test_a_group_of_rows_is_refused_from_one_beyond_each_limit(most: dict[str, int], more: str, said: str) -> None:
    shards._check_group(3, group(**most))
    with pytest.raises(ValueError, match=f"row group 3.*{said}"):
        shards._check_group(3, group(**{**most, more: most[more] + 1}))
