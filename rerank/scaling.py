"""Scores on one scale, so that a cost means the same for every question, lane and encoder."""

from __future__ import annotations

import numpy as np

from treeline.graph.hyperbolic import Floats


def scaled(values: Floats) -> Floats:
    """From 0 at the least to 1 at the most; what is missing counts as the least."""
    least, most = np.fmin.reduce(values, initial=np.nan), np.fmax.reduce(values, initial=np.nan)
    if not most > least:
        return 1.0 - np.isnan(values)
    result: Floats = np.fmax((values - least) / (most - least), 0.0)  # of 0 and what is not a number: 0
    return result
