"""What a training run finds before it learns: the teacher of shared words, and the hard candidates."""

from __future__ import annotations

from collections import Counter

import pytest

from corpus.errors import InputError
from corpus.function import Function
from encoder.tokens import Tokenizer
from encoder.training.data import TrainingData, essence, prepare
from tests.encoder.functions import function

torch = pytest.importorskip("torch", reason="training needs torch")
pytestmark = pytest.mark.transformers
ANIMALS = ("cat", "dog", "horse", "mouse", "sheep", "goat", "lion", "tiger", "whale", "eagle")
DEEDS = ("feed", "wash", "call", "sell", "find", "hide", "draw", "name")


def data(functions: list[Function]) -> TrainingData:
    words = sorted({*ANIMALS, *DEEDS, "the", "of", "farm", "def", "return", "none"})
    return prepare(functions, Tokenizer(words), 0, Counter(), [], [], 0)


FARM = [function(f"{deed}_{animal}", f"{deed} the {animal}.") for deed in DEEDS for animal in ANIMALS]


def test_the_lexical_teacher_ranks_by_shared_words() -> None:
    from encoder.training.lexical import lexical

    known = data(FARM)
    taught = lexical(known, "cpu")
    everyone = torch.arange(len(FARM))
    for number, text in enumerate(known.texts):
        if essence(text) == {"feed", "goat"}:
            said = taught.similarity(torch.tensor([number]), everyone, bare=False)
            assert FARM[int(said.argmax())].func_name == "feed_goat"
            break
    else:
        pytest.fail("nobody asked for the goat")


def test_a_docstring_does_not_speak_for_its_own_function() -> None:
    from encoder.training.lexical import lexical

    known = data([function("run", "feed the goat."), *FARM])
    taught = lexical(known, "cpu")
    its_own = next(
        number
        for number, (style, target) in enumerate(zip(known.styles, known.targets, strict=True))
        if style == "sentence" and target == 0
    )
    asked = torch.tensor([its_own])
    whole, bare = (taught.similarity(asked, torch.tensor([0]), bare=bare).item() for bare in (False, True))
    assert whole > 0
    assert bare == pytest.approx(0, abs=1e-6)


def test_hard_candidates_are_the_highest_of_a_part_of_all() -> None:
    from encoder.training.candidates import PARTS, hard
    from encoder.training.teachers import Taught

    known = data(FARM)
    generator = torch.Generator().manual_seed(1)
    asked, answering = (torch.randn(len(rows), 8, generator=generator) for rows in (known.texts, FARM))
    teacher = Taught(asked, answering, answering, 1.0)
    found = hard(known, [teacher], teacher, 16, "cpu").taught
    assert found.shape == (len(known.texts), 16 // PARTS)
    ranks = (asked @ answering.T).argsort(dim=1, descending=True).argsort(dim=1)
    places = ranks.gather(1, found.long()).float()
    assert places.mean() < 12  # the mean place of the first 16 is 7.5; of any function 39.5
    assert len(torch.unique(found)) > 3 * len(FARM) / PARTS  # of every part


def test_an_expert_speaks_of_sentences_on_the_scale_of_its_teacher() -> None:
    from encoder.training.teachers import Taught, spread, with_expert

    generator = torch.Generator().manual_seed(2)
    asked, whole, bare = (torch.randn(size, 8, generator=generator) for size in (40, 60, 60))
    teacher = Taught(asked, whole, bare, spread(asked, whole))
    expert = Taught(7 * asked.roll(1, 0), 7 * whole.roll(1, 0), 7 * bare.roll(1, 0), 1.0)
    sentences, others = torch.arange(0, 40, 2), torch.arange(1, 40, 2)
    both, everyone = with_expert(teacher, expert, sentences), torch.arange(60)
    assert torch.equal(both.similarity(others, everyone, bare=False), teacher.similarity(others, everyone, bare=False))
    said, own = both.similarity(sentences, everyone, bare=True), expert.similarity(sentences, everyone, bare=True)
    assert torch.equal(said.argsort(dim=1), own.argsort(dim=1))
    assert float(said.std()) == pytest.approx(1.0, rel=0.1)
    assert with_expert(teacher, expert, sentences[:0]) is teacher
    narrow = Taught(asked[:, :4], whole[:, :4], bare[:, :4], 1.0)
    with pytest.raises(InputError, match="dimension of its teacher"):
        with_expert(teacher, narrow, sentences)


def test_a_field_that_counts_for_nothing_is_not_read() -> None:
    from encoder.static import FIELDS, StaticEncoder
    from encoder.training.bags import Bags
    from encoder.training.data import LIMITS
    from encoder.training.model import Student

    shipped = StaticEncoder.shipped()
    columns = (["feed_goat", "wash_cat"], ["", ""], ["return open(path)"] * 2, ["", ""])
    bags = tuple(
        Bags(shipped.tokenizer.bags(texts, LIMITS[field]), "cpu") for field, texts in zip(FIELDS, columns, strict=True)
    )

    def alike(fields: tuple[float, ...]) -> float:
        student = Student.of(shipped.parts(), fields=fields)
        left, right = student.functions(bags, torch.arange(2), torch.ones(2, len(FIELDS)))
        return float((left @ right).detach())

    assert alike((0.0, 1.0, 1.0, 1.0)) == pytest.approx(1.0, abs=1e-5)
    assert alike((0.3, 1.0, 1.0, 1.0)) > alike((1.0, 1.0, 1.0, 1.0)) + 0.05


def test_half_of_the_way_is_between_what_it_was_and_what_it_learnt() -> None:
    from encoder.static import StaticEncoder
    from encoder.training.model import Student

    student = Student.of(StaticEncoder.shipped().parts())
    before = {name: value.clone() for name, value in student.state_dict().items()}
    with torch.no_grad():
        for value in student.parameters():
            value.add_(0.5)
    student.back_towards(before, 0.25)
    for name, value in student.state_dict().items():
        assert torch.allclose(value, before[name] + 0.125, atol=1e-5), name
