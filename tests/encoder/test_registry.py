"""Encoders by name: what an index records must lead to the same encoder from anywhere."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from treeline.corpus.errors import InputError
from treeline.encoder import registry
from treeline.encoder.registry import full_name
from treeline.encoder.static import MODEL_FOLDER
from treeline.service.cli import cli


def test_folders_are_named_in_full_and_other_names_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("model", "static", "none"):
        Path(folder).mkdir()
    assert full_name("model") == full_name("./model/") == str(tmp_path / "model")
    assert full_name("onnx:model") == f"onnx:{tmp_path / 'model'}"
    for name in ("static", "static:9", "none", "sentence-transformers/all-MiniLM-L6-v2", "onnx:nowhere"):
        assert full_name(name) == name


@pytest.mark.parametrize("kind", ["", "onnx:"])
def test_a_folder_that_is_gone_is_refused_without_a_look_for_a_transformer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(registry, "_transformer", None)
    with pytest.raises(InputError, match=f"encoder '{kind}{tmp_path}/gone' cannot be loaded: there is no such folder"):
        registry.load(f"{kind}{tmp_path}/gone")


def test_a_folder_without_a_model_is_refused_without_a_look_for_a_transformer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []

    def transformer(name: str) -> None:
        tried.append(name)

    monkeypatch.setattr(registry, "_transformer", transformer)
    (tmp_path / "README.md").touch()
    with pytest.raises(InputError, match=f"encoder '{tmp_path}' cannot be loaded: the folder has no file of an encod"):
        registry.load(str(tmp_path))
    assert tried == []
    for file in ("modules.json", "config.json", "adapter_config.json"):
        (tmp_path / file).touch()
        registry.load(str(tmp_path))
        (tmp_path / file).unlink()
    registry.load(f"onnx:{tmp_path}")  # which says itself what it lacks
    assert tried == [str(tmp_path)] * 3 + [f"onnx:{tmp_path}"]


def test_an_index_made_with_a_folder_of_here_is_searched_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREELINE_HOME", str(tmp_path / "home"))
    shutil.copytree(MODEL_FOLDER, tmp_path / "model")
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "fruit.py").write_text("def sell_apples(count):\n    return count * PRICE\n")
    monkeypatch.chdir(tmp_path)
    made = CliRunner().invoke(cli, ["index", "shop", "--encoder", "model", "--workers", "0"])
    assert made.exit_code == 0, made.output
    monkeypatch.chdir("/")
    words = ["search", "sell apples", "--name", "default", "--mode", "dense", "--json"]
    found = CliRunner().invoke(cli, words)
    assert found.exit_code == 0, found.output
    results = json.loads(found.stdout)["results"]
    assert [(one["kind"], one["func_name"]) for one in results] == [("function", "sell_apples"), ("file", "fruit.py")]
