"""k-means on the candidates' coordinates in the disk, as if it were flat: the plain baseline.

Lloyd, "Least squares quantization in PCM", 1982; seeded by k-means++ (Arthur & Vassilvitskii 2007). scikit-learn's.
"""

from __future__ import annotations

import numpy as np

from treeline.graph.local_tree import LocalTree
from treeline.rerank.clusters import Labels, leaf_points


def cluster(local: LocalTree, count: int, seed: int = 0) -> Labels:
    from sklearn.cluster import KMeans  # a second to import: only when this method is asked for

    points = leaf_points(local).x
    places = np.unique(points.round(12), axis=0)
    means = KMeans(min(count, len(places)), n_init=1, random_state=seed)
    labels: Labels = means.fit_predict(points).astype(np.intp)
    return labels
