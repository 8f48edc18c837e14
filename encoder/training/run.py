"""One training run from functions to a model folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import NamedTuple

import torch

from treeline.corpus.errors import InputError
from treeline.corpus.function import Function
from treeline.encoder.protocol import DEFAULT_ENCODER
from treeline.encoder.static import SHIPPED, StaticEncoder, is_static
from treeline.encoder.tokens import Tokenizer
from treeline.encoder.training.answered import numbered
from treeline.encoder.training.candidates import hard
from treeline.encoder.training.data import HELD_OUT, LIMITS, UNKNOWN, Asked, prepare, questions
from treeline.encoder.training.development import Case, Development
from treeline.encoder.training.export import write
from treeline.encoder.training.lexical import lexical
from treeline.encoder.training.model import Student
from treeline.encoder.training.models import device_of
from treeline.encoder.training.options import Run
from treeline.encoder.training.start import start, token_vectors
from treeline.encoder.training.teachers import teach
from treeline.encoder.training.train import Trainer, figures
from treeline.encoder.training.vocabulary import choose, count_words

EVERY = 10  # without partitions, one repository in so many is held out
FEWEST = 10  # functions on either side, below which nothing can be learnt or judged


def train(functions: Sequence[Function], run: Run, folder: Path, say: Callable[[str], None]) -> dict[str, float]:
    """Train and write the encoder; the scores on held-out repositories."""
    device = device_of(run.device)
    torch.manual_seed(run.options.seed)
    learnt, held_out = split(functions)
    if min(len(learnt), len(held_out)) < FEWEST:
        raise InputError(f"{len(learnt)} functions and {len(held_out)} held out are too few", "add sources")
    counts = count_words(learnt)
    begun = beginning(run, counts, len(learnt))
    asked = Asked(
        unanswered=questions(run.questions, run.wishes, run.options.seed),
        answered=numbered(run.answered, learnt),
        generated=numbered(run.generated, learnt),
        never=run.never,
    )
    data = prepare(learnt, begun.tokenizer, counts, asked, pairs=begun.pairs, seed=run.options.seed)
    say(f"{len(data.texts):,} questions of {len(learnt):,} functions; {len(held_out):,} held out; on {device}")
    taught = [teach(name, data, device) for name in run.teachers]
    student = begun.student(data.tokenizer)
    before = {name: value.clone() for name, value in student.state_dict().items()}
    sharing = lexical(data, device)
    candidates = hard(data, taught, sharing, run.options.depth, device)
    kept_back = [Case(question, (number,)) for question, number in numbered(run.answered, held_out)]
    development = Development(held_out, data.tokenizer, {"answered": kept_back} if kept_back else {}, device)
    ends = []
    for seed in range(run.options.seed, run.options.seed + run.runs):
        torch.manual_seed(seed)
        student.load_state_dict(before)
        options = replace(run.options, seed=seed)
        scores = Trainer(data, taught, sharing, candidates, options, device).fit(student, development, say)
        ends.append({name: value.clone() for name, value in student.state_dict().items()})
    if run.runs > 1 or run.options.way < 1:
        student.settle(before, ends, run.options.way)
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


class Beginning(NamedTuple):
    """What a run starts from: the tokens, how many pairs are to be chosen for them, and the student that has both."""

    tokenizer: Tokenizer
    pairs: int
    student: Callable[[Tokenizer], Student]


def beginning(run: Run, counts: Counter[str], functions: int) -> Beginning:
    """An encoder to go on from, as it is; or the token vectors of a transformer, for the words of these functions."""
    origin = run.start or run.teachers[0]
    folder = goes_on_from(origin)
    if folder:
        known = StaticEncoder(folder)
        return Beginning(known.tokenizer, 0, lambda _: Student.of(known.parts(), run.options.dropped, run.fields))
    base, vectors = token_vectors(origin)

    def new(tokenizer: Tokenizer) -> Student:
        table, weights = start(tokenizer, base, vectors, counts, functions, run.dimension - 1)
        return Student(table, weights, hidden=run.hidden, dropped=run.options.dropped)

    return Beginning(Tokenizer(choose(counts, base, run.vocabulary), unknown=UNKNOWN), run.pairs, new)


def goes_on_from(origin: str) -> Path | None:
    """The folder of the static encoder that this names, if it is one: `static` is the shipped one."""
    folder = SHIPPED if origin == DEFAULT_ENCODER else Path(origin)
    return folder if is_static(folder) else None


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
