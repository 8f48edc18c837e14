"""`python-env`: the standard library and the project's own dependencies."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ingest.reading import read
from treeline.corpus.errors import InputError
from treeline.ingest.source import ReadOptions
from treeline.ingest.sources import open_source
from treeline.ingest.sources.python_env import open_python_env


def test_the_standard_library_and_the_dependencies_are_there_and_giants_are_not() -> None:
    source = open_source("python-env")
    keys = {unit.key for unit in source.units()}
    assert {"python/json/decoder.py", "click/click/core.py", "flask/flask/app.py"} <= keys
    packages = {key.partition("/")[0] for key in keys}
    assert not {"torch", "plotly", "treeline", "pytest"} & packages
    assert any("plotly" in reason for reason in source.left_out)
    assert source.size > 10_000_000


def test_tests_and_vendored_copies_inside_packages_are_left_out() -> None:
    keys = [unit.key for unit in open_source("python-env").units()]
    assert not [key for key in keys if "/tests/" in key or "/test/" in key or "/_vendor/" in key]


def test_a_function_of_the_standard_library_points_to_its_source() -> None:
    unit = next(unit for unit in open_source("python-env").units() if unit.key == "python/textwrap.py")
    (chunk,) = unit.chunks()
    dedent = next(function for function in chunk.parse().functions if function.func_name == "dedent")
    assert (dedent.repo, dedent.path) == ("python", "textwrap.py")
    assert dedent.url.startswith("https://github.com/python/cpython/blob/v3.")
    assert dedent.docstring.startswith("Remove any common leading whitespace")
    assert "Remove any common leading whitespace" not in dedent.code


def test_a_package_can_be_asked_for_by_name() -> None:
    source = open_source("python-env", ReadOptions(packages=frozenset({"Pytest"})))
    assert any(unit.key.startswith("pytest/") for unit in source.units())


def test_a_package_that_is_not_installed_is_named() -> None:
    with pytest.raises(InputError, match="no-such-package is not installed"):
        open_source("python-env", ReadOptions(packages=frozenset({"no_such.package"})))


def test_plain_json_lines_are_a_source(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_bytes(
        b'{"repo": "r", "path": "p.py", "func_name": "f", "code": "def f(): pass", "language": "python"}\n'
    )
    (function,) = read(str(path)).functions
    assert function.original_string == "def f(): pass"


def test_what_was_read_goes_with_its_unit() -> None:
    source = open_python_env(ReadOptions())
    first = next(iter(source.units()))
    assert first.digest
    assert "_content" in vars(first)
    assert not any("_content" in vars(unit) for unit in source.every)
