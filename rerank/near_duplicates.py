"""Near-duplicate suppression: what is nearly the same function as one above it goes behind the others.

Copies of one function in several repositories (vendored code, forks) fill a list without adding to it. Two are taken
for copies when they have the same name and their vectors' cosine is at least `threshold` (after Broder 1997's
resemblance, with the vectors that are at hand in place of shingles).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treeline.rerank.arrange import DEPTH, arrange
from treeline.rerank.candidate import Candidate, RerankContext

THRESHOLD = 0.95


def own_name(candidate: Candidate) -> str:
    return candidate.address.func_name.rsplit(".", 1)[-1].lower()


def copies(head: Sequence[Candidate], vectors: NDArray[np.float32], threshold: float) -> list[int | None]:
    """For each candidate the position of the first one above that it repeats."""
    found: list[int | None] = [None] * len(head)
    by_name: dict[str, list[int]] = {}
    for position, candidate in enumerate(head):
        originals = by_name.setdefault(own_name(candidate), [])
        if originals:
            close = vectors[originals] @ vectors[position]
            if close.max() >= threshold:
                found[position] = originals[int(close.argmax())]
                continue
        originals.append(position)
    return found


@dataclass(frozen=True, slots=True)
class NearDuplicates:
    """Originals in their order, then the copies in theirs; without vectors the list stays as it is."""

    threshold: float = THRESHOLD

    def __call__(self, candidates: Sequence[Candidate], context: RerankContext) -> Sequence[Candidate]:
        head = candidates[:DEPTH]
        if context.vectors is None or len(head) < 2:
            return arrange(candidates, range(len(head)))
        repeats = copies(head, context.vectors([candidate.id for candidate in head]), self.threshold)
        originals = [i for i, of in enumerate(repeats) if of is None]
        repeated = [i for i, of in enumerate(repeats) if of is not None]
        reasons = ["" if of is None else f"nearly the same as {head[of].address.repo}'s" for of in repeats]
        return arrange(candidates, originals + repeated, reasons=reasons)
