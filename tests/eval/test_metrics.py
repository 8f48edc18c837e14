"""The measures, on cases worked by hand and against the field's reference implementation."""

from math import isclose, log2

import ir_measures
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ir_measures import RR, R, Success, nDCG

from treeline.eval.dataset import Case
from treeline.eval.metrics import count_distinct, ndcg, official_ndcg, recall, reciprocal_rank, success

JUDGED = {"a": 3.0, "b": 1.0, "c": 0.0, "d": 2.0}
IDEAL = 7 + 3 / log2(3) + 1 / 2  # d after a, then b; c gains nothing


@pytest.mark.parametrize(
    ("ranked", "within", "expected"),
    [
        (["x", "a", "y", "b"], True, (7 + 1 / log2(3)) / IDEAL),  # only judged ones count: a is first, b second
        (["x", "a", "y", "b"], False, (7 / log2(3) + 1 / log2(5)) / IDEAL),
        (["c", "a"], True, 7 / log2(3) / IDEAL),  # a judged zero takes a rank
        (["a", "a", "b"], False, (7 + 1 / log2(3)) / IDEAL),  # a repeated one counts once
        (["a", "d", "b", "c"], False, 1),
        ([*(f"x{i}" for i in range(299)), "a"], True, 7 / IDEAL),
        ([*(f"x{i}" for i in range(300)), "a"], True, 0),  # 300 are read
    ],
)
def test_the_official_measure_is_as_worked_by_hand(ranked: list[str], within: bool, expected: float) -> None:
    assert official_ndcg(ranked, JUDGED, within=within) == pytest.approx(expected)


def test_the_official_measure_takes_fractions_and_leaves_out_a_query_without_a_positive() -> None:
    assert official_ndcg(["x", "a"], {"a": 1.5}, within=False) == pytest.approx(1 / log2(3))
    assert official_ndcg(["a"], {"a": 0.0}, within=True) is None
    assert official_ndcg(["a"], {}, within=False) is None


def test_reciprocal_rank_recall_hit_and_distinct() -> None:
    assert reciprocal_rank(["x", "y", "a"], {"a"}) == pytest.approx(1 / 3)
    assert reciprocal_rank(["x", "y", "a"], {"a"}, k=2) == 0
    assert recall(["a", "a", "b"], {"a", "b", "z"}, 2) == pytest.approx(2 / 3)
    assert recall(["a"], set(), 10) is None
    assert success(["x", "a"], {"a"}, 1) == 0
    assert success(["x", "a"], {"a"}, 2) == 1
    assert count_distinct(["r", "r", "s", "t"], 3) == 2


keys = st.sampled_from([f"d{i}" for i in range(30)])


@settings(deadline=None)  # the first call loads the oracle
@given(
    ranked=st.lists(keys, unique=True, max_size=30),
    judged=st.dictionaries(keys, st.integers(0, 3), min_size=1, max_size=20),
    k=st.sampled_from([1, 5, 10, 30]),
)
def test_standard_measures_agree_with_ir_measures(ranked: list[str], judged: dict[str, int], k: int) -> None:
    if not any(judged.values()):
        assert ndcg(ranked, judged, k) is None
        return
    run = {"q": {key: float(len(ranked) - place) for place, key in enumerate(ranked)} or {"none": 0.0}}
    oracle = ir_measures.calc_aggregate([nDCG @ k, RR, R @ k, Success @ k], {"q": judged}, run)
    relevant = {key for key, value in judged.items() if value > 0}
    ours = {
        nDCG @ k: ndcg(ranked, judged, k),
        RR: reciprocal_rank(ranked, relevant),
        R @ k: recall(ranked, relevant, k),
        Success @ k: success(ranked, relevant, k),
    }
    for measure, value in ours.items():
        assert value is not None and isclose(value, oracle[measure], abs_tol=1e-6), measure
    # The oracle's gain is the judgement itself: judgements of 2^rel - 1 give it the exponential gain.
    gains = {key: 2**value - 1 for key, value in judged.items()}
    exponential = ir_measures.calc_aggregate([nDCG @ k], {"q": gains}, run)[nDCG @ k]
    assert ndcg(ranked, judged, k, gain="exponential") == pytest.approx(exponential, abs=1e-6)


@given(ranked=st.lists(keys, unique=True, max_size=30), judged=st.dictionaries(keys, st.floats(0, 3), max_size=20))
def test_official_all_is_exponential_ndcg_without_a_cut(ranked: list[str], judged: dict[str, float]) -> None:
    ours = official_ndcg(ranked, judged, within=False)
    standard = ndcg(ranked, judged, gain="exponential")
    assert ours == standard if ours is None or standard is None else isclose(ours, standard)


def test_an_answer_that_was_judged_irrelevant_is_not_relevant() -> None:
    assert Case("1", "read a file", {"good": 1.0, "bad": 0.0}).relevant == {"good"}
