"""Measures of a ranked list, and confidence intervals of their means.

CodeSearchNet's official NDCG, the field's standard measures, bootstrap intervals and paired comparisons."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log2
from typing import Literal

import numpy as np
from numpy.typing import NDArray

# The official evaluation reads no more than this many URLs a query.
OFFICIAL_DEPTH = 300

Gain = Literal["linear", "exponential"]


def deduplicate(ranking: Iterable[str]) -> list[str]:
    """Each key at its first rank only, because a repeated answer must not count twice."""
    return list(dict.fromkeys(ranking))


def official_ndcg(
    ranking: Sequence[str], relevance: Mapping[str, float], *, within: bool, depth: int = OFFICIAL_DEPTH
) -> float | None:
    """CodeSearchNet's NDCG (Husain et al. 2019, `relevanceeval.py`); None if no judged URL is relevant.

    The gain is 2^rel − 1, the discount log2(rank + 1), and the ideal counts every judged URL of the query.
    `within` skips unjudged URLs when it counts ranks; otherwise each takes a rank.
    """
    ideal = _dcg(sorted(relevance.values(), reverse=True), "exponential")
    if ideal <= 0:
        return None
    keys = deduplicate(ranking)[:depth]
    if within:
        gains = [relevance[key] for key in keys if key in relevance]
    else:
        gains = [relevance.get(key, 0.0) for key in keys]
    return _dcg(gains, "exponential") / ideal


def ndcg(
    ranking: Sequence[str], relevance: Mapping[str, float], k: int | None = None, gain: Gain = "linear"
) -> float | None:
    """Standard NDCG@k (Järvelin & Kekäläinen 2002), the ideal also cut at k; None if nothing is relevant."""
    ideal = _dcg(sorted(relevance.values(), reverse=True)[:k], gain)
    if ideal <= 0:
        return None
    return _dcg([relevance.get(key, 0.0) for key in deduplicate(ranking)[:k]], gain) / ideal


def reciprocal_rank(ranking: Sequence[str], relevant: Collection[str], k: int | None = None) -> float:
    """One over the rank of the first relevant key among the first k, else zero."""
    for rank, key in enumerate(deduplicate(ranking)[:k], start=1):
        if key in relevant:
            return 1.0 / rank
    return 0.0


def recall(ranking: Sequence[str], relevant: Collection[str], k: int) -> float | None:
    """The share of relevant keys among the first k; None if nothing is relevant."""
    if not relevant:
        return None
    return len(set(top(ranking, k)) & set(relevant)) / len(set(relevant))


def success(ranking: Sequence[str], relevant: Collection[str], k: int) -> float:
    """1 if a relevant key is among the first k."""
    return float(not set(relevant).isdisjoint(top(ranking, k)))


def count_distinct(values: Sequence[str], k: int = 10) -> float:
    """Distinct values among the first k."""
    return float(len(set(values[:k])))


def top(ranking: Sequence[str], k: int) -> list[str]:
    return deduplicate(ranking)[:k]


def discount(gains: Iterable[float]) -> float:
    """The sum of the gains, each divided by log2(rank + 1)."""
    return sum(gain / log2(rank + 1) for rank, gain in enumerate(gains, start=1))


def _dcg(relevances: Iterable[float], gain: Gain) -> float:
    return discount(2.0**value - 1.0 if gain == "exponential" else value for value in relevances)


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
    """System minus baseline over shared queries; `p` is from the two-sided paired bootstrap."""

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
    queries = [query for query in system if query in baseline]
    if not queries:
        return None
    differences = np.asarray([system[query] - baseline[query] for query in queries], dtype=np.float64)
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
    """The ids of the lowest scores, lowest first; ties in the data set's order."""
    return sorted(values, key=lambda query: values[query])[:count]


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of the values do not exceed; 0 for none."""
    if not values:
        return 0.0
    return float(np.quantile(np.asarray(values, dtype=np.float64), share, method="inverted_cdf"))


def macro_mean(groups: Mapping[str, Sequence[float]]) -> float:
    """The mean of the groups' means, so that every group counts equally."""
    return float(np.mean([np.mean(values) for values in groups.values() if len(values)]))


def _two_sided(differences: NDArray[np.float64]) -> float:
    """The share of resamples, centred on zero, that lie as far from zero as the observed mean."""
    distance = abs(float(differences.mean()))
    if distance <= TIE:
        return 1.0
    means = _resampled_means(differences - differences.mean())
    return (1 + int((np.abs(means) >= distance - TIE).sum())) / (1 + len(means))


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
