"""What a training run finds before it learns: the teacher of shared words, and the hard candidates."""

from __future__ import annotations

from collections import Counter

import pytest

from lab.training.data import QuestionSet, TrainingData, bags, essence, prepare
from tests.encoder.functions import function
from treeline.corpus.function import Function
from treeline.encoder.static import Tokenizer

torch = pytest.importorskip("torch", reason="training needs torch")
pytestmark = pytest.mark.transformers
ANIMALS = ("cat", "dog", "horse", "mouse", "sheep", "goat", "lion", "tiger", "whale", "eagle")
DEEDS = ("feed", "wash", "call", "sell", "find", "hide", "draw", "name")


def data(functions: list[Function]) -> TrainingData:
    words = sorted({*ANIMALS, *DEEDS, "the", "of", "farm", "def", "return", "none"})
    return prepare(functions, Tokenizer(words), Counter(), QuestionSet())


FARM = [function(f"{deed}_{animal}", f"{deed} the {animal}.") for deed in DEEDS for animal in ANIMALS]


def test_the_lexical_teacher_ranks_by_shared_words() -> None:
    from lab.training.teacher import lexical

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
    from lab.training.teacher import lexical

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
    from lab.training.teacher import TeacherVectors
    from lab.training.trainer import PARTS, hard

    known = data(FARM)
    generator = torch.Generator().manual_seed(1)
    asked, answering = (torch.randn(len(rows), 8, generator=generator) for rows in (known.texts, FARM))
    teacher = TeacherVectors(asked, answering, answering, 1.0)
    found = hard(known, [teacher], teacher, 16, "cpu").taught
    assert found.shape == (len(known.texts), 16 // PARTS)
    ranks = (asked @ answering.T).argsort(dim=1, descending=True).argsort(dim=1)
    places = ranks.gather(1, found.long()).float()
    assert places.mean() < 12  # the mean place of the first 16 is 7.5; of any function 39.5
    assert len(torch.unique(found)) > 3 * len(FARM) / PARTS  # of every part


def test_a_field_that_counts_for_nothing_is_not_read() -> None:
    from lab.training.data import LIMITS
    from lab.training.student import Bags, Student, parts_of
    from treeline.encoder.static import FIELDS, StaticEncoder

    shipped = StaticEncoder.shipped()
    columns = (["sort_numbers", "send_email"], ["", ""], ["return open(path)"] * 2, ["", ""])
    texts_of = tuple(
        Bags(bags(shipped.tokenizer, texts, LIMITS[field]), "cpu") for field, texts in zip(FIELDS, columns, strict=True)
    )

    def alike(fields: tuple[float, ...]) -> float:
        student = Student.of(parts_of(shipped), fields=fields)
        left, right = student.functions(texts_of, torch.arange(2), torch.ones(2, len(FIELDS)))
        return float((left @ right).detach())

    assert alike((0.0, 1.0, 1.0, 1.0)) == pytest.approx(1.0, abs=1e-5)
    assert alike((0.3, 1.0, 1.0, 1.0)) > alike((1.0, 1.0, 1.0, 1.0)) + 0.05


def test_half_of_the_way_is_between_what_it_was_and_the_mean_of_what_runs_learnt() -> None:
    from lab.training.student import Student, parts_of
    from treeline.encoder.static import StaticEncoder

    student = Student.of(parts_of(StaticEncoder.shipped()))
    before = {name: value.clone() for name, value in student.state_dict().items()}
    ends = [{name: value + step for name, value in before.items()} for step in (0.5, 0.1)]
    student.interpolate(before, ends, 0.5)
    for name, value in student.state_dict().items():
        assert torch.allclose(value, before[name] + 0.15, atol=1e-5), name


def test_what_the_teachers_find_clearly_better_is_not_held_wrong() -> None:
    from lab.training.trainer import _better

    taught = torch.tensor([[0.0, 0.9, 1.1], [2.0, 0.0, 0.5]])
    assert _better(taught, torch.tensor([0, 1]), 1.0).tolist() == [[False, False, True], [True, False, False]]


def test_like_questions_lie_together() -> None:
    import random

    import numpy as np

    from lab.training.teacher import group_similar

    angles = np.repeat([0.0, 1.5, 3.0, 4.5], 25)  # four kinds of questions
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    numbers = np.random.default_rng(0).permutation(100)
    groups = group_similar(numbers, vectors, 12, random.Random(0))
    assert sorted(np.concatenate(groups).tolist()) == list(range(100))
    assert all(12 <= len(group) < 24 for group in groups)
    kinds = [len(set((group // 25).tolist())) for group in groups]
    assert sum(kinds) / len(kinds) < 2.5  # of the four in a group of strangers


def test_a_known_answer_is_an_example_of_its_own_style() -> None:
    known = taught_more()
    assert asked_as("answered", known) == [("hungry goat", 5)]  # the other asks what was never to be asked
    assert asked_as("generated", known) == [("goat wants food", 5), ("food for a lion", 6)]


def test_what_a_model_wrote_is_learnt_apart() -> None:
    from lab.training.options import Options
    from lab.training.teacher import TeacherVectors
    from lab.training.trainer import Trainer, hard

    known = taught_more()
    answering = torch.randn(len(FARM), 8)
    teacher = TeacherVectors(torch.randn(len(known.texts), 8), answering, answering, 1.0)
    options = Options(answered_times=3, generated_times=2, distilled_answered=0.3, distilled_generated=0.6)
    trainer = Trainer(known, [teacher], teacher, hard(known, [teacher], teacher, 16, "cpu"), options, "cpu")
    asked = {
        group.distilled: [known.texts[number] for number in group.numbers.tolist()]
        for group in trainer.groups
        if group.lenient
    }
    assert asked == {0.3: ["hungry goat"] * 3, 0.6: ["goat wants food", "food for a lion"] * 2}
    everyone = sorted(number for group in trainer.groups for number in set(group.numbers.tolist()))
    assert everyone == list(range(len(known.texts)))


def taught_more() -> TrainingData:
    answered = [("hungry goat", 5), ("my feeding goat", 5)]
    generated = [("goat wants food", 5), ("food for a lion", 6)]
    asked = QuestionSet(answered=answered, generated=generated, never=["feeding my goat"])
    return prepare(FARM, Tokenizer(["goat", "feed"]), Counter(), asked)


def asked_as(style: str, known: TrainingData) -> list[tuple[str, int]]:
    rows = zip(known.texts, known.styles, known.targets.tolist(), strict=True)
    return [(text, target) for text, its, target in rows if its == style]


def test_training_does_not_change_the_encoder_that_everybody_shares() -> None:
    from lab.training.student import parts_of
    from treeline.encoder.static import StaticEncoder

    encoder = StaticEncoder.shipped()
    before = encoder.encode_queries(["read a file"])
    for part in parts_of(encoder).values():
        part += 1
    assert (encoder.encode_queries(["read a file"]) == before).all()
