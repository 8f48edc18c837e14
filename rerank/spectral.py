"""Spectral clustering on the tree distance itself, with no embedding in between.

Ng, Jordan & Weiss, "On Spectral Clustering: Analysis and an Algorithm", NIPS 2001; scikit-learn's.
"""

from __future__ import annotations

import numpy as np

from treeline.graph.local_tree import LocalTree
from treeline.rerank.clusters import Labels


def cluster(local: LocalTree, count: int, seed: int = 0) -> Labels:
    from sklearn.cluster import SpectralClustering  # a second to import: only when this method is asked for

    if len(local.leaves) <= count:
        return np.arange(len(local.leaves), dtype=np.intp)
    between = local.distances
    width = np.median(between[between > 0])  # the usual choice of a kernel's width: the typical distance
    affinity = np.exp(-((between / width) ** 2))
    spectral = SpectralClustering(count, affinity="precomputed", assign_labels="cluster_qr", random_state=seed)
    labels: Labels = spectral.fit_predict(affinity).astype(np.intp)
    return labels
