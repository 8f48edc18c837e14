"""Measures of one ranked list: CodeSearchNet's official NDCG, and the standard ones the field reports.

Every function takes the ranked keys (best first) and what is relevant, and returns one number for one query;
means, intervals and comparisons are in `treeline.eval.statistics`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import log2
from typing import Literal

# The official evaluation reads no more than this many URLs a query.
OFFICIAL_DEPTH = 300

Gain = Literal["linear", "exponential"]


def once(ranked: Iterable[str]) -> list[str]:
    """The list with each key kept only where it is first seen: a repeated answer must not be paid twice."""
    return list(dict.fromkeys(ranked))


def official_ndcg(
    ranked: Sequence[str], relevance: Mapping[str, float], *, within: bool, depth: int = OFFICIAL_DEPTH
) -> float | None:
    """CodeSearchNet's NDCG (Husain et al. 2019, `relevanceeval.py`); None where no judged URL is relevant.

    The gain is 2^rel − 1, the discount log2(rank + 1), and the ideal counts every judged URL of the query.
    `within` skips unjudged URLs when counting ranks; otherwise they take up a rank each.
    """
    ideal = _dcg(sorted(relevance.values(), reverse=True), "exponential")
    if ideal <= 0:
        return None
    shown = once(ranked)[:depth]
    if within:
        gains = [relevance[key] for key in shown if key in relevance]
    else:
        gains = [relevance.get(key, 0.0) for key in shown]
    return _dcg(gains, "exponential") / ideal


def ndcg(
    ranked: Sequence[str], relevance: Mapping[str, float], k: int | None = None, gain: Gain = "linear"
) -> float | None:
    """Standard NDCG@k (Järvelin & Kekäläinen 2002), the ideal cut at k too; None where nothing is relevant."""
    ideal = _dcg(sorted(relevance.values(), reverse=True)[:k], gain)
    if ideal <= 0:
        return None
    return _dcg([relevance.get(key, 0.0) for key in once(ranked)[:k]], gain) / ideal


def reciprocal_rank(ranked: Sequence[str], relevant: Collection[str], k: int | None = None) -> float:
    """One over the rank of the first relevant key, zero when there is none among the first k."""
    for rank, key in enumerate(once(ranked)[:k], start=1):
        if key in relevant:
            return 1.0 / rank
    return 0.0


def recall(ranked: Sequence[str], relevant: Collection[str], k: int) -> float | None:
    """The share of the relevant that is among the first k; None where nothing is relevant."""
    if not relevant:
        return None
    return len(set(ranked_top(ranked, k)) & set(relevant)) / len(set(relevant))


def hit(ranked: Sequence[str], relevant: Collection[str], k: int) -> float:
    """One when any relevant key is among the first k."""
    return float(not set(relevant).isdisjoint(ranked_top(ranked, k)))


def distinct(values: Sequence[str], k: int = 10) -> float:
    """How many different values (repositories, say) the first k results have."""
    return float(len(set(values[:k])))


def ranked_top(ranked: Sequence[str], k: int) -> list[str]:
    return once(ranked)[:k]


def discounted(gains: Iterable[float]) -> float:
    """The sum of the gains, each divided by log2(rank + 1)."""
    return sum(gain / log2(rank + 1) for rank, gain in enumerate(gains, start=1))


def _dcg(relevances: Iterable[float], gain: Gain) -> float:
    return discounted(2.0**value - 1.0 if gain == "exponential" else value for value in relevances)
