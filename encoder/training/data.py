"""Everything a training run reads, prepared once: who may be learnt from, questions, answers, bags of tokens."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from corpus.function import Function
from encoder.static import FIELDS
from encoder.text import fields, first_sentence
from encoder.tokens import Tokenizer, identifier_parts
from encoder.training.queries import EMPTY_WORDS, Example, examples
from encoder.training.questions import question

LIMITS = {"name": 32, "docstring": 64, "code": 256, "place": 24, "query": 64}  # tokens of each field
NO_TARGET = -1
HELD_OUT = ("valid", "test")  # partitions (whole repositories) that no labelled example comes from


@dataclass(frozen=True, slots=True)
class TrainingData:
    """Questions first the labelled, then the made-up (target -1); `styles` and `targets` run beside `texts`."""

    functions: list[Function]
    texts: list[str]
    styles: list[str]
    targets: NDArray[np.int64]
    function_bags: tuple[csr_matrix, ...]
    query_bags: csr_matrix

    @property
    def full_passages(self) -> list[str]:
        return [passage(function, docstring=True) for function in self.functions]

    @property
    def bare_passages(self) -> list[str]:
        return [passage(function, docstring=False) for function in self.functions]


def passage(function: Function, docstring: bool) -> str:
    """What a teacher reads: the name's words, the first sentence, the code."""
    sentence = first_sentence(function.docstring) if docstring else ""
    words = " ".join(identifier_parts(function.func_name))
    return "\n".join(part for part in (words, sentence, function.code[:1500]) if part)


def essence(text: str) -> frozenset[str]:
    """A question without its dress: two with the same essence are the same question."""
    return frozenset(identifier_parts(text)) - EMPTY_WORDS - {"python", "python3", "how", "do", "i", "function", "code"}


def prepare(
    functions: Sequence[Function],
    tokenizer: Tokenizer,
    rarity: Counter[str],
    questions: int,
    never: Collection[str],
    seed: int,
) -> TrainingData:
    """Examples from the given functions plus made-up questions, without any that asks the same as one of `never`."""
    rng = random.Random(seed)
    kept = list(functions)
    forbidden = {essence(text) for text in never}
    found = [example for example in examples(kept, rarity, rng) if essence(example.text) not in forbidden]
    made_up = dict.fromkeys(question(rng) for _ in range(questions))
    found += [Example(text, NO_TARGET, "question") for text in made_up if essence(text) not in forbidden]
    texts = [example.text for example in found]
    columns = list(zip(*(fields(function) for function in kept), strict=True))
    return TrainingData(
        functions=kept,
        texts=texts,
        styles=[example.style for example in found],
        targets=np.array([example.target for example in found], dtype=np.int64),
        function_bags=tuple(
            tokenizer.bags(column, LIMITS[field]) for field, column in zip(FIELDS, columns, strict=True)
        ),
        query_bags=tokenizer.bags(texts, LIMITS["query"]),
    )
