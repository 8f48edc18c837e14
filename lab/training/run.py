"""One training run from functions to a model folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from lab.training.data import (
    HELD_OUT,
    LIMITS,
    UNKNOWN,
    QuestionSet,
    choose,
    count_words,
    prepare,
    questions,
)
from lab.training.examples import match_answers
from lab.training.models import device_of
from lab.training.options import Run
from lab.training.student import Student, parts_of, write
from lab.training.teacher import lexical, teach
from lab.training.trainer import Case, Development, Trainer, figures, hard
from treeline.corpus.errors import InputError
from treeline.corpus.function import Function
from treeline.encoder.protocol import DEFAULT_ENCODER
from treeline.encoder.static import INNER_MARK, MODEL_FOLDER, QUERY, StaticEncoder, Tokenizer, is_static

RARITY = 1e-3  # the `a` of smooth inverse frequency (Arora et al. 2017, "A simple but tough-to-beat baseline")
PAIR_WEIGHT = 0.05  # pairs start with a small weight: they are as many as the tokens, and untrained


def start(
    tokenizer: Tokenizer,
    base: Sequence[str],
    base_vectors: NDArray[np.float32],
    counts: Counter[str],
    functions: int,
    dimension: int,
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The initial table (tokens, pairs, rows of unknown words) and weights (fields and query × rows)."""
    vocabulary = tokenizer.vocabulary
    places = {token: number for number, token in enumerate(base)}
    pieces = Tokenizer(base)
    rows = [
        base_vectors[places[token]] if token in places else base_vectors[pieces.ids(token, 16) or [0]].mean(axis=0)
        for token in vocabulary
    ]
    centres = np.stack(rows) - np.mean(rows, axis=0)
    _, _, directions = np.linalg.svd(centres, full_matrices=False)
    words = centres @ directions[:dimension].T
    words /= np.linalg.norm(words, axis=1).mean()
    rng = np.random.default_rng(0)
    pairs = rng.normal(scale=0.1 / np.sqrt(dimension), size=(len(tokenizer.pairs), dimension))
    unknown = rng.normal(scale=1 / np.sqrt(dimension), size=(tokenizer.unknown, dimension))
    share = np.array([counts[token.removeprefix(INNER_MARK)] / functions for token in vocabulary])
    rarity = np.concatenate(
        [RARITY / (RARITY + share), np.full(len(tokenizer.pairs), PAIR_WEIGHT), np.ones(tokenizer.unknown)]
    )
    table, weights = np.concatenate([words, pairs, unknown]), np.tile(rarity, (QUERY + 1, 1))
    return table.astype(np.float32), weights.astype(np.float32)


def token_vectors(teacher: str) -> tuple[list[str], NDArray[np.float32]]:
    """A teacher's own vocabulary and the vectors of its first layer."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(teacher, device="cpu")
    vectors = model[0].auto_model.get_input_embeddings().weight.detach().float().numpy()
    places = model.tokenizer.get_vocab()
    return sorted(places, key=places.__getitem__), vectors


EVERY = 10  # without partitions, one repository in ten is held out
FEWEST = 10  # functions needed on either side


def train(functions: Sequence[Function], run: Run, folder: Path, say: Callable[[str], None]) -> dict[str, float]:
    """Train and write the encoder; returns its scores on held-out repositories."""
    device = device_of(run.device)
    torch.manual_seed(run.options.seed)
    learnt, held_out = split(functions)
    if min(len(learnt), len(held_out)) < FEWEST:
        raise InputError(f"{len(learnt)} functions and {len(held_out)} held out are too few", "add sources")
    counts = count_words(learnt)
    origin_ = starting_point(run, counts, len(learnt))
    queries = QuestionSet(
        unanswered=questions(run.questions, run.wishes, run.options.seed),
        answered=match_answers(run.answered, learnt),
        generated=match_answers(run.generated, learnt),
        never=run.never,
    )
    data = prepare(learnt, origin_.tokenizer, counts, queries, pairs=origin_.pairs, seed=run.options.seed)
    say(f"{len(data.texts):,} questions of {len(learnt):,} functions; {len(held_out):,} held out; on {device}")
    taught = [teach(name, data, device) for name in run.teachers]
    student = origin_.student(data.tokenizer)
    before = {name: value.clone() for name, value in student.state_dict().items()}
    sharing = lexical(data, device)
    candidates = hard(data, taught, sharing, run.options.depth, device)
    kept_back = [Case(question, (number,)) for question, number in match_answers(run.answered, held_out)]
    development = Development(held_out, data.tokenizer, {"answered": kept_back} if kept_back else {}, device)
    ends = []
    for seed in range(run.options.seed, run.options.seed + run.runs):
        torch.manual_seed(seed)
        student.load_state_dict(before)
        options = replace(run.options, seed=seed)
        scores = Trainer(data, taught, sharing, candidates, options, device).fit(student, development, say)
        ends.append({name: value.clone() for name, value in student.state_dict().items()})
    if run.runs > 1 or run.options.way < 1:
        student.interpolate(before, ends, run.options.way)
        scores = development.score(student)
        say(f"{run.options.way:.0%} of the way to the mean of {run.runs}: " + figures(scores))
    config = {
        "version": run.version,
        "limits": LIMITS,
        "teachers": list(run.teachers),
        "options": asdict(run.options),
        "runs": run.runs,
        "scores": scores,
    }
    size = write(folder, data.tokenizer, student.table.detach().float().cpu().numpy(), student.small_parts(), config)
    say(f"{folder}: {size / 1e6:.1f} MB")
    return scores


class StartingPoint(NamedTuple):
    """The beginning of a run: the tokenizer, how many pairs to choose, and the student."""

    tokenizer: Tokenizer
    pairs: int
    student: Callable[[Tokenizer], Student]


def starting_point(run: Run, counts: Counter[str], functions: int) -> StartingPoint:
    """Start from an encoder, or from a transformer's token vectors for the words of these functions."""
    origin = run.start or run.teachers[0]
    folder = static_folder(origin)
    if folder:
        known = StaticEncoder(folder)
        return StartingPoint(known.tokenizer, 0, lambda _: Student.of(parts_of(known), run.options.dropped, run.fields))
    base, vectors = token_vectors(origin)

    def new(tokenizer: Tokenizer) -> Student:
        table, weights = start(tokenizer, base, vectors, counts, functions, run.dimension - 1)
        return Student(table, weights, hidden=run.hidden, dropped=run.options.dropped)

    return StartingPoint(Tokenizer(choose(counts, base, run.vocabulary), unknown=UNKNOWN), run.pairs, new)


def static_folder(origin: str) -> Path | None:
    """The folder of the static encoder of that name, if it is one; `static` is the shipped one."""
    folder = MODEL_FOLDER if origin == DEFAULT_ENCODER else Path(origin)
    return folder if is_static(folder) else None


def learnable(functions: Sequence[Function]) -> list[Function]:
    """The functions of the repositories that are not held out; refused where they are too few to learn from."""
    learnt, held_out = split(functions)
    if len(learnt) < FEWEST:
        raise InputError(
            f"{len(learnt)} functions are too few to learn from: {len(held_out)} are of repositories that are held out",
            "add sources; of a single repository nothing is left",
        )
    return learnt


def split(functions: Sequence[Function]) -> tuple[list[Function], list[Function]]:
    """Split by repository: by partition if there are any, else one repository in ten is held out."""
    if any(function.partition in HELD_OUT for function in functions):
        holdout = {function.repo for function in functions if function.partition in HELD_OUT}
    else:
        holdout = set(sorted({function.repo for function in functions})[::EVERY])
    return (
        [function for function in functions if function.repo not in holdout],
        [function for function in functions if function.repo in holdout],
    )
