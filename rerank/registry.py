"""The fusion and re-ranking methods by name. Their code is imported when one is used, so `--help` stays quick."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from treeline.corpus.errors import InputError

if TYPE_CHECKING:
    from treeline.rerank.candidates import Reranker
    from treeline.rerank.methods import RerankOptions

FUSIONS: Mapping[str, str] = {
    "rrf": "reciprocal ranks",
    "adaptive": "weighted scores, weights by the kind of query",
    "intersection": "results of every lane first",
    "score_sum": "weighted scores",
}
DEFAULT_FUSION = "adaptive"
DEFAULT_WEIGHTS: Mapping[str, float] = {"keyword": 1.0, "dense": 3.0, "graph": 1.0}

NAMES: Mapping[str, str] = {
    "none": "the order of fusion",
    "algorithm1": "the paper's: the best of each cluster in the tree",
    "algorithm2": "the paper's: importance sampling from clusters in the tree",
    "tree": "evidence along the tree, places by share of the relevance",
    "cross-encoder": "a sentence-transformers cross-encoder on the top",
}
DEFAULT = "tree"  # docs/research/rerankers.md says why


def reranker(name: str = "default", options: RerankOptions | None = None) -> Reranker:
    """The re-ranking method of that name; `tree without RULE` leaves out one rule of the default."""
    base, _, rule = (DEFAULT if name == "default" else name).partition(" without ")
    if base not in NAMES:
        raise InputError(f"no re-ranking method is called {name!r}", f"choose from default, {', '.join(NAMES)}")
    from treeline.rerank.methods import METHODS, RerankOptions

    options = options or RerankOptions()
    if rule:
        from treeline.rerank.rules import RULE_NAMES

        if base != DEFAULT or rule not in RULE_NAMES:
            raise InputError(f"the method {base!r} has no rule {rule!r}", f"choose from {', '.join(RULE_NAMES)}")
        options = replace(options, omit=frozenset({rule}))
    return METHODS[base](options)
