"""A cross-encoder over the top of the list: it reads the query and each unit together.

Nogueira & Cho, "Passage Re-ranking with BERT", 2019; any sentence-transformers CrossEncoder by name or folder. Needs
the `transformers` extra; torch is loaded at the first query. If the model cannot be loaded, the list keeps its order.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from treeline.corpus.errors import InputError
from treeline.corpus.frozen import frozen
from treeline.rerank.candidates import Candidate, RerankContext, arrange, min_max

MODEL = "cross-encoder/ms-marco-MiniLM-L6-v2"
SHARE = 0.3  # weight of the model's score, the rest is the fused score's; alone it loses (docs/research/rerankers.md)


@lru_cache(maxsize=2)
def load(model: str) -> Any:
    if find_spec("sentence_transformers") is None:
        raise InputError(
            "the cross-encoder needs sentence-transformers",
            "pip install '.[transformers]' in Treeline's checkout, or choose another method",
        )

    from treeline.corpus.hub import load_model

    def make(local: bool) -> Any:
        from sentence_transformers import CrossEncoder

        return CrossEncoder(model, local_files_only=local)

    try:
        return load_model(model, make)
    except (OSError, ValueError) as error:
        raise InputError(
            f"no cross-encoder called {model!r} can be loaded", "give a sentence-transformers name or a folder"
        ) from error


@frozen
class CrossEncoding:
    """Orders the first `depth` by fused and model score, each scaled; the rest keep their order."""

    model: str = MODEL
    depth: int = 30

    def __call__(self, candidates: Sequence[Candidate], context: RerankContext) -> Sequence[Candidate]:
        head = candidates[: self.depth]
        if not head:
            return []
        if context.texts is None:
            raise InputError("the cross-encoder needs the units' text and got none", "choose another method here")
        texts = context.texts([candidate.id for candidate in head])
        scores = np.asarray(load(self.model).predict([(context.query, text) for text in texts]), dtype=float)
        scores_before = np.array([candidate.score for candidate in head])
        order = (-(1 - SHARE) * min_max(scores_before) - SHARE * min_max(scores)).argsort(kind="stable")
        return arrange(candidates, order, reasons=[f"cross-encoder score {score:.3f}" for score in scores])
