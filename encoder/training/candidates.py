"""Hard candidates for each question: what the teachers rank highest, what shares its words, what lives beside it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from treeline.corpus.function import Function
from treeline.encoder.training.data import TrainingData
from treeline.encoder.training.queries import SENTENCE
from treeline.encoder.training.teachers import Taught

CHUNK = 1024  # questions whose similarities to every function are held at once
SHARING = 16  # functions that share words with a question, from which some are drawn
PARTS = 4  # a question looks through one of so many parts of the functions, which is quicker and draws as widely


class Hard(NamedTuple):
    """For each question the functions that the teachers rank highest, and those that share its words."""

    taught: Tensor
    lexical: Tensor


def asked_of(styles: Sequence[str], device: str) -> dict[bool, Tensor]:
    """The numbers of the questions asked of functions without their docstring (its sentences), and of whole ones."""
    sentences = np.array(styles) == SENTENCE
    return {bare: torch.from_numpy(np.flatnonzero(sentences == bare)).to(device) for bare in (True, False)}


def hard(data: TrainingData, teachers: Sequence[Taught], sharing: Taught, depth: int, device: str) -> Hard:
    """Found once, for all runs."""
    return Hard(_highest(data, teachers, depth, device), _highest(data, [sharing], SHARING, device))


def _highest(data: TrainingData, teachers: Sequence[Taught], depth: int, device: str) -> Tensor:
    """Of the `depth` functions that the teachers rank highest for a question, those of its part of all functions."""
    order = torch.randperm(len(data.functions), generator=torch.Generator().manual_seed(0)).to(device)
    parts = PARTS if depth >= PARTS and len(data.functions) >= PARTS * depth else 1
    found = torch.empty(len(data.styles), depth // parts, dtype=torch.int32, device=device)
    for bare, numbers in asked_of(data.styles, device).items():
        for part in range(parts):
            found[numbers[part::parts]] = nearest(
                teachers, numbers[part::parts], order[part::parts], bare, depth // parts
            )
    return found


def nearest(teachers: Sequence[Taught], numbers: Tensor, among: Tensor, bare: bool, depth: int) -> Tensor:
    """For each question the numbers of the functions `among` these that the teachers together rank highest."""
    functions = torch.cat([(teacher.bare if bare else teacher.full)[among] for teacher in teachers], dim=1).T
    rows = [torch.empty(0, depth, dtype=torch.int32, device=numbers.device)]
    for chunk in torch.split(numbers, CHUNK):
        asked = torch.cat([teacher.queries[chunk] / teacher.spread for teacher in teachers], dim=1)
        rows.append(among[(asked @ functions).topk(depth, dim=1).indices].int())
    return torch.cat(rows)


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
