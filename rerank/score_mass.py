"""Algorithm 2 with shares by score mass: a cluster's places go by the sum of its scores, not by how many it has.

Our own: a cluster of many weak candidates takes fewer places than a small one of strong ones, and the chosen are
shown by score.
"""

from __future__ import annotations

from treeline.rerank.algorithm2 import Algorithm2
from treeline.rerank.clusters import Clusterer


def score_mass(cluster: Clusterer, clusters: int = 10, length: int = 10, seed: int = 0) -> Algorithm2:
    return Algorithm2(cluster, clusters, length, seed, by_score=True, weigh=sum)
