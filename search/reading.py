"""`quality=best`: a model reads the first results together with the question.

Its scores join the fused ones as one more lane, and the list is ranked again. So filters, the tree's evidence and
diversity stay, and the results that must lead still do. Reading the ranked list and reordering it afterwards loses on
repositories, where the tree divides the page among files (docs/research/rerankers.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from treeline.corpus.function import Function
from treeline.encoder.pairs import PairReader
from treeline.rerank.candidates import DEPTH, Candidate, Candidates, min_max

READING = "reading"  # the lane's name in explanations


@lru_cache(maxsize=2)
def reader_in(folder: str = "") -> PairReader:
    """The model in a folder (none: the shipped one), opened once in a process."""
    return PairReader(Path(folder).expanduser()) if folder else PairReader()


def read(
    candidates: Sequence[Candidate],
    best: Sequence[str],
    question: str,
    fetch: Callable[[Sequence[str]], Sequence[Function]],
    reader: PairReader,
) -> Sequence[Candidate]:
    """The fused list with the model's scores for the first of the `ranked` ids, sorted by the sums.

    What it adds is relative to the mean of those it reads, so that reading alone lifts none past the others.
    """
    table = Candidates.of(candidates)
    first = frozenset(best[: reader.depth])
    bodies = {function.id: function for function in fetch([id_ for id_ in table.ids if id_ in first])}
    places = np.array([position for position, id_ in enumerate(table.ids) if id_ in bodies], dtype=np.int64)
    if len(places) < 2:
        return candidates
    scores = reader.scores(question, [bodies[table.ids[position]] for position in places]).astype(np.float64)
    relative = min_max(scores)
    span = np.ptp(table.scores[:DEPTH])
    return table.with_lane(READING, places, scores, reader.weight * span * (relative - relative.mean()))
