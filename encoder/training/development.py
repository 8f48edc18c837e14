"""Held-out questions that say when to stop: mean reciprocal rank over functions of repositories never learnt from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from treeline.corpus.function import Function
from treeline.encoder.static import FIELDS
from treeline.encoder.text import fields
from treeline.encoder.tokens import Tokenizer
from treeline.encoder.training.bags import Bags
from treeline.encoder.training.data import LIMITS
from treeline.encoder.training.model import Student
from treeline.encoder.training.queries import plain_sentence

DOCSTRING = FIELDS.index("docstring")
MOST_SENTENCES = 1_000
CHUNK = 4_096


@dataclass(frozen=True, slots=True)
class Case:
    """A question and the numbers of the functions that answer it."""

    text: str
    answers: tuple[int, ...]


class Development:
    """Sets of cases over one pool of held-out functions; `sentences` hides the docstrings from the student."""

    def __init__(
        self, functions: Sequence[Function], tokenizer: Tokenizer, more: Mapping[str, Sequence[Case]], device: str
    ) -> None:
        columns = zip(*(fields(function) for function in functions), strict=True)
        self.bags = tuple(
            Bags(tokenizer.bags(column, LIMITS[field]), device) for field, column in zip(FIELDS, columns, strict=True)
        )
        sentences = [
            Case(text, (number,)) for number, function in enumerate(functions) if (text := plain_sentence(function))
        ]
        step = max(1, len(sentences) // MOST_SENTENCES)
        self.sets: dict[str, Sequence[Case]] = {"sentences": sentences[::step][:MOST_SENTENCES], **more}
        self.queries = {
            name: Bags(tokenizer.bags([case.text for case in cases], LIMITS["query"]), device)
            for name, cases in self.sets.items()
        }
        self.size, self.device = len(functions), device

    @torch.no_grad()
    def score(self, student: Student) -> dict[str, float]:
        """MRR of each set."""
        student.eval()
        whole, bare = self._functions(student, hide=False), self._functions(student, hide=True)
        scores = {}
        for name, cases in self.sets.items():
            asked = student.queries(self.queries[name], torch.arange(len(cases), device=self.device))
            scores[name] = mean_reciprocal_rank(asked @ (bare if name == "sentences" else whole).T, cases)
        return scores

    def _functions(self, student: Student, hide: bool) -> Tensor:
        numbers = torch.arange(self.size, device=self.device)
        rows = []
        for chunk in torch.split(numbers, CHUNK):
            kept = torch.ones(len(chunk), len(FIELDS), device=self.device)
            if hide:
                kept[:, DOCSTRING] = 0.0
            rows.append(student.functions(self.bags, chunk, kept))
        return torch.cat(rows)


def mean_reciprocal_rank(similarities: Tensor, cases: Sequence[Case]) -> float:
    """Over the best ranked answer of each case."""
    total = 0.0
    for row, case in zip(similarities, cases, strict=True):
        best = row[list(case.answers)].max()
        total += 1.0 / (1.0 + float((row > best).sum()))
    return total / max(len(cases), 1)
