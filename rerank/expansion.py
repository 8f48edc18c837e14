"""Query expansion by pseudo-relevance feedback: adds terms that the first results share.

Rocchio, "Relevance feedback in information retrieval", 1971, with TF-IDF weights and the first results taken as
relevant without asking (Croft and Harper 1979).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

FEEDBACK = 10  # results taken as relevant
BACKGROUND = 50  # results that a term's rarity is computed over, including the relevant ones
EXTRA = 6  # terms added; more drift away from the query
REPETITIONS = 3  # repetitions of each query term, so that added terms stay the smaller part


def expand(terms: Sequence[str], documents: Sequence[Sequence[str]]) -> list[str]:
    """The query's terms, each three times, then the terms of largest mean TF-IDF in the first documents."""
    return [*(term for term in terms for _ in range(REPETITIONS)), *related_terms(terms, documents)]


def related_terms(terms: Sequence[str], documents: Sequence[Sequence[str]], extra: int = EXTRA) -> list[str]:
    """Terms that distinguish the first documents from the rest, best first."""
    documents = documents[:BACKGROUND]
    if not any(documents):
        return []
    names, matrix = weights(documents)
    mean = matrix[:FEEDBACK].mean(axis=0)
    known = set(terms)
    # Ties in alphabetical order, so that expansion is deterministic.
    order = np.lexsort((np.arange(len(mean)), -mean))
    return [names[column] for column in order[: extra + len(known)] if names[column] not in known][:extra]


def weights(documents: Sequence[Sequence[str]]) -> tuple[list[str], NDArray[np.float64]]:
    """The terms in alphabetical order, and the matrix of their weights, one row per document.

    Sublinear term frequency, smoothed idf, rows of length one: as in scikit-learn, whose import takes longer than the
    lane's timeout.
    """
    names = sorted(set(chain.from_iterable(documents)))
    columns = {name: number for number, name in enumerate(names)}
    counts = np.zeros((len(documents), len(names)))
    for row, document in enumerate(documents):
        for name, count in Counter(document).items():
            counts[row, columns[name]] = count
    idf = np.log((1 + len(documents)) / (1 + np.count_nonzero(counts, axis=0))) + 1
    matrix = np.where(counts > 0, 1 + np.log(np.maximum(counts, 1)), 0.0) * idf
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    return names, matrix / np.where(lengths > 0, lengths, 1.0)
