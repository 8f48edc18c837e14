"""Intervals cover, differences are paired, and the same numbers always give the same answer."""

import numpy as np
import pytest
from scipy import stats

from treeline.eval.metrics import compare, macro_mean, mean_of, percentile, worst


def numbered(values: list[float]) -> dict[str, float]:
    return {str(i): value for i, value in enumerate(values)}


def test_the_interval_of_a_mean_agrees_with_scipy() -> None:
    values = np.random.default_rng(1).beta(2, 3, 99)
    ours = mean_of(list(values))
    theirs = stats.bootstrap((values,), np.mean, n_resamples=10_000, method="percentile", rng=2).confidence_interval
    assert ours is not None
    assert ours.mean == pytest.approx(values.mean())
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.004)


def test_the_interval_covers_the_true_mean_about_95_times_in_100() -> None:
    random = np.random.default_rng(3)
    covered = 0
    for _ in range(200):
        found = mean_of(list(random.uniform(0, 1, 60)))
        assert found is not None
        covered += found.low <= 0.5 <= found.high
    assert 180 <= covered <= 198


def test_a_mean_of_nothing_is_none() -> None:
    assert mean_of([]) is None
    assert compare({"a": 1.0}, {"b": 1.0}) is None


def test_a_small_steady_gain_is_significant_because_it_is_paired() -> None:
    base = list(np.random.default_rng(4).uniform(0, 1, 50))
    found = compare(numbered([value + 0.01 for value in base]), numbered(base))
    assert found is not None and found.p < 0.05
    assert found.difference == pytest.approx(0.01)
    assert (found.wins, found.losses, found.ties) == (50, 0, 0)


def test_the_same_numbers_are_a_tie() -> None:
    found = compare({"a": 0.5, "b": 0.2}, {"a": 0.5, "b": 0.2})
    assert found is not None
    assert (found.p, found.ties) == (1.0, 2)


def test_p_agrees_with_a_t_test_where_that_holds() -> None:
    differences = np.random.default_rng(5).normal(0.02, 0.1, 100)
    found = compare(numbered(list(differences)), numbered([0.0] * 100))
    assert found is not None
    assert found.p == pytest.approx(stats.ttest_1samp(differences, 0).pvalue, abs=0.02)


def test_only_shared_queries_are_compared() -> None:
    found = compare({"a": 1.0, "b": 0.0}, {"a": 0.0, "c": 1.0})
    assert found is not None and (found.wins, found.losses, found.difference) == (1, 0, 1.0)


def test_the_worst_come_first_in_a_stable_order() -> None:
    assert worst({"a": 0.5, "b": 0.0, "c": 0.0, "d": 1.0}, 3) == ["b", "c", "a"]


def test_percentiles_are_values_that_were_seen() -> None:
    assert percentile([1, 2, 3, 4], 0.5) == 2
    assert percentile([5.0], 0.95) == 5
    assert percentile([], 0.5) == 0


def test_the_macro_mean_weighs_groups_alike() -> None:
    assert macro_mean({"large": [1.0] * 9, "small": [0.0]}) == 0.5
