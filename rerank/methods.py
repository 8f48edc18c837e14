"""Makes each re-ranking method of the registry from the options."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from treeline.corpus.frozen import frozen
from treeline.rerank.algorithms import Algorithm1, Algorithm2
from treeline.rerank.candidates import Candidate, RerankContext, Reranker, arrange
from treeline.rerank.clustering import hyperbolic_kmeans
from treeline.rerank.cross_encoder import MODEL, CrossEncoding
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


METHODS: Mapping[str, Callable[[RerankOptions], Reranker]] = {
    "none": lambda o: keep_order,
    "algorithm1": lambda o: Algorithm1(hyperbolic_kmeans, o.clusters, o.seed),
    "algorithm2": lambda o: Algorithm2(hyperbolic_kmeans, o.clusters, o.length, o.seed),
    "tree": lambda o: TreeRanking(o.diversity, o.omit),
    "cross-encoder": lambda o: CrossEncoding(o.cross_encoder, o.cross_encoder_depth),
}
