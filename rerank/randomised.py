"""A random order of the candidates, seeded: the floor of the paper's table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np

from treeline.rerank.arrange import DEPTH, arrange
from treeline.rerank.candidate import Candidate, RerankContext


@dataclass(frozen=True, slots=True)
class Randomised:
    """The same question and seed give the same order."""

    seed: int = 0

    def __call__(self, candidates: Sequence[Candidate], context: RerankContext) -> Sequence[Candidate]:
        random = np.random.default_rng([self.seed, crc32(context.query.encode())])
        order = random.permutation(min(len(candidates), DEPTH)).tolist()
        return arrange(candidates, order, reasons=["placed at random"] * len(order))
