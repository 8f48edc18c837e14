"""One training run from functions to a model folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import torch

from corpus.errors import InputError
from corpus.function import Function
from encoder.tokens import Tokenizer
from encoder.training.data import HELD_OUT, LIMITS, prepare
from encoder.training.development import Development
from encoder.training.export import write
from encoder.training.model import Student
from encoder.training.options import Run
from encoder.training.soup import average
from encoder.training.start import start, token_vectors
from encoder.training.teachers import teach
from encoder.training.train import Trainer
from encoder.training.vocabulary import choose, count_words

EVERY = 10  # without partitions, one repository in so many is held out
FEWEST = 10  # functions on either side, below which nothing can be learnt or judged


def train(functions: Sequence[Function], run: Run, folder: Path, say: Callable[[str], None]) -> dict[str, float]:
    """Train and write the encoder; the scores on held-out repositories."""
    device = run.device or ("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(run.options.seed)
    learnt, held_out = split(functions)
    if min(len(learnt), len(held_out)) < FEWEST:
        raise InputError(f"{len(learnt)} functions and {len(held_out)} held out are too few", "add sources")
    counts = count_words(learnt)
    base, base_vectors = token_vectors(run.teachers[0])
    vocabulary = choose(counts, base, run.vocabulary)
    tokenizer = Tokenizer(vocabulary, run.buckets)
    data = prepare(learnt, tokenizer, counts, run.questions, run.never, run.options.seed)
    say(f"{len(data.texts):,} questions of {len(learnt):,} functions; {len(held_out):,} held out; on {device}")
    full, bare = data.full_passages, data.bare_passages
    taught = [teach(name, data.texts, full, bare, device) for name in run.teachers]
    table, weights = start(vocabulary, base, base_vectors, counts, len(learnt), run.buckets, run.dimension)
    development = Development(held_out, tokenizer, {}, device)
    states = []
    for number in range(run.runs):
        student = Student(table.copy(), weights, hidden=run.hidden, dropped=run.options.dropped)
        options = replace(run.options, seed=run.options.seed + number)
        Trainer(data, taught, len(vocabulary), options, device).fit(student, development, say)
        states.append(student.state_dict())
    student.load_state_dict(average(states))
    scores = development.score(student)
    say(f"average of {run.runs} runs: {scores}")
    config = {
        "version": run.version,
        "buckets": run.buckets,
        "limits": LIMITS,
        "teachers": list(run.teachers),
        "options": asdict(run.options),
        "scores": scores,
    }
    size = write(folder, vocabulary, student.table.detach().float().cpu().numpy(), student.small_parts(), config)
    say(f"{folder}: {size / 1e6:.1f} MB")
    return scores


def split(functions: Sequence[Function]) -> tuple[list[Function], list[Function]]:
    """By whole repositories: the partitions where there are some, otherwise one repository in ten."""
    if any(function.partition in HELD_OUT for function in functions):
        held = {function.repo for function in functions if function.partition in HELD_OUT}
    else:
        held = set(sorted({function.repo for function in functions})[::EVERY])
    return (
        [function for function in functions if function.repo not in held],
        [function for function in functions if function.repo in held],
    )
