"""Makes each re-ranking method of the registry from the options; two trivial methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from zlib import crc32

import numpy as np

from treeline.corpus.frozen import frozen
from treeline.rerank.algorithms import Algorithm1, Algorithm2
from treeline.rerank.candidates import DEPTH, Candidate, RerankContext, Reranker, arrange
from treeline.rerank.clustering import hyperbolic_kmeans, kmeans, spectral
from treeline.rerank.cross_encoder import MODEL, CrossEncoding
from treeline.rerank.greedy import Greedy
from treeline.rerank.tree import DIVERSITY, TreeRanking


@frozen
class RerankOptions:
    """The options of all methods; each uses its own."""

    clusters: int = 10
    length: int = 10
    diversity: float = DIVERSITY
    seed: int = 0
    cross_encoder: str = MODEL
    cross_encoder_depth: int = 30
    omit: frozenset[str] = frozenset()  # rules of the default to leave out


def keep_order(candidates: Sequence[Candidate], context: RerankContext) -> Sequence[Candidate]:
    """Keeps the order of fusion."""
    return arrange(candidates, [])


@frozen
class RandomOrder:
    """A random order, the floor of the paper's table; the same for the same query and seed."""

    seed: int = 0

    def __call__(self, candidates: Sequence[Candidate], context: RerankContext) -> Sequence[Candidate]:
        random = np.random.default_rng([self.seed, crc32(context.query.encode())])
        order = random.permutation(min(len(candidates), DEPTH)).tolist()
        return arrange(candidates, order, reasons=["placed at random"] * len(order) if context.explain else ())


METHODS: Mapping[str, Callable[[RerankOptions], Reranker]] = {
    "none": lambda o: keep_order,
    "algorithm1": lambda o: Algorithm1(hyperbolic_kmeans, o.clusters, o.seed),
    "algorithm1-kmeans": lambda o: Algorithm1(kmeans, o.clusters, o.seed),
    "algorithm1-spectral": lambda o: Algorithm1(spectral, o.clusters, o.seed),
    "algorithm2": lambda o: Algorithm2(hyperbolic_kmeans, o.clusters, o.length, o.seed),
    "algorithm2-kmeans": lambda o: Algorithm2(kmeans, o.clusters, o.length, o.seed),
    "algorithm2-spectral": lambda o: Algorithm2(spectral, o.clusters, o.length, o.seed),
    "algorithm2-by-score": lambda o: Algorithm2(hyperbolic_kmeans, o.clusters, o.length, o.seed, by_score=True),
    "score-mass": lambda o: Algorithm2(hyperbolic_kmeans, o.clusters, o.length, o.seed, by_score=True, weigh=sum),
    "tree": lambda o: TreeRanking(o.diversity, o.omit),
    "greedy": lambda o: Greedy(),
    "cross-encoder": lambda o: CrossEncoding(o.cross_encoder, o.cross_encoder_depth),
    "random": lambda o: RandomOrder(o.seed),
}
