"""TF-IDF over terms and pairs of neighbouring terms: the well-known baseline, in a matrix of its own.

Salton and Buckley, "Term-weighting approaches in automatic text retrieval", 1988, in scikit-learn's form: sublinear
term frequency, smoothed idf, rows of length one. It is numpy alone: scikit-learn takes seconds to import. Terms are
hashed into columns, so no vocabulary is kept: with 182,000 functions that would be several million pairs.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from io import BytesIO
from itertools import chain, pairwise

import mmh3
import numpy as np
from numpy.typing import NDArray

from treeline.corpus.arrays import read_archive

COLUMNS = 2**21  # 182,000 functions have about five million different pairs; rare ones that collide hardly matter
ARTIFACT = "tfidf"


class Tfidf:
    """A sparse matrix with one row per unit, in the order given."""

    def __init__(self, data: bytes) -> None:
        arrays = read_archive(data)
        self.ids: NDArray[np.bytes_] = arrays["ids"]
        self._ends: NDArray[np.int64] = arrays["ends"]
        self._rows: NDArray[np.int32] = arrays["rows"]
        self._values: NDArray[np.float32] = arrays["values"].astype(np.float32)
        self._idf: NDArray[np.float32] = arrays["idf"]

    def search(self, terms: Sequence[str], k: int) -> list[tuple[str, float]]:
        """The `k` rows of largest cosine that share a term, best first."""
        counts = columns(terms)
        if not counts or not len(self.ids):
            return []
        places = np.fromiter(counts, np.int64, len(counts))
        weights = (1 + np.log(np.fromiter(counts.values(), np.float32, len(counts)))) * self._idf[places]
        weights /= np.linalg.norm(weights) or 1.0
        scores = np.zeros(len(self.ids), dtype=np.float32)
        for column, weight in zip(places.tolist(), weights.tolist(), strict=True):
            part = slice(int(self._ends[column]), int(self._ends[column + 1]))
            scores[self._rows[part]] += np.float32(weight) * self._values[part]
        best = np.argpartition(-scores, min(k, len(scores) - 1))[:k]
        best = best[np.lexsort((best, -scores[best]))]
        ids = self.ids[best].tolist()
        return [
            (id_.ljust(16, b"\0").hex(), score)
            for id_, score in zip(ids, scores[best].tolist(), strict=True)
            if score > 0
        ]


def build(functions: Iterable[tuple[str, Sequence[str]]]) -> bytes:
    """Build the artifact `tfidf` from (id, terms) pairs."""
    ids: list[bytes] = []
    places, counts, lengths = array("i"), array("i"), array("i")
    for id_, terms in functions:
        ids.append(bytes.fromhex(id_))
        bag = columns(terms)
        places.extend(bag)
        counts.extend(bag.values())
        lengths.append(len(bag))
    owners = np.repeat(np.arange(len(ids), dtype=np.int32), np.frombuffer(lengths, np.intc))
    column = np.frombuffer(places, np.intc)
    order = column.argsort(kind="stable")  # column by column, rows in order
    having = np.bincount(column, minlength=COLUMNS)
    idf = np.log((1 + len(ids)) / (1 + having)) + 1
    values = (1 + np.log(np.frombuffer(counts, np.intc))) * idf[column]
    norms = np.sqrt(np.bincount(owners, values**2, len(ids)))
    out = BytesIO()
    np.savez(
        out,
        ids=np.array(ids, dtype="S16"),
        ends=np.concatenate([[0], having.cumsum()]),
        rows=owners[order],
        values=(values / norms[owners])[order].astype(np.float16),  # halves the matrix; the first hundred stay
        idf=idf.astype(np.float32),
    )
    return out.getvalue()


load = Tfidf


def columns(terms: Sequence[str]) -> Counter[int]:
    """The counts per column of a text, hashed as scikit-learn's `HashingVectorizer` does."""
    pairs = (f"{one} {other}" for one, other in pairwise(terms))
    # Bytes, because mmh3 5.3 crashes on invalid Unicode (half of a surrogate pair).
    return Counter(abs(mmh3.hash(token.encode())) % COLUMNS for token in chain(terms, pairs))
