"""Every fusion and re-ranking method by name, for the command line, the API and the evaluation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np

from treeline.corpus.errors import InputError
from treeline.rerank.algorithms import Algorithm1, Algorithm2
from treeline.rerank.candidates import DEPTH, Candidate, RerankContext, Reranker, arrange
from treeline.rerank.clustering import hyperbolic_kmeans, kmeans, spectral
from treeline.rerank.cross_encoder import MODEL, CrossEncoded
from treeline.rerank.fusion import adaptive, intersection, rrf, score_sum
from treeline.rerank.greedy import Greedy
from treeline.rerank.ranked_list import Fusion
from treeline.rerank.tree import DIVERSITY, TreeRanking

FUSIONS: Mapping[str, Fusion] = {
    "rrf": rrf,
    "adaptive": adaptive,
    "intersection": intersection,
    "score_sum": score_sum,
}
DEFAULT_FUSION = "adaptive"
DEFAULT_WEIGHTS: Mapping[str, float] = {"keyword": 1.0, "dense": 3.0, "tfidf": 0.5, "graph": 1.0, "callees": 0.5}


def fusion(name: str) -> Fusion:
    """The fusion method of that name."""
    found = FUSIONS.get(DEFAULT_FUSION if name == "default" else name)
    if found is None:
        raise InputError(f"unknown fusion {name!r}", f"choose one of: default, {', '.join(FUSIONS)}")
    return found


@dataclass(frozen=True, slots=True)
class RandomOrder:
    """A random order, the floor of the paper's table; the same for the same query and seed."""

    seed: int = 0

    def __call__(self, candidates: Sequence[Candidate], context: RerankContext) -> Sequence[Candidate]:
        random = np.random.default_rng([self.seed, crc32(context.query.encode())])
        order = random.permutation(min(len(candidates), DEPTH)).tolist()
        return arrange(candidates, order, reasons=["placed at random"] * len(order) if context.explain else ())


@dataclass(frozen=True, slots=True)
class RerankOptions:
    """The options of all methods; each uses its own."""

    clusters: int = 10
    length: int = 10
    diversity: float = DIVERSITY
    seed: int = 0
    cross_encoder: str = MODEL
    cross_encoder_depth: int = 30


def unchanged(candidates: Sequence[Candidate], context: RerankContext) -> Sequence[Candidate]:
    """Keeps the order of fusion."""
    return arrange(candidates, [])


@dataclass(frozen=True, slots=True)
class Method:
    """A re-ranking method: its one-line help and its constructor."""

    about: str
    make: Callable[[RerankOptions], Reranker]


METHODS: dict[str, Method] = {
    "none": Method("the order of fusion", lambda o: unchanged),
    "algorithm1": Method(
        "best of each tree cluster, hyperbolic k-means",
        lambda o: Algorithm1(hyperbolic_kmeans, o.clusters, o.seed),
    ),
    "algorithm1-kmeans": Method(
        "best of each tree cluster, plain k-means", lambda o: Algorithm1(kmeans, o.clusters, o.seed)
    ),
    "algorithm1-spectral": Method(
        "best of each tree cluster, spectral clustering", lambda o: Algorithm1(spectral, o.clusters, o.seed)
    ),
    "algorithm2": Method(
        "importance sampling from tree clusters, hyperbolic k-means",
        lambda o: Algorithm2(hyperbolic_kmeans, o.clusters, o.length, o.seed),
    ),
    "algorithm2-kmeans": Method(
        "importance sampling from tree clusters, plain k-means",
        lambda o: Algorithm2(kmeans, o.clusters, o.length, o.seed),
    ),
    "algorithm2-spectral": Method(
        "importance sampling from tree clusters, spectral clustering",
        lambda o: Algorithm2(spectral, o.clusters, o.length, o.seed),
    ),
    "algorithm2-by-score": Method(
        "importance sampling, the chosen results by score",
        lambda o: Algorithm2(hyperbolic_kmeans, o.clusters, o.length, o.seed, by_score=True),
    ),
    "score-mass": Method(
        "places for tree clusters by their sum of scores",
        lambda o: Algorithm2(hyperbolic_kmeans, o.clusters, o.length, o.seed, by_score=True, weigh=sum),
    ),
    "tree": Method("evidence along the tree, places by share of the relevance", lambda o: TreeRanking(o.diversity)),
    "greedy": Method("a penalty for tree neighbours of the results above", lambda o: Greedy()),
    "cross-encoder": Method(
        "a sentence-transformers cross-encoder on the top",
        lambda o: CrossEncoded(o.cross_encoder, o.cross_encoder_depth),
    ),
    "random": Method("a random order", lambda o: RandomOrder(o.seed)),
}
DEFAULT = "tree"
NAMES: dict[str, str] = {name: method.about for name, method in METHODS.items()}


def reranker(name: str = "default", options: RerankOptions | None = None) -> Reranker:
    """The re-ranking method of that name (docs/research/rerankers.md says why `tree` is the default)."""
    method = METHODS.get(DEFAULT if name == "default" else name)
    if method is None:
        raise InputError(f"no re-ranking method is called {name!r}", f"choose from default, {', '.join(METHODS)}")
    return method.make(options or RerankOptions())
