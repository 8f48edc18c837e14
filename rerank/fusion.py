"""Fusion methods by name, and the one that has earned being the default (docs/lanes.md has the measurements)."""

from __future__ import annotations

from collections.abc import Mapping

from treeline.corpus.errors import InputError
from treeline.rerank.adaptive import adaptive
from treeline.rerank.intersection import intersection
from treeline.rerank.ranked import Fusion
from treeline.rerank.rrf import rrf
from treeline.rerank.score_sum import score_sum

FUSIONS: Mapping[str, Fusion] = {
    "rrf": rrf,
    "adaptive": adaptive,
    "intersection": intersection,
    "score_sum": score_sum,
}
DEFAULT_FUSION = "adaptive"
DEFAULT_WEIGHTS: Mapping[str, float] = {"keyword": 1.0, "dense": 3.0, "tfidf": 0.5, "graph": 1.0, "callees": 0.5}


def fusion(name: str) -> Fusion:
    """The method of that name; `default` is the default's."""
    found = FUSIONS.get(DEFAULT_FUSION if name == "default" else name)
    if found is None:
        raise InputError(f"unknown fusion {name!r}", f"choose one of: default, {', '.join(FUSIONS)}")
    return found
