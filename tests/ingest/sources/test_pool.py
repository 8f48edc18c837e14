"""The evaluation pool: plain data comes in as a stream, and nothing in a pickle is ever run."""

from __future__ import annotations

import io
import pickle
import pickletools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ingest.reading import read
from treeline.ingest.sources import pool as reader
from treeline.ingest.sources.pool import UnsafePickle, memo_keys, unpickle_records

FUNCTION = 'def add(a, b):\n    """Add."""\n    return a + b'


def entry(**changes: object) -> dict[str, object]:
    return {
        "nwo": "owner/name",
        "sha": "0" * 40,
        "path": "a.py",
        "language": "python",
        "identifier": "add",
        "docstring": "Add.",
        "function": FUNCTION,
        "function_tokens": ["def", "add"],
        "url": f"https://github.com/owner/name/blob/{'0' * 40}/a.py#L1-L3",
    } | changes


def pickled(value: object, protocol: int = 4) -> bytes:
    return pickle.dumps(value, protocol)


def unpickle(data: bytes) -> list[Any]:
    keep = memo_keys(io.BytesIO(data))
    return list(unpickle_records(io.BytesIO(data), keep))


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5) | st.tuples(inner, inner),
    max_leaves=20,
)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@settings(max_examples=40, deadline=None)
@given(values=st.lists(PLAIN, max_size=10))
def test_a_list_of_plain_values_comes_out_as_pickle_would_give_it(protocol: int, values: list[Any]) -> None:
    assert unpickle(pickle.dumps(values * 2, protocol)) == values * 2


def test_the_pool_becomes_functions_in_the_partition_pool(tmp_path: Path) -> None:
    path = tmp_path / "python_dedupe_definitions_v2.pkl"
    path.write_bytes(pickled([entry(identifier=f"f{number}") for number in range(1_300)]))
    parsed = read(f"codesearchnet:{path}")
    assert len(parsed.functions) == 1_300
    function = parsed.functions[7]
    assert (function.func_name, function.repo, function.partition) == ("f7", "owner/name", "pool")
    assert function.code == "def add(a, b):\n    return a + b"
    assert function.code_tokens == ("def", "add")


def test_bad_records_are_reported_by_number_and_the_rest_goes_in(tmp_path: Path) -> None:
    path = tmp_path / "python_dedupe_definitions_v2.pkl"
    path.write_bytes(pickled([entry(), "words", entry(function=None), entry(identifier="\ud800"), entry()]))
    parsed = read(f"codesearchnet:{path}")
    assert len(parsed.functions) == 2
    assert [problem.line for problem in parsed.problems] == [2, 3, 4]


class Evil:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_nothing_in_a_pickle_is_run(tmp_path: Path, protocol: int) -> None:
    path, mark = tmp_path / "python_dedupe_definitions_v2.pkl", tmp_path / "was here"
    path.write_bytes(pickled([Evil(mark)], protocol))
    parsed = read(f"codesearchnet:{path}")
    assert not parsed.functions
    assert "not plain data" in parsed.problems[0].reason
    assert not mark.exists()


def test_every_opcode_that_imports_calls_or_builds_is_refused() -> None:
    dangerous = "GLOBAL STACK_GLOBAL REDUCE BUILD INST OBJ NEWOBJ NEWOBJ_EX EXT1 EXT2 EXT4 PERSID BINPERSID NEXT_BUFFER"
    assert set(dangerous.split()) <= {opcode.name for opcode in pickletools.opcodes}
    assert not set(dangerous.split()) & reader.PLAIN


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not a pickle",
        pickled([entry()])[:-20],
        pickled({"a": "dict"}),
        b"\x80\x04]" + b"]" * 1_000,
        b"\x80\x04" + b"]" * 1_000 + b"a" * 999 + b".",
        b"\x80\x04](a.",
        b"\x80\x04e.",
        b"\x80\x04h\x05.",
        b"\x80\x04}(K\x01u.",
        b"\x80\x04](](K\x01e]u.",
        b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x7f.",
        b"\x80\x04(((((((.",
    ],
)
def test_damaged_pickles_give_a_problem_and_no_crash(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "python_dedupe_definitions_v2.pkl"
    path.write_bytes(data)
    assert not read(f"codesearchnet:{path}").functions


@settings(deadline=None)
@given(data=st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        unpickle(b"\x80\x04](" + data)
    except UnsafePickle:
        return


def test_memory_between_records_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "MAX_STEPS", 1_000)
    with pytest.raises(UnsafePickle, match="too much"):
        unpickle(b"\x80\x04](" + b"]" * 2_000 + b"e.")
