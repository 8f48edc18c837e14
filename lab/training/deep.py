"""The deep encoder in torch: a transformer that moves static vectors, its training, and its export.

The transformer starts as a correction of zero, so training starts where the static encoder is. With a teacher it learns
the teacher's vectors of functions and of questions, turned into the static space. Without one it learns which function
answers a question, and questions keep their static vectors.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, kl_div, log_softmax, normalize, softmax

from lab.training.data import QuestionSet, TrainingData, count_words, prepare
from lab.training.examples import ANSWERED, GENERATED, SENTENCE, Answered, match_answers, plain_sentence
from lab.training.layers import (
    MASKED,
    Reader,
    Shape,
    field_numbers,
    function_matrix,
    packed,
    question_matrix,
    save,
    start,
    write_int8,
)
from lab.training.models import device_of, optimise
from lab.training.run import learnable, split
from lab.training.teacher import TeacherVectors, teach
from lab.training.trainer import Case, figures, highest, mean_reciprocal_rank
from treeline.corpus.errors import InputError
from treeline.corpus.function import Function
from treeline.encoder.deep import CONFIG, INPUTS, MODEL, OUTPUT, QUESTION, QUESTION_TOKENS
from treeline.encoder.protocol import REACH, strip_prior
from treeline.encoder.static import MODEL_FOLDER, StaticEncoder, Tokenizer

LIMITS = {"name": 16, "place": 12, "docstring": 48, "code": 116}  # tokens of each field; half of all functions have 82
ENDS = np.cumsum([0, *LIMITS.values()])
DOCSTRING = slice(int(ENDS[2]), int(ENDS[3]))
AT_ONCE = 4_096  # functions of one pass through the transformer


@dataclass(frozen=True, slots=True)
class DeepOptions:
    """Options of the transformer's training; docs/research/encoder-deep.md has the measurements behind the defaults."""

    layers: int = 3  # of the starting model, spread evenly over its own
    steps: int = 1_500
    batch: int = 1_024
    rate: float = 4e-4
    scale: float = 18.0  # 1 / temperature of the softmax; with a teacher `TAUGHT_SCALE`
    hard: int = 1  # functions a question that the static encoder ranks high for it
    depth: int = 64  # from which they are drawn
    leniency: float = 0.08  # cosine by which the static encoder must prefer a function for it to be no negative
    hidden_docstrings: float = 0.12  # share of functions shown without docstring; with a teacher twice as many
    way: float = 0.4  # of the exported vectors that is the transformer's; the rest is the static encoder's
    seed: int = 0


# How often a question of each style is drawn, relative to a docstring's sentence: people's questions are few.
DRAWN = {ANSWERED: 8.0, GENERATED: 2.0, SENTENCE: 1.0, "reworded": 0.7, "keywords": 0.5, "comment": 0.7}
NEW = 2  # times the rate for the layers that no model brings
LEARNT = ("weigh", "correct", "kept")  # those layers
TAUGHT_SCALE = 30.0  # of a teacher's cosines, which differ less
RANKING = 0.5  # weight of the teacher's ranking beside its vectors
FEW = 120_000  # vectors that the common space is computed from


class DeepStudent(Reader):
    """A reader that corrects the static vector."""

    def __init__(self, shape: Shape, dimension: int) -> None:
        super().__init__(shape)
        self.correct = nn.Linear(2 * shape.width, dimension)
        nn.init.zeros_(self.correct.weight)
        nn.init.zeros_(self.correct.bias)
        self.kept = nn.Parameter(torch.ones(2))  # how much of the static vector stays: of functions, of questions

    def forward(self, ids: Tensor, fields: Tensor, static: Tensor) -> Tensor:
        selection = self.kept[(fields[:, 0] == QUESTION).long()][:, None]
        return normalize(static * selection + self.correct(self.pooled(ids, fields)).float(), dim=1)


class PartOfTheWay(nn.Module):
    """The exported model: unit vectors between the static ones and the student's."""

    def __init__(self, student: DeepStudent, way: float) -> None:
        super().__init__()
        self.student, self.way = student, way

    def forward(self, ids: Tensor, fields: Tensor, static: Tensor) -> Tensor:
        return normalize((1 - self.way) * static + self.way * self.student(ids, fields, static), dim=1)


class Units(NamedTuple):
    """The student's view of each function: tokens in blocks by field, static vectors with and without docstring."""

    ids: Tensor
    whole: Tensor
    bare: Tensor

    @classmethod
    def of(cls, functions: Sequence[Function], encoder: StaticEncoder, device: str) -> Units:
        ids = function_matrix(functions, encoder.tokenizer, LIMITS)
        texts_only = [replace(function, docstring="") for function in functions]
        whole, bare = (strip_prior(encoder.encode_functions(each)) for each in (functions, texts_only))
        return cls(*(torch.from_numpy(each).to(device) for each in (ids, whole, bare)))

    def encode(self, student: nn.Module, numbers: Tensor, bare: Tensor) -> Tensor:
        """Unit vectors of these functions; `bare` says for which the docstring is hidden. Sorted by length inside."""
        ids = self.ids[numbers].long()
        ids[:, DOCSTRING] *= ~bare[:, None]
        static = torch.where(bare[:, None], self.bare[numbers], self.whole[numbers])
        order = (ids > 0).sum(1).argsort()
        numbers = field_numbers(LIMITS, str(ids.device))
        parts = torch.split(order, AT_ONCE)
        results = torch.cat([student(*packed(ids[some], numbers), static[some]).float() for some in parts])
        return torch.empty_like(results).index_copy(0, order, results)


class Questions(NamedTuple):
    """The student's view of each question: its tokens and its static vector."""

    ids: Tensor
    static: Tensor

    @classmethod
    def of(cls, texts: Sequence[str], encoder: StaticEncoder, device: str) -> Questions:
        ids = question_matrix(texts, encoder.tokenizer, QUESTION_TOKENS)
        static = strip_prior(encoder.encode_queries(texts))
        return cls(torch.from_numpy(ids).to(device), torch.from_numpy(static).to(device))

    def encode(self, student: nn.Module, numbers: Tensor) -> Tensor:
        ids = self.ids[numbers].long()
        ids = ids[:, : max(1, int((ids > 0).sum(1).max()))]
        results: Tensor = student(ids, torch.where(ids > 0, QUESTION, 0), self.static[numbers])
        return results.float()


class Goal(NamedTuple):
    """A teacher's vectors in the static encoder's space, and in its own."""

    queries: Tensor
    whole: Tensor
    bare: Tensor
    teacher: TeacherVectors

    @classmethod
    def of(cls, teacher: TeacherVectors, questions: Questions, units: Units) -> Goal:
        """The strongest directions of the teacher's vectors, turned as near to the static vectors as can be.

        Turning changes no cosine. It lets a student start from the static vectors, and makes an index of both kinds
        of vectors comparable.
        """
        kinds = (teacher.queries, questions.static), (teacher.full, units.whole), (teacher.bare, units.bare)
        taught = torch.cat([own[:FEW].float() for own, _ in kinds])
        static = torch.cat([known[:FEW].float() for _, known in kinds])
        _, directions = torch.linalg.eigh(taught.T @ taught)
        basis = directions[:, -static.shape[1] :]
        rest, _, right = torch.linalg.svd(normalize(taught @ basis, dim=1).T @ static, full_matrices=False)
        rotation = basis @ (rest @ right)
        queries, whole, bare = (normalize(own.float() @ rotation, dim=1) for own, _ in kinds)
        return cls(queries, whole, bare, teacher)


def begin(name: str, tokenizer: Tokenizer, layers: int) -> DeepStudent:
    """A student with some layers and the token vectors of a BERT model, or of another student."""
    shape, weights = start(name, tokenizer, layers)
    student = DeepStudent(shape, StaticEncoder.shipped().dimension - 1)
    student.load_state_dict(weights, strict=False)
    return student


def train(
    student: DeepStudent,
    data: TrainingData,
    held_out: Sequence[Function],
    answered: Sequence[tuple[str, int]],
    options: DeepOptions,
    device: str,
    say: Callable[[str], None],
    teacher: str = "",
) -> dict[str, float]:
    """Train on the teacher's vectors, or on which functions answer; returns MRR on held-out functions.

    `answered` are questions about held-out functions; sentences of their docstrings, hidden then, are asked too.
    """
    encoder, rng = StaticEncoder.shipped(), np.random.default_rng(options.seed)
    labels = np.flatnonzero(data.targets >= 0)
    if not len(labels):
        raise InputError("no question has a known answer", "add sources with docstrings, or --answered FILE")
    targets = torch.from_numpy(data.targets).to(device)
    known = teach(teacher or str(MODEL_FOLDER), data, device)
    hard = highest(data, [known], min(options.depth, len(data.functions)), device)
    units, questions = Units.of(data.functions, encoder, device), Questions.of(data.texts, encoder, device)
    goal = Goal.of(known, questions, units) if teacher else None
    styles = np.array(data.styles)[labels]
    draws = np.array([DRAWN.get(style, 1.0) for style in styles])
    groups = {bare: (styles == SENTENCE) == bare for bare in (True, False)}
    share = float(draws[groups[True]].sum() / draws.sum())

    def loss() -> Tensor:
        bare = bool(rng.random() < share)
        selection = draws if goal else draws * groups[bare]
        numbers = torch.from_numpy(rng.choice(labels, options.batch, p=selection / selection.sum())).to(device)
        candidates = _shown(targets[numbers], hard[numbers], options)
        with torch.autocast(device, torch.bfloat16, enabled=device != "cpu"):
            if goal:
                return _taught(student, units, questions, goal, numbers, candidates, options)
            prompts = known.queries[numbers].float()
            return _labelled(student, units, prompts, targets[numbers], candidates, bare, options)

    optimise(student.to(device), loss, say, steps=options.steps, rate=options.rate, new=LEARNT, faster=NEW)
    shift = PartOfTheWay(student, options.way)
    return score(shift, held_out, answered, encoder, device, asks=goal is not None)


def _shown(targets: Tensor, hard: Tensor, options: DeepOptions) -> Tensor:
    """The functions of one step: those that answer, and some that rank high for the questions."""
    draws = torch.randint(hard.shape[1], (len(hard), options.hard), device=hard.device)
    candidates: Tensor = torch.unique(torch.cat([targets, hard.gather(1, draws).flatten().long()]))
    return candidates


def _taught(
    student: DeepStudent,
    units: Units,
    questions: Questions,
    goal: Goal,
    numbers: Tensor,
    functions: Tensor,
    options: DeepOptions,
) -> Tensor:
    """The distance between student and teacher: of their vectors, and of their rankings of these functions."""
    bare = torch.rand(len(functions), device=functions.device) < 2 * options.hidden_docstrings
    results, prompts = units.encode(student, functions, bare), questions.encode(student, numbers)
    targets = torch.where(bare[:, None], goal.bare[functions], goal.whole[functions])
    apart = 2 - (results * targets).sum(1).mean() - (prompts * goal.queries[numbers]).sum(1).mean()
    taught = torch.where(bare[:, None], goal.teacher.bare[functions], goal.teacher.full[functions])
    ranking = (goal.teacher.queries[numbers] @ taught.T).float() * TAUGHT_SCALE
    ours = log_softmax(prompts @ results.T * TAUGHT_SCALE, dim=1)
    loss: Tensor = 2 * apart + RANKING * kl_div(ours, softmax(ranking, dim=1), reduction="batchmean")
    return loss


def _labelled(
    student: DeepStudent,
    units: Units,
    asked: Tensor,
    targets: Tensor,
    functions: Tensor,
    bare: bool,
    options: DeepOptions,
) -> Tensor:
    """Cross-entropy of the labelled function among those shown.

    Functions that the static encoder clearly prefers may be right too and are no negatives.
    """
    activations = torch.rand(len(functions), device=functions.device) < (1.0 if bare else options.hidden_docstrings)
    results = units.encode(student, functions, activations)
    places = torch.searchsorted(functions, targets)
    known = asked @ (units.bare if bare else units.whole)[functions].T
    also_correct = known > known.gather(1, places[:, None]) + options.leniency
    also_correct.scatter_(1, places[:, None], value=False)
    return cross_entropy((asked @ results.T * options.scale).masked_fill(also_correct, MASKED), places)


@torch.no_grad()
def score(
    student: nn.Module,
    functions: Sequence[Function],
    answered: Sequence[tuple[str, int]],
    encoder: StaticEncoder,
    device: str,
    *,
    asks: bool,
) -> dict[str, float]:
    """MRR of held-out questions and docstring sentences, by static and by deep vectors, and the deep best cosine.

    `asks`: whether the student reads questions, too.
    """
    units, numbers = Units.of(functions, encoder, device), torch.arange(len(functions), device=device)
    sentences = [Case(text, (number,)) for number, one in enumerate(functions) if (text := plain_sentence(one))]
    sets = {"sentences": sentences, "answered": [Case(text, (number,)) for text, number in answered]}
    scores = {}
    for name, cases in sets.items():
        if not cases:
            continue
        activations = torch.full((len(functions),), name == "sentences", device=device)
        static = units.bare if name == "sentences" else units.whole
        questions = Questions.of([case.text for case in cases], encoder, device)
        queries = questions.encode(student, torch.arange(len(cases), device=device)) if asks else questions.static
        deep = queries @ units.encode(student, numbers, activations).T
        scores[f"{name}, static"] = mean_reciprocal_rank(before := questions.static @ static.T, cases)
        scores[f"{name}, deep"] = mean_reciprocal_rank(deep, cases)
        # how much higher the best cosine is now; the prior in every vector takes a part of it
        scores[f"{name}, higher"] = float((deep.max(1).values - before.max(1).values).mean()) / (1 + REACH**2) ** 0.5
    return scores


def run(
    functions: Sequence[Function],
    options: DeepOptions,
    folder: Path,
    say: Callable[[str], None],
    *,
    model: str,
    answered: Answered,
    generated: Answered,
    never: Sequence[str],
    version: str,
    device: str,
    teacher: str = "",
) -> dict[str, float]:
    """Train from a BERT model and write the encoder; returns the scores on held-out repositories."""
    device = device_of(device)
    torch.manual_seed(options.seed)
    learnt, (_, held_out) = learnable(functions), split(functions)
    tokenizer = StaticEncoder.shipped().tokenizer
    known = QuestionSet(
        answered=match_answers(answered, learnt), generated=match_answers(generated, learnt), never=never
    )
    data = prepare(learnt, tokenizer, count_words(learnt), known, seed=options.seed)
    say(f"{len(data.texts):,} questions of {len(learnt):,} functions; {len(held_out):,} held out; on {device}")
    student = begin(model, tokenizer, options.layers)
    scores = train(student, data, held_out, match_answers(answered, held_out), options, device, say, teacher)
    higher = [scores.pop(name) for name in list(scores) if name.endswith("higher")]
    usual = StaticEncoder.shipped().usual + (float(np.mean(higher)) if higher else 0.0)
    note = f"started from {model}" + (f", taught by {teacher}" if teacher else "")
    size = export(student, folder, version, options, note, usual=usual, questions=bool(teacher))
    say(f"{folder}: {size / 1e6:.1f} MB  " + figures(scores))
    return scores


def export(
    student: DeepStudent,
    folder: Path,
    version: str,
    options: DeepOptions,
    note: str,
    *,
    usual: float,
    questions: bool,
) -> int:
    """Write `deep.onnx` in int8, `deep.json` and the student; returns the size in bytes of the first two."""
    student = student.cpu().float().eval()
    static = torch.ones(2, student.correct.out_features)
    write_int8(PartOfTheWay(student, options.way), student.shape, folder / MODEL, INPUTS, OUTPUT, static)
    save(student, folder)
    config = {
        "version": version,
        "static": StaticEncoder.shipped().name,
        "limits": LIMITS,
        "usual": round(usual, 3),
        "questions": questions,
        "note": note,
        "options": asdict(options),
    }
    (folder / CONFIG).write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
    return sum((folder / name).stat().st_size for name in (MODEL, CONFIG))
