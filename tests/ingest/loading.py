"""Small sources and real indexes for the tests of the loading pipeline."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from treeline.corpus.function import Function
from treeline.engine.embedded import EmbeddedStore
from treeline.ingest.pipeline import LoadOptions, Summary, load
from treeline.ingest.source import ReadOptions
from treeline.ingest.sources import open_source

NAME = "small"
FUNCTIONS = frozenset({"function", "method"})


def loaded(home: Path, *specs: Path | str, read: ReadOptions | None = None, **options: Any) -> Summary:
    """Load the functions of sources into the index `small` of this home, in this process."""
    sources = [open_source(str(spec), read or ReadOptions(kinds=FUNCTIONS)) for spec in specs]
    options.setdefault("workers", 0)
    summary = load(EmbeddedStore(home), NAME, sources, LoadOptions(work=home / ".loading", **options))
    accounted = summary.indexed + summary.updated + summary.unchanged + summary.duplicate + summary.rejected
    assert summary.read == accounted, summary
    return summary


def functions(home: Path, name: str = NAME) -> dict[str, Function]:
    engine = EmbeddedStore(home).open(name)
    try:
        return {function.id: function for function in engine.scan()}
    finally:
        engine.close()


def names(home: Path) -> list[str]:
    return sorted(function.func_name for function in functions(home).values())


def project(folder: Path, files: dict[str, str]) -> Path:
    """A folder of source files."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder


def enter_project(tmp_path: Path, files: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project that nobody indexed yet, with this process in it; the data folder is `home` beside it."""
    monkeypatch.setenv("TREELINE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TREELINE_ENCODER", "none")
    monkeypatch.delenv("TREELINE_INDEX", raising=False)
    folder = project(tmp_path / "demo", files)
    (folder / ".git").mkdir()
    monkeypatch.chdir(folder)
    return folder


def record(name: str, body: str = "return 1", **more: Any) -> dict[str, Any]:
    """A record in CodeSearchNet's field names."""
    code = f"def {name}():\n    {body}\n"
    return {
        "repo": "some/repo",
        "path": f"{name}.py",
        "func_name": name,
        "original_string": code,
        "language": "python",
        "code": code,
        "code_tokens": code.split(),
        "docstring": "",
        "docstring_tokens": [],
        "sha": "0" * 40,
        "partition": "train",
        "url": f"https://example.org/{name}.py#L1-L2",
    } | more


def records_file(path: Path, records: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in records), encoding="utf-8")
    return path
