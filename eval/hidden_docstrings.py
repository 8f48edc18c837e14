"""Questions with graded answers that nobody had to judge: docstrings are hidden from the search and grade its results.

The first sentence of one function's docstring is asked; every function whose own hidden sentence says nearly the same
(cosine of idf-weighted terms) answers it, the more so the nearer. Made from any corpus with docstrings.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix, diags_array

from treeline.corpus.analysis import terms
from treeline.corpus.function import Function
from treeline.encoder.training.queries import asked, plain_sentence

GRADES = ((0.85, 3.0), (0.65, 2.0), (0.5, 1.0))  # similarity of the sentences, and what it is worth
FEWEST_TERMS = 3
MOST_ANSWERS = 60  # beyond, the sentence is a phrase such as "initialise the class" and asks for nothing


@dataclass(frozen=True, slots=True)
class Question:
    """A sentence as written or as people would type it, and the grade of each answer by function id."""

    text: str
    grades: dict[str, float]


def questions(functions: Sequence[Function], partition: str, count: int, seed: int = 0) -> list[Question]:
    """Up to `count` questions about functions of the partition; half as written, half as a search."""
    rng = random.Random(seed)
    sentences = [plain_sentence(function) for function in functions]
    similar = _Similar(sentences)
    about = [
        number
        for number, function in enumerate(functions)
        if function.partition == partition and len(set(terms(sentences[number]))) >= FEWEST_TERMS
    ]
    rng.shuffle(about)
    found: list[Question] = []
    for number in about:
        if len(found) == count:
            break
        near = similar.to(number)
        grades = {
            functions[other].id: grade(float(near[other])) for other in np.flatnonzero(near >= GRADES[-1][0]).tolist()
        }
        if len(grades) <= MOST_ANSWERS:
            text = sentences[number] if len(found) % 2 else asked(sentences[number], rng)
            found.append(Question(text, grades))
    return found


def grade(similarity: float) -> float:
    return next((value for least, value in GRADES if similarity >= least), 0.0)


class _Similar:
    """Cosine between sentences as bags of idf-weighted terms."""

    def __init__(self, sentences: Sequence[str]) -> None:
        vocabulary: dict[str, int] = {}
        columns: list[int] = []
        starts = [0]
        for sentence in sentences:
            columns += sorted({vocabulary.setdefault(term, len(vocabulary)) for term in terms(sentence)})
            starts.append(len(columns))
        shape = (len(sentences), len(vocabulary))
        rows = csr_matrix((np.ones(len(columns)), np.array(columns, dtype=np.int32), np.array(starts)), shape=shape)
        common = np.bincount(rows.indices, minlength=shape[1])
        rows.data = np.log(len(sentences) / (1.0 + common[rows.indices])) + 1e-9
        length = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
        self.rows = csr_matrix(diags_array(1.0 / np.where(length > 0, length, 1.0)) @ rows)
        self.columns = self.rows.T.tocsr()

    def to(self, number: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        found: np.ndarray[tuple[int], np.dtype[np.float64]] = (self.rows[[number]] @ self.columns).toarray().ravel()
        return found
