"""Damaged and hostile files of every kind: a sentence or a list of problems, never a crash, never without end."""

import gzip
import io
import json
import pickle
import random
import resource
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from tests.fuzz.bad_texts import BAD_TEXTS, within
from tests.made_up_source import made_up
from treeline.corpus.errors import InputError
from treeline.corpus.function import Function
from treeline.ingest.source import Problem
from treeline.ingest.sources import open_source

LANGUAGES = {
    "python": "py",
    "java": "java",
    "go": "go",
    "javascript": "js",
    "typescript": "ts",
    "php": "php",
    "ruby": "rb",
}
MUTATIONS = 60


def record(function: Function) -> dict[str, object]:
    fields = (
        "repo",
        "path",
        "func_name",
        "original_string",
        "language",
        "code",
        "docstring",
        "sha",
        "partition",
        "url",
    )
    return {**{field: getattr(function, field) for field in fields}, "code_tokens": [], "docstring_tokens": []}


RECORDS = [record(made_up(number)) for number in range(30)]
LINES = "".join(json.dumps(each) + "\n" for each in RECORDS).encode()


def read_all(spec: str, seconds: float = 20) -> tuple[list[Function], list[Problem]]:
    """Everything a load would do with a source."""
    functions: list[Function] = []
    problems: list[Problem] = []
    with within(seconds):
        try:
            for unit in open_source(spec).units():
                assert unit.digest
                for chunk in unit.chunks():
                    parsed = chunk.parse()
                    functions += parsed.functions
                    problems += parsed.problems
        except InputError as error:
            problems.append(Problem(spec, 0, error.message))
    return functions, problems


def jsonl(folder: Path, data: bytes) -> str:
    path = folder / "records.jsonl"
    path.write_bytes(data)
    return str(path)


def gz(folder: Path, data: bytes) -> str:
    path = folder / "records.jsonl.gz"
    path.write_bytes(data)
    return str(path)


def layout(folder: Path, data: bytes) -> str:
    path = folder / "python" / "final" / "jsonl" / "train" / "python_train_0.jsonl.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return f"codesearchnet:{folder}"


def archive(folder: Path, data: bytes) -> str:
    path = folder / "python.zip"
    path.write_bytes(data)
    return f"codesearchnet:{path}"


def pool(folder: Path, data: bytes) -> str:
    path = folder / "python_dedupe_definitions_v2.pkl"
    path.write_bytes(data)
    return f"codesearchnet:{path}"


def parquet(folder: Path, data: bytes) -> str:
    path = folder / "train.parquet"
    path.write_bytes(data)
    return f"codesearchnet:{path}"


def zipped(data: bytes, name: str = "python/final/jsonl/train/python_train_0.jsonl.gz") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(name, data)
    return buffer.getvalue()


def table() -> bytes:
    buffer = io.BytesIO()
    rows = [
        {
            "repository_name": each["repo"],
            "func_path_in_repository": each["path"],
            "func_name": each["func_name"],
            "whole_func_string": each["original_string"],
            "language": "python",
            "func_code_string": each["code"],
            "func_documentation_string": each["docstring"],
            "func_code_url": each["url"],
            "split_name": "train",
        }
        for each in RECORDS
    ]
    pq.write_table(pa.Table.from_pylist(rows), buffer)
    return buffer.getvalue()


def definitions() -> bytes:
    rows = [
        {"nwo": each["repo"], "sha": "1", "path": each["path"], "language": "python", "identifier": each["func_name"],
         "docstring": each["docstring"], "function": each["original_string"], "function_tokens": [], "url": each["url"]}
        for each in RECORDS
    ]  # fmt: skip
    return pickle.dumps(rows)


Writer = Callable[[Path, bytes], str]
GOOD: dict[str, tuple[Writer, bytes]] = {
    "jsonl": (jsonl, LINES),
    "jsonl.gz": (gz, gzip.compress(LINES)),
    "CodeSearchNet folder": (layout, gzip.compress(LINES)),
    "CodeSearchNet zip": (archive, zipped(gzip.compress(LINES))),
    "parquet": (parquet, table()),
    "pool": (pool, definitions()),
}


@pytest.mark.parametrize("kind", GOOD)
def test_the_undamaged_file_is_read_whole(kind: str, tmp_path: Path) -> None:
    write, data = GOOD[kind]
    functions, problems = read_all(write(tmp_path, data))
    assert len(functions) == len(RECORDS), problems
    assert not problems


@pytest.mark.parametrize("kind", GOOD)
def test_files_cut_short_or_with_bytes_changed_never_crash_a_reader(kind: str, tmp_path: Path) -> None:
    write, data = GOOD[kind]
    chance = random.Random(kind)
    for _ in range(MUTATIONS):
        damaged = bytearray(data)
        way = chance.randrange(4)
        if way == 0:
            del damaged[chance.randrange(len(damaged)) :]
        elif way == 1:
            for _ in range(chance.randint(1, 20)):
                damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        elif way == 2:
            at = chance.randrange(len(damaged))
            damaged[at:at] = chance.randbytes(chance.randint(1, 200))
        else:
            at = chance.randrange(len(damaged))
            del damaged[at : at + chance.randint(1, 200)]
        read_all(write(tmp_path, bytes(damaged)))


@pytest.mark.parametrize("kind", GOOD)
@pytest.mark.parametrize(
    "data",
    [b"", b"\0" * 5_000, b"not this format", random.Random(1).randbytes(5_000)],
    ids=["empty", "zeros", "text", "noise"],
)
def test_what_is_no_such_file_at_all_is_said(kind: str, data: bytes, tmp_path: Path) -> None:
    functions, problems = read_all(GOOD[kind][0](tmp_path, data))
    assert not functions
    assert problems or not data


@pytest.mark.parametrize("name", BAD_TEXTS)
def test_any_text_in_any_field_is_indexed_or_listed_with_its_line(name: str, tmp_path: Path) -> None:
    text = BAD_TEXTS[name]
    lines = [
        json.dumps({**RECORDS[0], field: text})
        for field in ("repo", "path", "func_name", "original_string", "docstring", "url")
    ]
    functions, problems = read_all(jsonl(tmp_path, "\n".join(lines).encode()), seconds=60)
    assert len(functions) + len(problems) == len(lines)
    assert all(problem.line for problem in problems)


@pytest.mark.parametrize(
    "value",
    [
        "null",
        "17",
        "-1e999",
        "[]",
        "{}",
        "true",
        "[" * 5_000 + "]" * 5_000,
        '{"a":' * 5_000 + "1" + "}" * 5_000,
        '"\\ud800"',
        "NaN",
        "9" * 5_000,
    ],
    ids=["null", "number", "huge", "list", "object", "true", "deep list", "deep object", "surrogate", "NaN", "digits"],
)
def test_any_json_in_place_of_a_record_or_a_field_is_listed(value: str, tmp_path: Path) -> None:
    good = json.dumps(RECORDS[0])
    in_field = good.replace(json.dumps(RECORDS[0]["func_name"]), value, 1)
    functions, problems = read_all(jsonl(tmp_path, f"{value}\n{in_field}\n{good}\n".encode()))
    assert len(functions) == 1
    assert {problem.line for problem in problems} == {1, 2}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", BAD_TEXTS)
def test_any_text_is_a_source_file_that_can_be_passed_over(language: str, name: str, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / f"bad.{LANGUAGES[language]}").write_bytes(BAD_TEXTS[name].encode("utf-8", "surrogatepass"))
    (project / "good.py").write_text("def good():\n    return 1\n", encoding="utf-8")
    functions, _ = read_all(str(project), seconds=60)
    assert "good" in {function.func_name for function in functions}


def test_a_pickle_that_would_run_a_program_is_refused(tmp_path: Path) -> None:
    marker = tmp_path / "ran"

    class Attack:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            import os

            return os.system, (f"touch {marker}",)

    _, problems = read_all(pool(tmp_path, pickle.dumps([Attack()])))
    assert problems
    assert not marker.exists()


@pytest.mark.parametrize(
    "name", ["../../outside.jsonl.gz", "/etc/outside.jsonl.gz", "python/final/jsonl/train/../../../../../x.jsonl.gz"]
)
def test_entries_of_an_archive_never_leave_it(name: str, tmp_path: Path) -> None:
    inside = tmp_path / "a" / "b"
    inside.mkdir(parents=True)
    before = set(tmp_path.rglob("*"))
    read_all(archive(inside, zipped(gzip.compress(LINES), name)))
    assert set(tmp_path.rglob("*")) - before == {inside / "python.zip"}


def limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["gzip", "zip"])
def test_a_bomb_of_800_megabytes_fits_into_little_memory(kind: str, tmp_path: Path) -> None:
    zeros = b"0" * (1 << 20)
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb") as file:
        for _ in range(800):
            file.write(zeros)
    data = buffer.getvalue()
    spec = gz(tmp_path, data) if kind == "gzip" else archive(tmp_path, zipped(data))
    program = f"from tests.fuzz.test_readers import read_all; f, p = read_all({spec!r}, 100); print(len(f), len(p))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=280, preexec_fn=limit_memory
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split()[0] == "0"
    assert int(done.stdout.split()[1]) > 0


def test_a_folder_of_links_that_go_round_in_circles_and_out_is_read_once(tmp_path: Path) -> None:
    project, secret = tmp_path / "project", tmp_path / "secret"
    (project / "inner").mkdir(parents=True)
    secret.mkdir()
    (secret / "keys.py").write_text("def secret():\n    return 1\n", encoding="utf-8")
    (project / "mine.py").write_text("def mine():\n    return 1\n", encoding="utf-8")
    (project / "inner" / "round").symlink_to(project)
    (project / "out").symlink_to(secret)
    (project / "stolen.py").symlink_to(secret / "keys.py")
    functions, _ = read_all(str(project))
    assert [function.func_name for function in functions] == ["mine", "mine.py"]
