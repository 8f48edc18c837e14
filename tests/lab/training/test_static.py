"""A training run of the static encoder from teacher to folder, and of a teacher."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from lab import train
from tests.encoder.functions import FUNCTIONS, function
from tests.encoder.test_transformer import MINILM
from treeline.corpus.errors import InputError
from treeline.corpus.function import Function
from treeline.encoder.registry import load
from treeline.encoder.static import StaticEncoder

pytestmark = [pytest.mark.transformers, pytest.mark.filterwarnings("ignore")]

VERBS = ("sell", "buy", "count", "weigh", "send", "sort")
THINGS = ("apple", "chair", "window", "letter", "engine", "river", "violin", "ticket", "garden", "candle", "mirror")


def test_training_writes_an_encoder_that_numpy_runs(tmp_path: Path) -> None:
    from lab.training.options import Options, Run
    from lab.training.run import train as train_encoder

    functions = shop()
    answered = {one.url: [f"how to {one.func_name.replace('_', ' a ')}"] for one in functions}
    run = Run(
        teachers=(MINILM,), vocabulary=9_000, pairs=500, dimension=64, questions=20, device="cpu",
        answered=answered, generated=answered, never=("sell the apple",), options=Options(epochs=1, batch=64, depth=8),
    )  # fmt: skip
    said: list[str] = []
    first = tmp_path / "first"
    scores = train_encoder(functions, run, first, said.append)
    encoder = load(str(first))
    assert encoder is not None
    assert encoder.name == str(first)
    assert encoder.encode_functions(functions).shape == (len(functions), 64)
    assert 0 < scores["sentences"] <= 1
    assert 0 < scores["answered"] <= 1
    assert any(line.startswith("epoch 1: loss") for line in said)
    taught_again = replace(
        run, teachers=(str(first),), options=Options(epochs=1, batch=64, depth=8, table_rate=1e-4), runs=2
    )
    said.clear()
    train_encoder(functions, taught_again, tmp_path / "second", said.append)
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
    order = ["teacher", MINILM, str(source), "--answered", str(asked), "--out", str(taught), "--device", "cpu"]
    order += ["--generated", str(generated)]
    said = CliRunner().invoke(train.command, [*order, "--epochs", "12", "--batch", "33", "--rate", "2e-4"])
    assert said.exception is None, said.output
    assert found(str(taught)) > found(MINILM) + 0.3
    nobody = tmp_path / "nobody.jsonl"
    nobody.write_text(json.dumps({"query": "sell an apple", "url": "elsewhere"}), encoding="utf-8")
    order[order.index(str(asked))] = str(nobody)
    assert "no question has its answer" in str(CliRunner().invoke(train.command, order).exception)


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
    order = ["static", str(tmp_path), "--teacher", MINILM, "--out", str(tmp_path / "out"), *only_going_on]
    refused = CliRunner().invoke(train.command, order).exception
    assert isinstance(refused, InputError)
    assert "--start static" in refused.hint


def test_too_few_functions_are_refused(tmp_path: Path) -> None:
    from lab.training.options import Run
    from lab.training.run import train as train_encoder

    with pytest.raises(InputError, match="too few"):
        train_encoder(FUNCTIONS, Run(teachers=(MINILM,)), tmp_path, print)
