"""How sure a number is: bootstrap intervals of a mean, the paired bootstrap of a difference, wins and losses.

Percentile bootstrap over queries (Efron & Tibshirani 1993; for retrieval, Sakai 2006). The seed is fixed, so
that the same numbers always give the same interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 10_000
CONFIDENCE = 0.95
SEED = 20181
# Differences smaller than this are ties: rounding, not ranking.
TIE = 1e-9
# Resample in blocks of this many numbers, so that thousands of queries do not need a gigabyte.
BLOCK = 4_000_000


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over queries with its interval."""

    mean: float
    low: float
    high: float
    queries: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """System minus baseline over the queries both answered: `p` is the two-sided paired bootstrap's."""

    difference: float
    low: float
    high: float
    p: float
    wins: int
    losses: int
    ties: int


def mean_of(values: Sequence[float]) -> Mean | None:
    """The mean and its bootstrap interval; None for no values."""
    if not values:
        return None
    array = np.asarray(values, dtype=np.float64)
    low, high = _interval(_resampled_means(array))
    return Mean(float(array.mean()), low, high, len(array))


def compare(system: Mapping[str, float], baseline: Mapping[str, float]) -> Comparison | None:
    """System against baseline, query by query; None when they share no query."""
    shared = [query for query in system if query in baseline]
    if not shared:
        return None
    differences = np.asarray([system[query] - baseline[query] for query in shared], dtype=np.float64)
    means = _resampled_means(differences)
    low, high = _interval(means)
    return Comparison(
        difference=float(differences.mean()),
        low=low,
        high=high,
        p=_two_sided(differences),
        wins=int((differences > TIE).sum()),
        losses=int((differences < -TIE).sum()),
        ties=int((np.abs(differences) <= TIE).sum()),
    )


def worst(values: Mapping[str, float], count: int = 10) -> list[str]:
    """The ids of the queries that did worst, the worst first; equal ones in the data set's order."""
    return sorted(values, key=lambda query: values[query])[:count]


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of the values do not exceed; 0 for none."""
    if not values:
        return 0.0
    return float(np.quantile(np.asarray(values, dtype=np.float64), share, method="inverted_cdf"))


def macro_mean(groups: Mapping[str, Sequence[float]]) -> float:
    """The mean of the groups' means: a large group counts no more than a small one."""
    return float(np.mean([np.mean(values) for values in groups.values() if len(values)]))


def _two_sided(differences: NDArray[np.float64]) -> float:
    """How often a resample of the differences, moved to mean zero, is as far from zero as what was seen."""
    seen = abs(float(differences.mean()))
    if seen <= TIE:
        return 1.0
    means = _resampled_means(differences - differences.mean())
    return (1 + int((np.abs(means) >= seen - TIE).sum())) / (1 + len(means))


def _resampled_means(values: NDArray[np.float64]) -> NDArray[np.float64]:
    random = np.random.default_rng(SEED)
    rows = max(1, BLOCK // len(values))
    blocks = [
        values[random.integers(0, len(values), size=(min(rows, RESAMPLES - start), len(values)))].mean(axis=1)
        for start in range(0, RESAMPLES, rows)
    ]
    return np.concatenate(blocks)


def _interval(means: NDArray[np.float64]) -> tuple[float, float]:
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return float(low), float(high)
