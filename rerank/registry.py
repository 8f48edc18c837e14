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
DEFAULT_WEIGHTS: Mapping[str, float] = {"keyword": 1.0, "dense": 3.0, "tfidf": 0.5, "graph": 1.0, "callees": 0.5}

NAMES: Mapping[str, str] = {
    "none": "the order of fusion",
    "algorithm1": "best of each tree cluster, hyperbolic k-means",
    "algorithm1-kmeans": "best of each tree cluster, plain k-means",
    "algorithm1-spectral": "best of each tree cluster, spectral clustering",
    "algorithm2": "importance sampling from tree clusters, hyperbolic k-means",
    "algorithm2-kmeans": "importance sampling from tree clusters, plain k-means",
    "algorithm2-spectral": "importance sampling from tree clusters, spectral clustering",
    "algorithm2-by-score": "importance sampling, the chosen results by score",
    "score-mass": "places for tree clusters by their sum of scores",
    "tree": "evidence along the tree, places by share of the relevance",
    "greedy": "a penalty for tree neighbours of the results above",
    "cross-encoder": "a sentence-transformers cross-encoder on the top",
    "random": "a random order",
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
