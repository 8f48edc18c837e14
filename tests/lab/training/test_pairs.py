"""The training of the model that reads a question and a function together, up to a file that `quality=best` opens."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from click.testing import CliRunner

from lab import train as commands
from lab.training.data import QuestionSet, TrainingData, count_words, prepare
from lab.training.opposites import pairs
from tests.encoder.functions import function
from tests.ingest.loading import record, records_file
from treeline.corpus.errors import InputError
from treeline.corpus.function import Function
from treeline.encoder.deep import function_tokens, pad
from treeline.encoder.pairs import PairReader
from treeline.encoder.static import StaticEncoder
from treeline.service.cli import cli

if TYPE_CHECKING:
    from lab.training.pairs import PairStudent

torch = pytest.importorskip("torch", reason="training needs torch")
pytestmark = pytest.mark.transformers
KINDS = ("json", "csv", "xml", "yaml", "html", "text", "image", "audio")
ANIMALS = ("cat", "dog", "horse", "mouse")
READERS = [function(f"read_{kind}", code=f"def read_{kind}(file): return parse_{kind}(file)") for kind in KINDS[:4]]
# Nothing but training says which reader answers which of these.
ASKED = [(f"draw the {animal}", number) for number, animal in enumerate(ANIMALS)]
CONVERTERS = [
    function(f"{one}_to_{other}", code=f"def {one}_to_{other}(x): return x")
    for one, other in (("json", "csv"), ("csv", "json"), ("xml", "text"), ("text", "xml"))
]


def small(layers: int = 1, width: int = 32) -> PairStudent:
    from lab.training.layers import Shape
    from lab.training.pairs import PairStudent

    torch.manual_seed(0)
    return PairStudent(Shape(len(StaticEncoder.shipped().tokenizer.vocabulary), width, 4, 2 * width, layers))


def prepared(functions: Sequence[Function], asked: QuestionSet) -> TrainingData:
    return prepare(functions, StaticEncoder.shipped().tokenizer, count_words(functions), asked)


@pytest.mark.parametrize("taught", [False, True])
def test_it_learns_which_function_answers(taught: bool) -> None:
    from lab.training.pairs import PairOptions, score, train
    from treeline.encoder.static import MODEL_FOLDER

    options = PairOptions(steps=100, batch=16, rate=3e-3, near=2, taught=1, leniency=1.0, weight=2.0, distilled=0.1)
    data, student = prepared(READERS, QuestionSet(answered=ASKED)), small()
    before = score(student, READERS, ASKED, options, "cpu")
    assert before["answered, read"] == before["answered, static"]  # untrained, it has no opinion
    train(student, data, options, "cpu", lambda _: None, opposites={}, teacher=str(MODEL_FOLDER) if taught else "")
    after = score(student, READERS, ASKED, options, "cpu")
    assert after["answered, static"] == before["answered, static"]
    assert after["answered, read"] > after["answered, static"] + 0.3


def test_it_learns_the_direction_from_opposites() -> None:
    from lab.training.pairs import PairOptions, Sequences, train

    found = pairs(CONVERTERS, limited=False)
    opposites = {pair.answer: pair.opposite for pair in found}
    assert opposites == {0: 1, 1: 0, 2: 3, 3: 2}
    asked = QuestionSet(ordered=[(pair.question, pair.answer) for pair in found])
    student, tokenizer = small(layers=2, width=64), StaticEncoder.shipped().tokenizer
    options = PairOptions(steps=200, batch=16, rate=1e-3, near=1, taught=1, leniency=1.0)
    train(student, prepared(CONVERTERS, asked), options, "cpu", lambda _: None, opposites=opposites)
    sequences = Sequences.of([pair.question for pair in found], CONVERTERS, tokenizer, "cpu")
    shown = torch.tensor([[pair.answer, pair.opposite] for pair in found])
    scores = sequences.score(student, torch.arange(len(found)), shown, torch.zeros_like(shown, dtype=torch.bool))
    assert bool((scores[:, 0] > scores[:, 1]).all())


def test_the_exported_file_scores_as_torch_does(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="the export needs onnxruntime")
    from lab.training.pairs import LIMITS, PairOptions, export

    student = small(layers=2)
    torch.nn.init.normal_(student.head[2].weight, std=0.5)
    export(student, tmp_path, "7", PairOptions(weight=0.3, depth=20), "a test")
    reader = PairReader(tmp_path)
    assert (reader.version, reader.weight, reader.depth) == ("7", 0.3, 20)
    some = [*READERS, function("f", "Say what a long docstring says. " * 30, code="return 1\n" * 200)]
    tokenizer = StaticEncoder.shipped().tokenizer
    asked = [1 + token for token in tokenizer.ids("read a json file", 16)]
    sequences = []
    for one in some:
        ids, fields = function_tokens(tokenizer, one, LIMITS)
        sequences.append((asked + ids, [5] * len(asked) + fields))
    with torch.no_grad():
        expected = student(*map(torch.from_numpy, pad(sequences))).numpy()
    found = reader.scores("read a json file", some)
    assert np.ptp(expected) > 0.1 and np.allclose(found, expected, atol=0.1 * np.ptp(expected))  # int8 loses a little


def test_nothing_is_learnt_without_a_question() -> None:
    from lab.training.pairs import PairOptions, train

    silent = prepared([function("f", "", code="x")], QuestionSet())
    with pytest.raises(InputError, match="no question has a known answer"):
        train(small(), silent, PairOptions(steps=1, batch=2), "cpu", lambda _: None, opposites={})


def test_the_command_writes_a_model_that_the_best_quality_uses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From a student as `lab.train deep` leaves it, which is small here."""
    pytest.importorskip("onnxruntime", reason="the export needs onnxruntime")
    from lab.training.layers import save

    (tmp_path / "start").mkdir()
    save(small(), tmp_path / "start")
    rows = [
        record(
            f"{verb}_{kind}", docstring=f"{verb} the {kind} of a file.", partition=partition, repo=f"some/{partition}"
        )
        for partition in ("train", "valid")
        for kind in KINDS
        for verb in ("read", "write", "check")
    ]
    source = str(records_file(tmp_path / "rows.jsonl", rows))
    model = str(tmp_path / "model")
    words = [source, "--start", str(tmp_path / "start"), "--steps", "3", "--batch", "4", "--device", "cpu"]
    trained = CliRunner().invoke(commands.command, ["pairs", *words, "--out", model])
    assert trained.exception is None, trained.output
    told = json.loads(trained.stdout)
    assert told["folder"] == model and told["scores"].keys() == {"sentences, static", "sentences, read"}
    monkeypatch.setenv("TREELINE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TREELINE_INDEX", "default")
    assert CliRunner().invoke(cli, ["index", source, "--workers", "0"]).exception is None
    asked = ["search", "read the xml", "--quality", "best", "--explain", "--json"]
    monkeypatch.setenv("TREELINE_READER", model)
    first = json.loads(CliRunner().invoke(cli, asked).stdout)["results"][0]
    assert "reading" in {one["lane"] for one in first["why"]["contributions"]}
    monkeypatch.setenv("TREELINE_READER", str(tmp_path / "none"))
    refused = CliRunner().invoke(cli, asked).exception
    assert isinstance(refused, InputError) and "there is no model" in refused.message
