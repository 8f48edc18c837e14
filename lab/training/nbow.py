"""A neural bag of words (Husain et al. 2019, section 4), the baseline of CodeSearchNet: learns from docstrings alone.

A question and a function are each the weighted mean of learnt token vectors; a docstring's first sentence asks for its
own function among those of the batch. There is no teacher, no hidden layer and no pair of tokens, the function is its
code alone, and both sides share one table of vectors (the original has one each). What is written is a folder that
`StaticEncoder` reads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from lab.training.data import LIMITS, bags, choose, count_words
from lab.training.examples import plain_sentence
from lab.training.run import split
from lab.training.student import Bags, Student, write
from lab.training.trainer import Development, figures
from treeline.corpus.errors import InputError
from treeline.corpus.function import Function
from treeline.encoder.static import FIELDS, QUERY, Tokenizer
from treeline.encoder.text import fields

CODE = FIELDS.index("code")


@dataclass(frozen=True, slots=True)
class NbowOptions:
    """Vocabulary, dimension and batch as published; rate, scale and epochs by the held-out functions."""

    vocabulary: int = 10_000
    dimension: int = 128
    batch: int = 1_000
    epochs: int = 6
    rate: float = 1e-2
    scale: float = 14.0  # 1 / temperature: cosines are too close together for a softmax
    seed: int = 0


def train_nbow(
    functions: Sequence[Function],
    folder: Path,
    options: NbowOptions | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> dict[str, float]:
    """Learn from the functions of the partition `train` (nine repositories of ten where there are no partitions) and
    write the model; returns its MRR on the others at its best epoch."""
    options = options or NbowOptions()
    learnt, held_out = split(functions)
    queries = [(text, function) for function in learnt if (text := plain_sentence(function))]
    if len(queries) < 2:
        raise InputError("there are no docstrings to learn from", "give functions that have some")
    tokenizer = Tokenizer(choose(count_words(function for _, function in queries), (), options.vocabulary))
    say(
        f"{len(queries):,} docstrings of {len(learnt):,} functions; {len(held_out):,} held out; "
        f"{tokenizer.size:,} tokens"
    )
    questions = Bags(bags(tokenizer, (text for text, _ in queries), LIMITS["query"]), "cpu")
    codes = Bags(bags(tokenizer, (fields(function).code for _, function in queries), LIMITS["code"]), "cpu")
    development = Development(held_out or [function for _, function in queries], tokenizer, {}, "cpu")
    student = _student(tokenizer.size, options)
    scores = _fit(student, questions, codes, development, options, say)
    config = {"version": "nbow", "limits": LIMITS, "options": asdict(options), "scores": scores}
    write(folder, tokenizer, student.table.detach().numpy(), student.small_parts(), config)
    return scores


def _student(tokens: int, options: NbowOptions) -> Student:
    torch.manual_seed(options.seed)
    table = np.random.default_rng(options.seed).normal(size=(tokens, options.dimension)).astype(np.float32)
    student = Student(table, np.ones((QUERY + 1, tokens), dtype=np.float32), hidden=0)
    student.gates.requires_grad_(False)
    student.gates.zero_()[CODE] = 1.0
    return student


def _fit(
    student: Student,
    questions: Bags,
    codes: Bags,
    development: Development,
    options: NbowOptions,
    say: Callable[[str], None],
) -> dict[str, float]:
    """Leaves the student as it was at its best epoch."""
    optimiser = torch.optim.Adam([student.table, student.log_weights], lr=options.rate)
    generator = torch.Generator().manual_seed(options.seed)
    best: dict[str, float] = {}
    selection: dict[str, torch.Tensor] = {}
    for epoch in range(options.epochs):
        student.train()
        losses = []
        for batch in torch.split(torch.randperm(len(questions), generator=generator), options.batch):
            results = torch.nn.functional.normalize(student.pool(codes, batch, CODE))
            logits = student.queries(questions, batch) @ results.T * options.scale
            loss = cross_entropy(logits, torch.arange(len(batch)))
            optimiser.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            losses.append(loss.detach())
        scores = development.score(student)
        say(f"epoch {epoch + 1}: loss {float(torch.stack(losses).mean()):.3f}  MRR {figures(scores)}")
        if not best or scores["sentences"] > best["sentences"]:
            best = scores
            selection = {name: value.detach().clone() for name, value in student.state_dict().items()}
    student.load_state_dict(selection)
    return best
