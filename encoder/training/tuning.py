"""Teaching a teacher: a sentence transformer learns which function answers a question, before it teaches the student.

Docstring sentences alone unlearn what people ask (docs/encoder.md), so there are never more of them in an epoch than
there are questions whose answer is known.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from torch import Tensor
from torch.nn.functional import cross_entropy, normalize

from treeline.corpus.errors import InputError
from treeline.encoder import standing
from treeline.encoder.prompts import prompts
from treeline.encoder.static import StaticEncoder
from treeline.encoder.training.data import TrainingData
from treeline.encoder.training.models import embedding_model
from treeline.encoder.training.queries import ANSWERED, GENERATED, SENTENCE
from treeline.encoder.training.schedule import warm_then_cosine
from treeline.encoder.training.teachers import PASSAGE_TOKENS

# Share of functions that show their docstring, which would give a sentence away.
WITH_DOCSTRING = {ANSWERED: 0.85, GENERATED: 0.85, SENTENCE: 0.25}
BESIDE = {GENERATED: 0.6, SENTENCE: 0.5}  # questions of an epoch for each one whose answer is known
BACKWARDS = 0.3  # how much it counts that a function finds its question
THE_SAME = 0.9  # cosine of two questions: what answers one answers the other
LENIENCY = 0.1  # of cosine: a function that the guide finds so much better than the right answer may be right as well


@dataclass(frozen=True, slots=True)
class Tuning:
    """How a teacher learns; as all-mpnet-base-v2 did for the shipped encoder."""

    epochs: int = 4
    batch: int = 768
    alike: int = 48  # questions that are like each other lie together, so many at least: each is hard for the others
    rate: float = 2.5e-5
    scale: float = 25.0  # 1 / temperature of the softmax
    seed: int = 0


class Guide(NamedTuple):
    """What the shipped encoder says of questions and functions: which are alike, and what might be right as well."""

    questions: NDArray[np.float32]
    functions: NDArray[np.float32]


def tune(name: str, data: TrainingData, tuning: Tuning, device: str, say: Callable[[str], None]) -> SentenceTransformer:
    """The sentence transformer of that name, taught these questions."""
    if ANSWERED not in data.styles:
        raise InputError("no question has its answer among the functions", "give --answered a file with their URLs")
    model = embedding_model(name, device)
    model.max_seq_length = PASSAGE_TOKENS
    before_query, before_passage = prompts(name)
    full, bare = data.passages
    shipped = StaticEncoder.shipped()
    guide = Guide(
        standing.taken_off(shipped.encode_queries(data.texts)),
        standing.taken_off(shipped.encode_functions(data.functions)),
    )
    rng = random.Random(tuning.seed)
    batches = [batch for _ in range(tuning.epochs) for batch in _epoch(np.array(data.styles), guide, tuning, rng)]
    optimiser = torch.optim.AdamW(model.parameters(), lr=tuning.rate, weight_decay=0.01)
    schedule = warm_then_cosine(optimiser, len(batches))
    model.train()
    for step, numbers in enumerate(batches, start=1):
        targets = data.targets[numbers]
        shown = WITH_DOCSTRING[data.styles[numbers[0]]]
        questions = [before_query + data.texts[number] for number in numbers]
        passages = [before_passage + (full if rng.random() < shown else bare)[target] for target in targets]
        with torch.autocast(device, torch.bfloat16, enabled=device != "cpu"):
            asked, found = (_vectors(model, texts) for texts in (questions, passages))
        right_too = torch.from_numpy(_right_too(guide, numbers, targets)).to(device)
        loss = _loss(asked @ found.T * tuning.scale, right_too)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        if step % 50 == 0 or step == len(batches):
            say(f"step {step} of {len(batches)}: loss {float(loss):.3f}")
    model.eval()
    return model


def _epoch(styles: NDArray[np.str_], guide: Guide, tuning: Tuning, rng: random.Random) -> Iterator[NDArray[np.int64]]:
    """Batches of one style each, in any order: all questions with answers, and fewer of others, drawn anew."""
    answered = np.flatnonzero(styles == ANSWERED)
    chosen = [answered]
    for style, share in BESIDE.items():
        others = np.flatnonzero(styles == style).tolist()
        chosen.append(np.array(rng.sample(others, min(len(others), ceil(share * len(answered)))), dtype=np.int64))
    batches = []
    for numbers in chosen:
        groups = grouped(numbers, guide.questions, tuning.alike, rng)
        rng.shuffle(groups)
        order = np.concatenate(groups)
        batches += [order[start : start + tuning.batch] for start in range(0, len(order), tuning.batch)]
    rng.shuffle(batches)
    yield from (batch for batch in batches if len(batch) > 1)


def grouped(
    numbers: NDArray[np.int64], vectors: NDArray[np.float32], size: int, rng: random.Random
) -> list[NDArray[np.int64]]:
    """Halved again and again between two of them, until groups are smaller than twice `size`: like lies with like."""
    if len(numbers) < 2 * size:
        return [numbers]
    one, other = rng.sample(range(len(numbers)), 2)
    nearer = np.argsort(vectors[numbers] @ (vectors[numbers[one]] - vectors[numbers[other]]), kind="stable")
    middle = len(numbers) // 2
    halves = numbers[nearer[:middle]], numbers[nearer[middle:]]
    return [group for half in halves for group in grouped(half, vectors, size, rng)]


def _right_too(guide: Guide, numbers: NDArray[np.int64], targets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which functions of the batch are not to be held wrong for which question, beside its own."""
    asked = guide.questions[numbers]
    found = asked @ guide.functions[targets].T
    same = (asked @ asked.T > THE_SAME) | (targets[:, None] == targets) | (found > found.diagonal()[:, None] + LENIENCY)
    np.fill_diagonal(same, val=False)
    return np.asarray(same)


def _loss(logits: Tensor, right_too: Tensor) -> Tensor:
    own = torch.arange(len(logits), device=logits.device)
    forwards = cross_entropy(logits.masked_fill(right_too, -torch.inf), own)
    return forwards + BACKWARDS * cross_entropy(logits.T.masked_fill(right_too.T, -torch.inf), own)


def _vectors(model: SentenceTransformer, texts: Sequence[str]) -> Tensor:
    read = model.preprocess(list(texts))
    features = {key: value.to(model.device) if isinstance(value, Tensor) else value for key, value in read.items()}
    return normalize(model(features)["sentence_embedding"].float())
