"""What is done with clusters, however they were found."""

from __future__ import annotations

import numpy as np

from treeline.rerank.clusters import by_average_score


def test_clusters_come_by_average_score_and_keep_the_order_of_the_list() -> None:
    groups = by_average_score(np.array([0, 1, 0, 1]), [1.0, 0.9, 0.2, 0.8])
    assert groups == [[1, 3], [0, 2]]
