"""Every re-ranking method by name, for the command line, the API and the evaluation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from treeline.corpus.errors import InputError
from treeline.rerank import hyperbolic_kmeans, kmeans, spectral
from treeline.rerank.algorithm1 import Algorithm1
from treeline.rerank.algorithm2 import Algorithm2
from treeline.rerank.arrange import arrange
from treeline.rerank.candidate import Candidate, RerankContext, Reranker
from treeline.rerank.cross_encoder import MODEL, CrossEncoded
from treeline.rerank.greedy import Greedy
from treeline.rerank.learnt import Learnt
from treeline.rerank.near_duplicates import NearDuplicates
from treeline.rerank.randomised import Randomised
from treeline.rerank.score_mass import score_mass
from treeline.rerank.siblings import Siblings
from treeline.rerank.spread import Spread


@dataclass(frozen=True, slots=True)
class RerankOptions:
    """What the methods can be told: clusters, the length of the list that is shown, the seed, the cross-encoder."""

    clusters: int = 10
    length: int = 10
    seed: int = 0
    cross_encoder: str = MODEL
    cross_encoder_depth: int = 30


def unchanged(candidates: Sequence[Candidate], context: RerankContext) -> Sequence[Candidate]:
    """The list as fusion made it."""
    return arrange(candidates, [])


@dataclass(frozen=True, slots=True)
class Method:
    """A method's one-line help and how it is made."""

    about: str
    make: Callable[[RerankOptions], Reranker]


METHODS: dict[str, Method] = {
    "none": Method("the order of fusion", lambda o: unchanged),
    "algorithm1": Method(
        "best of each tree cluster, hyperbolic k-means",
        lambda o: Algorithm1(hyperbolic_kmeans.cluster, o.clusters, o.seed),
    ),
    "algorithm1-kmeans": Method(
        "best of each tree cluster, plain k-means", lambda o: Algorithm1(kmeans.cluster, o.clusters, o.seed)
    ),
    "algorithm1-spectral": Method(
        "best of each tree cluster, spectral clustering", lambda o: Algorithm1(spectral.cluster, o.clusters, o.seed)
    ),
    "algorithm2": Method(
        "importance sampling from tree clusters, hyperbolic k-means",
        lambda o: Algorithm2(hyperbolic_kmeans.cluster, o.clusters, o.length, o.seed),
    ),
    "algorithm2-kmeans": Method(
        "importance sampling from tree clusters, plain k-means",
        lambda o: Algorithm2(kmeans.cluster, o.clusters, o.length, o.seed),
    ),
    "algorithm2-spectral": Method(
        "importance sampling from tree clusters, spectral clustering",
        lambda o: Algorithm2(spectral.cluster, o.clusters, o.length, o.seed),
    ),
    "algorithm2-by-score": Method(
        "importance sampling, the chosen set in the order of scores",
        lambda o: Algorithm2(hyperbolic_kmeans.cluster, o.clusters, o.length, o.seed, by_score=True),
    ),
    "score-mass": Method(
        "places for tree clusters by their sum of scores",
        lambda o: score_mass(hyperbolic_kmeans.cluster, o.clusters, o.length, o.seed),
    ),
    "spread": Method("a cost for each result above from the same repository", lambda o: Spread()),
    "learnt": Method("fused and learnt score together, spread over the repositories", lambda o: Learnt()),
    "greedy": Method("a penalty for tree neighbours of the results above", lambda o: Greedy()),
    "near-duplicates": Method("copies of one function behind the others", lambda o: NearDuplicates()),
    "siblings": Method("agreement of tree neighbours as a prior", lambda o: Siblings()),
    "cross-encoder": Method(
        "a sentence-transformers cross-encoder on the top",
        lambda o: CrossEncoded(o.cross_encoder, o.cross_encoder_depth),
    ),
    "random": Method("a random order", lambda o: Randomised(o.seed)),
}
DEFAULT = "spread"
NAMES: dict[str, str] = {name: method.about for name, method in METHODS.items()}


def reranker(name: str = "default", options: RerankOptions | None = None) -> Reranker:
    """The method of that name; `default` is the one that has earned it (docs/ranking.md says how)."""
    method = METHODS.get(DEFAULT if name == "default" else name)
    if method is None:
        raise InputError(f"no re-ranking method is called {name!r}", f"choose from default, {', '.join(METHODS)}")
    return method.make(options or RerankOptions())
