"""Candidates as columns behave like the list of candidates that they stand for."""

from __future__ import annotations

from pathlib import Path
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from tests.engine.functions import SAMPLE, build
from tests.rerank.lists import address
from treeline.engine.embedded import EmbeddedStore
from treeline.rerank.candidates import Candidate, Candidates, Contribution, arrange
from treeline.rerank.fusion import QueryTraits, RankedList, rrf

CONTRIBUTIONS = st.builds(
    lambda keyword, dense: tuple(
        Contribution(lane, rank, rank / 2, rank / 4, stage)
        for lane, rank, stage in (("keyword", keyword, "exact"), ("dense", dense, ""))
        if rank
    ),
    st.integers(0, 3),
    st.integers(0, 3),
)
FIRST = Candidate("first", address("first"), 1.0, (Contribution("keyword", 1, 1, 1), Contribution("dense", 1, 1, 1)))


@st.composite
def lists(draw: st.DrawFn) -> list[Candidate]:
    """The first one was found by both lanes, which tells their order."""
    given_ = draw(st.lists(CONTRIBUTIONS, max_size=8))
    return [FIRST, *(Candidate(f"id{i}", address(f"f{i}"), 1 / (i + 2), one) for i, one in enumerate(given_))]


@given(plain=lists(), start=st.integers(-9, 9), end=st.integers(-9, 9))
def test_columns_equal_the_list_that_they_were_made_of(plain: list[Candidate], start: int, end: int) -> None:
    columns = Candidates.of(plain)
    assert columns == plain and len(columns) == len(plain) and columns[-1] == plain[-1]
    assert columns[start:end] == plain[start:end] and columns[::-1] == plain[::-1]
    assert columns != [*plain, FIRST]
    assert list(columns.ids) == [one.id for one in plain]
    assert columns.parts("path") == [one.address.path for one in plain]
    assert columns.lanes == {"keyword", "dense"} and columns.evidence("graph") is None


@given(plain=lists(), chance=st.randoms())
def test_a_new_order_keeps_what_the_lanes_gave_and_says_how_far_each_moved(
    plain: list[Candidate], chance: Random
) -> None:
    order = list(range(len(plain)))
    chance.shuffle(order)
    reasons = [f"reason {place}" for place in range(len(plain))]
    for new, (old, made) in enumerate(zip(order, arrange(plain, order, reasons=reasons), strict=True)):
        assert made == plain[old]._replace(moved=old - new, reason=reasons[old])


def test_rows_of_an_index_group_as_a_plain_list_does(tmp_path: Path) -> None:
    store = EmbeddedStore(tmp_path)
    build(store, "x", SAMPLE)
    engine = store.open("x")
    ranked = RankedList("keyword", engine.locate([one.id for one in SAMPLE]))
    rows = Candidates.of(rrf([ranked], {}, QueryTraits(), len(SAMPLE)))
    plain = Candidates.of(list(rows))
    same = [[one == other for one in of] for of in (rows.groups("repo"), plain.groups("repo")) for other in of]
    assert same[: len(SAMPLE)] == same[len(SAMPLE) :]
    engine.close()


def test_clusters_are_kept_where_the_order_brings_none() -> None:
    plain = [FIRST, Candidate("second", address("second"), 0.5)]
    clustered = arrange(plain, [1, 0], clusters=[3, 7])
    assert [one.cluster for one in clustered] == [7, 3]
    assert [one.cluster for one in arrange(clustered, [1, 0])] == [3, 7]


def test_a_list_without_anything_is_empty() -> None:
    assert Candidates.of([]) == [] and Candidates.of([])[:10] == [] and not Candidates.of([]).lanes
