"""The model of `quality=best` in torch: a transformer that reads a question and a function together, and its training.

For each question it learns to score the right function above others that a search ranks high, and with a teacher how
well each of them answers. Where the right one has an opposite (`csv_to_json`, `json_to_csv`), that is among the others.
Nogueira & Cho, "Passage Re-ranking with BERT", 2019; docs/research/rerankers.md has the shipped model's card.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, kl_div, log_softmax, softmax

from lab.training.data import QuestionSet, TrainingData, count_words, prepare
from lab.training.examples import (
    ANSWERED,
    COMMENT_STYLE,
    GENERATED,
    ORDER,
    SENTENCE,
    Answered,
    match_answers,
    plain_sentence,
)
from lab.training.layers import (
    MASKED,
    Reader,
    Shape,
    field_numbers,
    function_matrix,
    packed,
    question_matrix,
    start,
    write_int8,
)
from lab.training.models import device_of, optimise
from lab.training.opposites import pairs
from lab.training.run import learnable, split
from lab.training.teacher import teach
from lab.training.trainer import Case, figures, highest, mean_reciprocal_rank
from treeline.corpus.errors import InputError
from treeline.corpus.function import Function
from treeline.encoder.deep import QUESTION
from treeline.encoder.pairs import CONFIG, INPUTS, MODEL, OUTPUT
from treeline.encoder.static import MODEL_FOLDER, StaticEncoder, Tokenizer

ASKED = 16  # tokens of a question
# Tokens of each field. Reading fewer than in training gains as much in a search and is a third quicker.
TRAINED = {"name": 16, "place": 12, "docstring": 24, "code": 64}
LIMITS = {"question": ASKED, "name": 16, "place": 12, "docstring": 16, "code": 40}
DOCSTRING = slice(TRAINED["name"] + TRAINED["place"], TRAINED["name"] + TRAINED["place"] + TRAINED["docstring"])
AT_ONCE = 1_024  # pairs of one pass
# How often a question of each style is drawn; the others are not.
DRAWN = {ANSWERED: 5.0, GENERATED: 5.0, ORDER: 1.2, SENTENCE: 0.3, COMMENT_STYLE: 0.2}
NEW = 3  # times the rate for the head, which no model brings
SHARPNESS = 30.0  # of a teacher's cosines, as a ranking
MOST_MEASURED = 500  # held-out questions of each kind


@dataclass(frozen=True, slots=True)
class PairOptions:
    """Options of the transformer's training; the defaults are those of docs/research/rerankers.md."""

    layers: int = 3
    steps: int = 2_200
    batch: int = 320  # questions
    rate: float = 3e-4
    near: int = 6  # functions a question, drawn from the static encoder's first
    taught: int = 5  # the same, from the teacher's; without a teacher from the static encoder's
    depth: int = 30  # of these lists, and the results that the model reads in a search
    distilled: float = 0.6  # weight of the teacher's ranking; the rest is the right answers'
    leniency: float = 0.05  # cosine by which the teacher must prefer a function for it to be no negative
    hidden_docstrings: float = 0.08  # share of functions shown without docstring
    weight: float = 0.2  # of the scores beside the fused ones in a search
    seed: int = 0


class PairStudent(Reader):
    """A reader that scores a question and a function in one sequence."""

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape)
        last = nn.Linear(shape.width, 1)
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)
        self.head = nn.Sequential(nn.Linear(2 * shape.width, shape.width), nn.GELU(), last)

    def forward(self, ids: Tensor, fields: Tensor) -> Tensor:
        scores: Tensor = self.head(self.pooled(ids, fields))[:, 0].float()
        return scores


class Sequences(NamedTuple):
    """The tokens of all questions and of all functions, and the field of each column of both together."""

    questions: Tensor
    functions: Tensor
    numbers: Tensor

    @classmethod
    def of(cls, texts: Sequence[str], functions: Sequence[Function], tokenizer: Tokenizer, device: str) -> Sequences:
        questions, read = question_matrix(texts, tokenizer, ASKED), function_matrix(functions, tokenizer, TRAINED)
        numbers = torch.cat([torch.full((ASKED,), QUESTION, device=device), field_numbers(TRAINED, device)])
        return cls(torch.from_numpy(questions).to(device), torch.from_numpy(read).to(device), numbers)

    def score(self, student: nn.Module, asked: Tensor, shown: Tensor, bare: Tensor) -> Tensor:
        """Scores of the functions that each question is shown (a row each); `bare` says whose docstring is hidden.

        Sorted by length inside, so that little is padding.
        """
        read = self.functions[shown.flatten()].long()
        read[:, DOCSTRING] *= ~bare.flatten()[:, None]
        ids = torch.cat([self.questions[asked].long().repeat_interleave(shown.shape[1], 0), read], dim=1)
        order = (ids > 0).sum(1).argsort()
        results = torch.cat([student(*packed(ids[some], self.numbers)) for some in torch.split(order, AT_ONCE)])
        return torch.empty_like(results).index_copy(0, order, results).view(shown.shape)


def begin(name: str, tokenizer: Tokenizer, layers: int) -> PairStudent:
    """A student with some layers and the token vectors of a BERT model, or of a student by `lab.train deep`."""
    shape, weights = start(name, tokenizer, layers)
    student = PairStudent(shape)
    student.load_state_dict(weights, strict=False)
    return student


def train(
    student: PairStudent,
    data: TrainingData,
    options: PairOptions,
    device: str,
    say: Callable[[str], None],
    *,
    opposites: Mapping[int, int],
    teacher: str = "",
) -> None:
    """Train on which functions answer, and on the teacher's similarities if there is one.

    `opposites` are functions by the number of the one that each is the opposite of.
    """
    rng, styles = np.random.default_rng(options.seed), np.array(data.styles)
    draws = np.array([DRAWN.get(style, 0.0) for style in styles]) * (data.targets >= 0)
    if not draws.any():
        raise InputError("no question has a known answer", "add sources with docstrings, or --answered FILE")
    near = teach(str(MODEL_FOLDER), data, device)
    judge = teach(teacher, data, device) if teacher else near
    depth = min(options.depth, len(data.functions))
    first, taught_first = (highest(data, [one], depth, device) for one in (near, judge))
    sequences = Sequences.of(data.texts, data.functions, data.tokenizer, device)
    targets, is_sentence = torch.from_numpy(data.targets).to(device), torch.from_numpy(styles == SENTENCE).to(device)
    opposite = torch.full((len(data.functions),), -1)
    for number, other in opposites.items():
        opposite[number] = other
    opposite = opposite.to(device)

    def loss() -> Tensor:
        numbers = torch.from_numpy(rng.choice(len(draws), options.batch, p=draws / draws.sum())).to(device)
        right = targets[numbers][:, None]
        others = torch.cat([_some(first[numbers], options.near), _some(taught_first[numbers], options.taught)], dim=1)
        others[:, :1] = torch.where(opposite[right] >= 0, opposite[right], others[:, :1])
        candidates = torch.cat([right, others], dim=1)
        bare = is_sentence[numbers][:, None] | (torch.rand(candidates.shape, device=device) < options.hidden_docstrings)
        vectors = torch.where(bare[:, :, None], judge.bare[candidates], judge.full[candidates])
        cosines = (judge.queries[numbers][:, None].float() * vectors.float()).sum(2)
        with torch.autocast(device, torch.bfloat16, enabled=device != "cpu"):
            scores = sequences.score(student, numbers, candidates, bare)
        return _loss(scores, cosines, _again(candidates), options, taught=bool(teacher))

    own, betas = ("head.",), (0.9, 0.98)
    optimise(student.to(device), loss, say, steps=options.steps, rate=options.rate, new=own, faster=NEW, betas=betas)


def _some(candidates: Tensor, count: int) -> Tensor:
    """So many of each row, drawn with replacement."""
    places = torch.randint(candidates.shape[1], (len(candidates), count), device=candidates.device)
    return candidates.gather(1, places).long()


def _again(shown: Tensor) -> Tensor:
    """A mask of the places that show the right function, the first of each row, again."""
    results = shown == shown[:, :1]
    results[:, 0] = False
    return results


def _loss(scores: Tensor, cosines: Tensor, again: Tensor, options: PairOptions, *, taught: bool) -> Tensor:
    """Cross-entropy of the right function, and the divergence from the teacher's ranking of those shown.

    Functions that the teacher clearly prefers may be right too and are no negatives.
    """
    also_right = cosines > cosines[:, :1] + options.leniency
    right = torch.zeros(len(scores), dtype=torch.long, device=scores.device)
    labels = cross_entropy(scores.masked_fill(again | also_right, MASKED), right)
    if not taught:
        return labels
    ranking = softmax((cosines * SHARPNESS).masked_fill(again, MASKED), dim=1)
    ours = log_softmax(scores.masked_fill(again, MASKED), dim=1)
    divergence = kl_div(ours, ranking, reduction="batchmean")
    return (1 - options.distilled) * labels + options.distilled * divergence


@torch.no_grad()
def score(
    student: nn.Module,
    functions: Sequence[Function],
    answered: Sequence[tuple[str, int]],
    options: PairOptions,
    device: str,
) -> dict[str, float]:
    """MRR of held-out questions and docstring sentences, by static vectors and with their first results read."""
    encoder = StaticEncoder.shipped()
    sentences = [Case(text, (number,)) for number, one in enumerate(functions) if (text := plain_sentence(one))]
    sets = {"sentences": sentences, "answered": [Case(text, (number,)) for text, number in answered]}
    scores = {}
    for name, every in sets.items():
        cases = every[:: -(-len(every) // MOST_MEASURED)] if every else []
        if not cases:
            continue
        texts, bare = [case.text for case in cases], name == "sentences"
        read = [replace(one, docstring="") for one in functions] if bare else list(functions)
        before = torch.from_numpy(encoder.encode_queries(texts) @ encoder.encode_functions(read).T)
        best, candidates = before.topk(min(options.depth, len(read)), dim=1)
        sequences = Sequences.of(texts, read, encoder.tokenizer, device)
        questions, activations = torch.arange(len(texts), device=device), torch.zeros_like(candidates, dtype=torch.bool)
        results = sequences.score(student, questions, candidates.to(device), activations.to(device)).float().cpu()
        lowest, highest_ = results.amin(1, keepdim=True), results.amax(1, keepdim=True)
        relative = (results - lowest) / (highest_ - lowest).clamp_min(1e-6)
        span = best[:, :1] - best[:, -1:]
        additions = options.weight * span * (relative - relative.mean(1, keepdim=True))  # as `search/reading.py` does
        scores[f"{name}, static"] = mean_reciprocal_rank(before, cases)
        scores[f"{name}, read"] = mean_reciprocal_rank(before.scatter_add(1, candidates, additions), cases)
    return scores


def run(
    functions: Sequence[Function],
    options: PairOptions,
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
    """Train from a BERT model or a student, and write the model; returns the scores on held-out repositories."""
    device = device_of(device)
    torch.manual_seed(options.seed)
    learnt, (_, held_out) = learnable(functions), split(functions)
    tokenizer = StaticEncoder.shipped().tokenizer
    opposed = pairs(learnt, options.seed, limited=False)
    questions = QuestionSet(
        answered=match_answers(answered, learnt),
        generated=match_answers(generated, learnt),
        ordered=[(pair.question, pair.answer) for pair in opposed],
        never=never,
    )
    data = prepare(learnt, tokenizer, count_words(learnt), questions, seed=options.seed)
    say(f"{len(data.texts):,} questions of {len(learnt):,} functions; {len(held_out):,} held out; on {device}")
    student = begin(model, tokenizer, options.layers)
    opposites = {pair.answer: pair.opposite for pair in opposed}
    train(student, data, options, device, say, opposites=opposites, teacher=teacher)
    scores = score(student, held_out, match_answers(answered, held_out), options, device)
    note = f"started from {model}" + (f", taught by {teacher}" if teacher else "")
    size = export(student, folder, version, options, note)
    say(f"{folder}: {size / 1e6:.1f} MB  " + figures(scores))
    return scores


def export(student: PairStudent, folder: Path, version: str, options: PairOptions, note: str) -> int:
    """Write `rerank.onnx` in int8 and `rerank.json`; returns their size in bytes."""
    student = student.cpu().float().eval()
    write_int8(student, student.shape, folder / MODEL, INPUTS, OUTPUT)
    config = {
        "version": version,
        "static": StaticEncoder.shipped().name,
        "depth": options.depth,
        "weight": options.weight,
        "limits": LIMITS,
        "note": note,
        "options": asdict(options),
    }
    (folder / CONFIG).write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
    return sum((folder / name).stat().st_size for name in (MODEL, CONFIG))
