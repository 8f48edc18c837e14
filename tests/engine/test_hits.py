"""Hits as columns behave like the list of hits that they stand for, alone and beside plain lists."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treeline.corpus.function import Address
from treeline.engine.hits import Hit, Hits, Lookups, Rows, align, concatenate, distinct


class Numbered(Lookups):
    """Functions named after their rows."""

    def entries(self, positions: Rows) -> list[tuple[str, Address]]:
        return [(f"{row:032x}", Address("o/r", "f.py", f"f{row}", "python", "")) for row in positions.tolist()]


TABLE = Numbered()
ROWS = st.lists(st.integers(0, 30), unique=True, max_size=12)


def columns(rows: list[int]) -> Hits:
    return Hits(TABLE, np.array(rows, dtype=np.int64), np.arange(len(rows), 0, -1, dtype=np.float64))


def test_ids_of_rows_are_those_of_the_table_in_any_way_they_are_asked_for() -> None:
    ids = columns([5, 7, 3]).ids
    assert list(ids) == [f"{row:032x}" for row in (5, 7, 3)] == [ids[0], *ids[1:]]
    assert len(ids) == 3 and ids[-1] == f"{3:032x}" and f"{7:032x}" in ids


def test_columns_equal_the_list_of_their_hits() -> None:
    hits = columns([7, 3, 5])
    assert hits == list(hits) and hits[1] == list(hits)[1] and hits[1:] == list(hits)[1:] and hits[-1].score == 1.0
    assert hits != list(hits)[:2] and hits != columns([7, 3, 6])
    assert [hit.address.func_name for hit in hits] == ["f7", "f3", "f5"]
    for same in (hits, Hits.of(list(hits))):
        assert same == hits and list(same.ids) == [hit.id for hit in hits]
        assert same.at([2, 0]) == [hits[2], hits[0]]
        assert same.scores.tolist() == [3.0, 2.0, 1.0]


@pytest.mark.parametrize("plain", [(), (0,), (1,), (0, 1)])
@given(first=ROWS, second=ROWS)
def test_lists_join_and_count_alike_in_either_form(plain: tuple[int, ...], first: list[int], second: list[int]) -> None:
    both = [columns(first), columns(second)]
    parts = [list(hits) if number in plain else hits for number, hits in enumerate(both)]
    ids = [hit.id for hits in both for hit in hits]
    hits, part = concatenate(parts, 10)
    assert [hit.id for hit in hits] == list(dict.fromkeys(ids))[:10]
    assert part == [0 if hit.id in ids[: len(first)] else 1 for hit in hits]
    together = distinct(parts)
    assert len(together) == len(set(ids))
    repos = {hit.id: hit.address.repo for part in parts for hit in part}
    ordered = sorted(Counter(repos.values()).items(), key=lambda one: (-one[1], one[0]))
    assert list(together.most("repo", 2).items()) == ordered[:2]
    table, rows = align(parts)
    assert [id_ for own in rows for id_ in table.ids_at(own)] == ids
    names = [hit.address.func_name for hits in both for hit in hits]
    assert [name for own in rows for name in table.parts("func_name", own)] == names


def test_other_scores_leave_the_functions() -> None:
    hits = columns([4, 2])
    for form in (hits, Hits.of(list(hits))):
        assert form.with_scores([0.5, 0.25]) == [Hit(hit.id, hit.score / 4, hit.address) for hit in hits]
