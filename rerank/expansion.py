"""Query expansion by pseudo-relevance feedback: the question is extended by what its first results have in common.

Rocchio, "Relevance feedback in information retrieval", 1971, with TF-IDF weights and the first results taken as
relevant without asking (Croft and Harper 1979).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

FEEDBACK = 10  # results taken as relevant
BACKGROUND = 50  # results in whose company a term must stand out; of these the first ten are the relevant ones
EXTRA = 6  # terms added; more drift away from the question
KEPT = 3  # how often a term of the question stands in the new one, so that the added ones stay the smaller part


def expand(terms: Sequence[str], documents: Sequence[Sequence[str]]) -> list[str]:
    """The question's terms, each three times, then those of the largest mean TF-IDF in the first documents."""
    return [*(term for term in terms for _ in range(KEPT)), *related_terms(terms, documents)]


def related_terms(terms: Sequence[str], documents: Sequence[Sequence[str]], extra: int = EXTRA) -> list[str]:
    """Terms that mark the first documents among all given, best first; none without documents."""
    texts = [" ".join(document) for document in documents[:BACKGROUND]]
    if not any(texts):
        return []
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(analyzer=str.split, sublinear_tf=True)
    weights = vectorizer.fit_transform(texts)[:FEEDBACK]
    mean = np.asarray(weights.mean(axis=0)).ravel()
    names = vectorizer.get_feature_names_out()
    known = set(terms)
    # Ties go to the alphabet, so that the same question is always extended alike.
    order = np.lexsort((np.arange(len(mean)), -mean))
    return [str(names[place]) for place in order[: extra + len(known)] if names[place] not in known][:extra]
