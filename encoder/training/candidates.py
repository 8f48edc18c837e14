"""Hard candidates for each question: what the teachers rank highest, what shares its words, what lives beside it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from torch import Tensor

from corpus.function import Function
from encoder.training.data import TrainingData
from encoder.training.teachers import Taught

CHUNK = 1024  # questions whose similarities to every function are held at once
SKETCH = 1024  # dimensions of the signed hash that stands for the exact lexical product
SHARING = 16  # functions that share words with a question, from which some are drawn
SATURATION = 1.2  # BM25's k1: a word said often counts little more than a word said twice
ROWS = 200_000  # rows of the sketch made at once: millions of them would fill the memory


class Hard(NamedTuple):
    """For each question the functions that the teachers rank highest, and those that share its words."""

    taught: Tensor
    lexical: Tensor


def asked_of(styles: Sequence[str], device: str) -> dict[bool, Tensor]:
    """The numbers of the questions asked of functions without their docstring (its sentences), and of whole ones."""
    sentences = np.array(styles) == "sentence"
    return {bare: torch.from_numpy(np.flatnonzero(sentences == bare)).to(device) for bare in (True, False)}


def hard(data: TrainingData, teachers: Sequence[Taught], words: int, depth: int, device: str) -> Hard:
    """Found once, for all runs."""
    sharing = lexical(data.query_bags, sum(data.function_bags[1:], data.function_bags[0]), words, device)
    taught = torch.empty(len(data.styles), depth, dtype=torch.int32, device=device)
    shared = torch.empty(len(data.styles), SHARING, dtype=torch.int32, device=device)
    for bare, numbers in asked_of(data.styles, device).items():
        taught[numbers] = nearest(teachers, numbers, bare, depth)
        shared[numbers] = nearest([sharing], numbers, bare, SHARING)
    return Hard(taught, shared)


def nearest(teachers: Sequence[Taught], numbers: Tensor, bare: bool, depth: int) -> Tensor:
    """For each question the numbers of the functions that the teachers together rank highest."""
    rows = []
    for chunk in torch.split(numbers, CHUNK):
        total = sum(
            (teacher.queries[chunk] @ (teacher.bare if bare else teacher.full).T) / teacher.spread
            for teacher in teachers
        )
        assert isinstance(total, Tensor)
        rows.append(total.topk(depth, dim=1).indices.int())
    return torch.cat(rows)


def lexical(queries: csr_matrix, functions: csr_matrix, words: int, device: str) -> Taught:
    """A teacher that knows words only: BM25-like weights, in a signed sketch so that it fits the device."""
    seen = np.asarray((functions[:, :words] > 0).sum(axis=0)).ravel()
    idf = np.log1p((functions.shape[0] - seen + 0.5) / (seen + 0.5))
    rng = np.random.default_rng(0)
    column, sign = rng.integers(SKETCH, size=words), rng.choice([-1.0, 1.0], size=words)
    sketch = csr_matrix((sign, (np.arange(words), column)), shape=(words, SKETCH))

    def vectors(bags: csr_matrix, weight: NDArray[np.float64]) -> Tensor:
        part = bags[:, :words].tocsr().astype(np.float64)
        counts = np.expm1(part.data)
        part.data = counts * (SATURATION + 1) / (counts + SATURATION) * weight[part.indices]
        made = part @ sketch
        rows = []
        for first in range(0, made.shape[0], ROWS):
            dense = torch.from_numpy(made[first : first + ROWS].toarray().astype(np.float32)).to(device)
            rows.append(torch.nn.functional.normalize(dense).to(torch.half if device != "cpu" else torch.float))
        return torch.cat(rows)

    asked, answered = vectors(queries, idf), vectors(functions, idf)
    return Taught(asked, answered, answered, 0.05)


def siblings(functions: Sequence[Function], rng: np.random.Generator) -> NDArray[np.int64]:
    """For each function another of the same file, or itself where it is alone."""
    files: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, function in enumerate(functions):
        files[function.repo, function.path].append(number)
    chosen = np.arange(len(functions))
    for members in files.values():
        shift = int(rng.integers(1, len(members))) if len(members) > 1 else 0
        chosen[members] = np.roll(members, shift)
    return chosen
