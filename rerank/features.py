"""What is known of each candidate before its body is read: the columns that the learnt ranker weighs.

Everything comes from the lanes' ranks and scores, the address and the vectors that the index holds anyway. Columns
are scaled within the list, so that weights learnt on one corpus and encoder mean the same on another. Tried and left
out because they did not help on held-out questions (docs/ranking.md): words shared by the question and the function's
name, class or path; siblings found in the same file; namesakes in other repositories; the fused score itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from treeline.corpus.function import lines_in
from treeline.graph.hyperbolic import Floats
from treeline.rerank.candidate import Candidate
from treeline.rerank.candidates import Candidates
from treeline.rerank.scaling import scaled

TEST_LIKE = re.compile(r"(^|/)(tests?|testing|examples?|benchmarks?|demos?)(/|_)|(^|/)test_|_test\.|\.test\.", re.I)
KEPT = 50_000  # functions whose address was looked at: its patterns cost more than all else that is asked of it
FEEDBACK = 10  # how many at the top stand for what the question means when the vectors are compared
TINY = np.finfo(float).tiny
SHORT, LONG, USUAL = 5, 40, 15  # lines: below is a stub, above there is much else in it; the usual where unknown
NAMES = (
    "keyword_score",
    "keyword_rank",
    "dense_score",
    "dense_rank",
    "test_like",
    "private",
    "short",
    "long",
    "feedback",
    "central",
)


def features(head: Sequence[Candidate], vectors: NDArray[np.float32] | None) -> Floats:
    """One row a candidate, one column a name of `NAMES`."""
    head = Candidates.of(head)
    columns = np.empty((len(NAMES), len(head)))
    columns[0:2] = _lane(head, "keyword")
    columns[2:4] = _lane(head, "dense")
    columns[4:8] = head.noted("by address", 4, _by_addresses).T
    columns[8:10] = _by_vectors(head.scores, vectors)
    return columns.T


def _by_addresses(head: Candidates) -> Floats:
    told = map(_by_address, head.parts("path"), head.parts("func_name"), head.parts("fragment"))
    return np.array(list(told), dtype=float).reshape(-1, 4)


@lru_cache(maxsize=KEPT)
def _by_address(path: str, name: str, fragment: str) -> tuple[bool, bool, float, float]:
    """Whether it is test-like and private, and how much shorter than `SHORT` and longer than `LONG` it is."""
    size = np.log1p(_lines(fragment))
    short, long = max(0.0, np.log1p(SHORT) - size), max(0.0, size - np.log1p(LONG))
    return test_like(path), name.startswith("_", name.rfind(".") + 1), float(short), float(long)


def test_like(path: str) -> bool:
    """Whether the path is one of tests, examples, benchmarks or demonstrations."""
    return TEST_LIKE.search(path) is not None


def _lines(fragment: str) -> int:
    """How many lines the end of a URL spans."""
    lines = lines_in(fragment)
    return USUAL if lines is None else lines[1] - lines[0] + 1


def _lane(head: Candidates, lane: str) -> tuple[Floats, Floats]:
    """The lane's score scaled to 0…1 over the list (0 where it did not find the candidate), and 10 / (9 + rank)."""
    given = head.given_by(lane)
    if given is None:
        return np.zeros(len(head)), np.zeros(len(head))
    ranks = given.ranks
    return scaled(given.scores), (ranks > 0) * 10.0 / (9 + ranks)


def _by_vectors(fused: Floats, vectors: NDArray[np.float32] | None) -> tuple[Floats, Floats]:
    """How near each is to the top results (pseudo-relevance feedback, Rocchio 1971), and to the list as a whole.

    Mean cosines to the others, from the sums of their vectors: no product of all with all, which a busy machine's
    threads would slow down tenfold.
    """
    if vectors is None or len(fused) < 2:
        return np.zeros(len(fused)), np.zeros(len(fused))
    own = np.einsum("ij,ij->i", vectors, vectors)
    weight = np.zeros(len(fused), dtype=np.float32)
    weight[:FEEDBACK] = fused[:FEEDBACK]
    sums = np.array([weight @ vectors, vectors.sum(axis=0)])
    toward, central = (vectors @ sums.T).T.astype(float)
    toward = (toward - weight * own) / np.maximum(weight.sum() - weight, TINY)
    central -= own
    return scaled(toward), scaled(central)
